import torch
from neuron_device import get_device


def make(rows, columns, x):
    a = torch.empty(rows, columns, dtype=torch.float32, device=get_device()).fill_(1.0)
    b = torch.tensor([1, 2, 3], dtype=torch.int64, device=get_device())  # ids
    c = torch.empty(x.shape, dtype=torch.float16, device=get_device()).zero_()
    d = torch.empty(0, dtype=torch.int32, device=get_device())
    return a, b, c, d
