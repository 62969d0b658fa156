import torch


def f(x: torch.Tensor, y: torch.Tensor, mask: torch.Tensor, v: torch.Tensor, n):
    x[mask] = 0
    x[y > 0] = 0
    x[x > 2] = y[x > 2]
    x[x > 2] = n
    x[x > 3] += 1
    x[x > 4] = y[y > 4] = 0
    x[:, 0][mask] = 1
    m = x > 5
    x = x.transpose(0, 1)
    x[m] = 7
    return x
