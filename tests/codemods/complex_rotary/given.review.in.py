import torch


def main(x: torch.Tensor, freqs: torch.Tensor):
    turns = torch.polar(torch.ones_like(freqs), freqs)
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns).flatten(3)
