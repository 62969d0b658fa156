import torch
from neuron_device import get_device


def place(rank, model: torch.nn.Module):
    state = torch.load("x.pt", map_location=get_device(rank))
    return model.to(get_device(rank)), state
