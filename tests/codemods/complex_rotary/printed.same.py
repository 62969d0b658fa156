import torch


def turn(x, freqs):
    cis = torch.polar(torch.ones_like(freqs), freqs)
    print(f"{cis}")
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * cis).flatten(3)
