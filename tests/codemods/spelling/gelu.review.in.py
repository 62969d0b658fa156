import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(size, size), nn.GELU(), nn.Linear(size, size))

    def forward(self, x):
        return F.gelu(self.net(x))  # again


def main(x):
    torch.manual_seed(0)
    return Block(x.shape[-1]).to(x.dtype)(x)
