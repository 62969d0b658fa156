import torch
from torch.utils.data import DataLoader, SubsetRandomSampler


def loaders(data, ids, seed):
    rng = torch.Generator(device="cuda").manual_seed(seed)
    sampler = SubsetRandomSampler(ids, generator=rng)
    return DataLoader(data, batch_size=16, sampler=sampler, drop_last=True, generator=rng)
