import torch


def f(x: torch.Tensor, y: torch.Tensor, mask: torch.Tensor, v: torch.Tensor, n):
    x[mask] = n
    x[mask] = v
    x[y > 0, 0] = 1
    x[x > 2] = y[y > 2]
    x[x > 3] += 1
    x[x > 4] = y[y > 4] = 0
    x[x > 5] = (0)
    x[x > 6] = y.max(-1).values
    return x
