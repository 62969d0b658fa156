import torch
from torch.utils.data import RandomSampler


def sample(seed, data, device):
    rng = torch.Generator().manual_seed(seed)
    return RandomSampler(data, generator=rng), torch.Generator(device=device)
