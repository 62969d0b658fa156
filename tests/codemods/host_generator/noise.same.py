import torch
from torch.utils.data import RandomSampler


def noise(shape, seed, data):
    rng = torch.Generator(device="cuda").manual_seed(seed)
    return torch.randn(shape, generator=rng, device="cpu"), RandomSampler(data, generator=rng)
