import torch


def main(x: torch.Tensor, mask: torch.Tensor, ids: torch.Tensor):
    x = x * 1
    if (x > 1).any() and not (ids == 3).any():
        x = x + 1
    rows = ids > 3
    n = int((ids > 2).sum()), int(rows.sum())
    some = bool((ids > 4).any()), (not (ids > 90).any())
    return x, n, some, int((mask != 0).sum())
