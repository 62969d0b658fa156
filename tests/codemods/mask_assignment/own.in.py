import math

import torch


def main(x: torch.Tensor, y: torch.Tensor):
    x = x * 1
    x[x < 0] = 0
    x[torch.isnan(x) | (x > y)] = -float("inf")  # never
    wrong = ~torch.isfinite(x)
    x[wrong] = -1e4
    x[x.abs() > 2] = torch.finfo(x.dtype).max / 1e6 if False else 3
    return x, math.inf
