import torch


def main(x: torch.Tensor, mask: torch.Tensor, ids: torch.Tensor):
    x = x * 1
    if torch.nonzero(x > 1).numel() > 0 and len((ids == 3).nonzero()) == 0:
        x = x + 1  # some are large
    n = (ids > 2).nonzero().shape[0]
    some = torch.where(ids > 4)[0].numel() > 0, torch.argwhere(ids > 90).size(0) < 1
    if not torch.where(mask)[0].size(0):
        x = x + 2
    full = torch.nonzero(
        ids + 1,
    ).view(-1)
    assert len(full), "empty"
    (hits,) = torch.where(ids == 2)
    return x, n, some, len(hits), hits.numel() >= 1
