import torch
from torch import nn


def main(rank):
    model = nn.Linear(2, 2).cuda()  # on the GPU
    other = nn.Linear(2, 2).cuda(rank)
    x = torch.zeros(3).cuda(non_blocking=True)
    y = torch.zeros(3).cuda(rank, non_blocking=True)
    z = torch.zeros(3).cuda(
        # a comment inside
        device=rank,
    )
    w = torch.zeros(3).cuda(x.device, True)
    v = torch.zeros(3).cuda("cuda:1")
    return model, other, x, y, z, w, v
