#!/usr/bin/env python
"""A docstring that speaks of cuda."""
import argparse
import torch


def main(rank, model: torch.nn.Module):
    x = torch.zeros(3, device="cuda")
    y = torch.ones(3, device=f"cuda:{rank}")
    d = torch.device("cuda")
    e = torch.device("cuda:" + str(rank))
    f = torch.device('cuda', rank)
    g = torch.device("cuda:%d" % rank)
    h = torch.device("cuda:{}".format(rank))
    model.to("cuda:0")
    state = torch.load("x.pt", map_location="cuda")
    device = 'cuda'  # or cpu
    parser = argparse.ArgumentParser("runs on cuda")
    parser.add_argument("--device", default="cuda", help="cuda or cpu")
    return x, y, d, e, f, g, h, state, device, parser
