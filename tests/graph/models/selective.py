"""CUDA in forward, boolean masks, and a condition on data."""

import torch
from torch import nn


class Selective(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(8, 8)
        self.score = nn.Linear(8, 1)
        self.out = nn.Linear(8, 4)

    def forward(self, x, mask):
        x = x.cuda()
        h = torch.relu(self.embed(x))
        kept = h[mask]
        scores = self.score(kept)
        if scores.sum() > 0:
            kept = kept * 2
        bias = torch.zeros(4, device="cuda")
        order = torch.sort(scores[:, 0], stable=True).indices
        return self.out(kept[order]) + bias


def model():
    return Selective().cuda()


def inputs():
    return torch.randn(6, 8), torch.tensor([True, False, True, True, False, True])
