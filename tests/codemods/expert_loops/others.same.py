import torch


def f(x: torch.Tensor, chosen: torch.Tensor, weights: torch.Tensor, experts):
    out = torch.zeros_like(x)
    for i, expert in enumerate(experts):
        rows, nth = torch.where(chosen == i)
        out[rows] += expert(x[rows])
        a, b = torch.where(chosen == i)
        out[a] += expert(x[a]) + weights[a, b, None]
        c, d = torch.where(chosen == i)
        out[c] = expert(x[c]) * weights[c, d, None]
        e, g = torch.where(chosen == i)
        y = expert(x[e]) * weights[e, g, None]
        out.index_add_(0, e, y)
        out = out + y.mean()
    for hit in (chosen == 1).nonzero():
        out = out + x[hit]
    h, k = torch.where(chosen == 2)
    out[h] += experts[2](x[h]) * weights[h, k, None]
    return out
