import torch


def noise(seed, shape, device):
    rng = torch.Generator(device="cuda").manual_seed(seed)
    return torch.rand(shape, generator=rng, device=device)
