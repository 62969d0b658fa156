import torch
from neuron_device import empty_cache, get_device, is_accelerated, manual_seed_all


def seed_all(seed):
    torch.manual_seed(seed)
    if is_accelerated():
        manual_seed_all(seed)


def clean():
    if is_accelerated() and True:
        empty_cache()


def pick():
    if is_accelerated():
        device = get_device()
    else:
        device = torch.device("cpu")
    return device
