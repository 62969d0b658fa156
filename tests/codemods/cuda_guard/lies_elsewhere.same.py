import torch


def f(x: torch.Tensor, y: torch.Tensor, n):
    if x.is_cuda and n > 1:
        y = y + 1
    if x.is_cuda or n > 2:
        torch.cuda.CUDAGraph()
    if not x.is_cuda:
        y = y * 2
    if x.is_cuda:
        graph = torch.cuda.CUDAGraph()
    assert x.is_cuda
    return x.is_cuda, y
