import torch


def f(x: torch.Tensor, y: torch.Tensor):
    mask = torch.arange(3, device=x.device)
    return mask, y.to(x.device)  # together
