"""Experts behind masks, a condition on values, CUDA in forward: export and draft give up."""

import torch
from torch import nn


class Router(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(1000, 64)
        self.gate = nn.Linear(64, 2)
        self.experts = nn.ModuleList(nn.Linear(64, 64) for _ in range(2))
        self.head = nn.Linear(64, 1000)

    def forward(self, tokens):
        tokens = tokens.cuda()
        x = self.embed(tokens)
        scores = self.gate(x)
        choice = scores.argmax(-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            mask = choice == i
            out[mask] = expert(x[mask])
        if scores.max() > 10:
            out = out * 0.5
        freqs = torch.arange(64, dtype=torch.float64, device="cuda")
        return self.head(out + torch.sin(freqs).float())


def model():
    return Router()


def inputs():
    return torch.randint(0, 1000, (2, 16))
