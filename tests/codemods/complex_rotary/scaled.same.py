import torch


def table(freqs, scaling):
    freqs_cis = torch.polar(torch.ones_like(freqs), freqs)
    freqs_cis = freqs_cis * scaling
    return freqs_cis


def turn(x, freqs_cis):
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * freqs_cis).flatten(3)


def main(x, freqs):
    return turn(x, table(freqs, 2.0))
