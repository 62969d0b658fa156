import torch


def main(x: torch.Tensor, ids: torch.Tensor):
    x = x * 1
    rows = torch.where(x > 1)[0]
    if rows.numel() > 0:
        x[rows] = 0  # cut
    x[torch.where(x < -1)] = -1.0
    x[(x > 0.9).nonzero(as_tuple=True)] = float("inf")
    step = (ids == 5).nonzero().item()  # there is one
    first = (ids == 3).nonzero()[0, 0], (ids == 3).nonzero(as_tuple=True)[0][0]
    return x, step, first, torch.nonzero(ids - 1)[0].item(), torch.where(ids == 5)[0][0]
