"""Models that are small: one is lowered as a whole, one is not."""

import torch
from torch import nn


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(16, 8)
        self.out = nn.Linear(8, 4)

    def forward(self, tokens):
        return self.out(torch.tanh(self.embed(tokens)).mean(1))


class Cut(nn.Module):
    """torch_xla runs an addmm with a factor on the host."""

    def forward(self, x):
        return torch.addmm(x, x, x * 2, beta=0.5) + 1


def model():
    return Small()


def inputs():
    return torch.zeros(1, 4, dtype=torch.int64)


def cut():
    return Cut()
