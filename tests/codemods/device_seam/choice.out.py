import torch
from neuron_device import device_name, get_device
a = device_name()
b = get_device()
c = get_device(0)
d = device_name()


def pick(no_cuda, rank):
    return torch.device(device_name(rank) if not no_cuda else "cpu")


def kind(device):
    return 'neuron' if 'neuron' in device else 'cuda' if 'cuda' in device else 'cpu'  # for autocast
