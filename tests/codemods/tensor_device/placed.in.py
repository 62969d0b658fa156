import torch


def f(x: torch.Tensor, y: torch.Tensor):
    mask = torch.arange(3, device=x.get_device())
    return mask, y.to(x.get_device())  # together
