import torch


def f(x: torch.Tensor, ids: torch.Tensor, v: torch.Tensor, mask: torch.Tensor):
    kept = torch.where(x > 1)[0]
    y = x[kept]
    a = (x > 0).nonzero()[0], (x > 0).nonzero()[1, 0], torch.where(x > 0)[1]
    rows, columns = torch.where(x > 2)
    x[torch.where(x > 3)] = v
    x[torch.where(x > 4)[0], 0] = 1
    twice = torch.where(x > 5)[0]
    twice = torch.where(x > 6)[0]
    both = torch.where(x > 7)[0]
    n = len(both)
    pairs = (x > 8).nonzero().numel()
    print(f"{len(torch.where(x > 9)[0])}")
    for i in (ids == 3).nonzero():
        v = v + x[i]
    return y, a, rows, columns, len(twice), n, both, pairs
