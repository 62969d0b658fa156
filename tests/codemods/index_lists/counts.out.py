import torch


def main(x: torch.Tensor, mask: torch.Tensor, ids: torch.Tensor):
    x = x * 1
    if (x > 1).any() and not (ids == 3).any():
        x = x + 1  # some are large
    n = int((ids > 2).sum())
    some = bool((ids > 4).any()), (not (ids > 90).any())
    if not (mask != 0).any():
        x = x + 2
    full = (ids + 1) != 0
    assert full.any(), "empty"
    hits = ids == 2
    return x, n, some, int(hits.sum()), bool(hits.any())
