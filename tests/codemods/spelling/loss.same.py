import torch.nn.functional as F


def f(a, b):
    return F.mse_loss(a, b), F.gelu
