import torch
from neuron_device import get_device


def cast(x: torch.Tensor):
    return x.to(get_device(), torch.float32)
