#!/usr/bin/env python
"""A docstring that speaks of cuda."""
import argparse
import torch
from neuron_device import device_name, get_device


def main(rank, model: torch.nn.Module):
    x = torch.zeros(3, device=get_device())
    y = torch.ones(3, device=get_device(rank))
    d = get_device()
    e = get_device(rank)
    f = get_device(rank)
    g = get_device(rank)
    h = get_device(rank)
    model.to(get_device(0))
    state = torch.load("x.pt", map_location=get_device())
    device = device_name()  # or cpu
    parser = argparse.ArgumentParser("runs on cuda")
    parser.add_argument("--device", default=device_name(), help="cuda or cpu")
    return x, y, d, e, f, g, h, state, device, parser
