import torch
from neuron_device import get_device as port_get_device


def get_device(x):
    return x


x = torch.zeros(3).to(port_get_device())
