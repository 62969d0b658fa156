import torch


def cast(x: torch.Tensor):
    return x.type(torch.cuda.FloatTensor)
