import torch
from neuron_device import masked_mean


def main(x: torch.Tensor, mask: torch.Tensor):
    a = torch.where(x > 0, x, 0).sum()
    b = masked_mean(x, x > 0)
    c = masked_mean(x, (x > 0) & (x < 1))  # between
    kept = masked_mean(x, mask)
    few = x.abs() > 1
    return a, b, c, kept, torch.where(few, x, 0).sum(), torch.where(mask, x, 0).sum()
