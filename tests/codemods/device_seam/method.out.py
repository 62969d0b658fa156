import torch
from torch import nn
from neuron_device import get_device


def main(rank):
    model = nn.Linear(2, 2).to(get_device())  # on the GPU
    other = nn.Linear(2, 2).to(get_device(rank))
    x = torch.zeros(3).to(get_device(), non_blocking=True)
    y = torch.zeros(3).to(get_device(rank), non_blocking=True)
    z = torch.zeros(3).to(
        # a comment inside
        device=get_device(rank),
    )
    w = torch.zeros(3).to(x.device, non_blocking=True)
    v = torch.zeros(3).to(get_device(1))
    return model, other, x, y, z, w, v
