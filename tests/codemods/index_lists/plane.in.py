import torch


def main(x: torch.Tensor, mask: torch.Tensor, ids: torch.Tensor):
    x = x * 1
    if torch.nonzero(x > 1).numel() > 0 and len((ids == 3).nonzero()) == 0:
        x = x + 1
    rows = torch.where(ids > 3)[0]
    n = (ids > 2).nonzero().shape[0], len(rows)
    some = torch.where(ids > 4)[0].numel() > 0, torch.argwhere(ids > 90).size(0) < 1
    return x, n, some, torch.where(mask)[0].shape[0]
