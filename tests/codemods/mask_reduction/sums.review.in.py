import torch


def main(x: torch.Tensor, mask: torch.Tensor):
    a = x[x > 0].sum()
    b = x[x > 0].mean()
    c = torch.mean(x[(x > 0) & (x < 1)])  # between
    kept = torch.masked_select(x, mask).mean()
    few = x.abs() > 1
    return a, b, c, kept, x[few].sum(), x.masked_select(mask).sum()
