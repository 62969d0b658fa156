import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, freqs):
        super().__init__()
        self.register_buffer("cis", torch.polar(torch.ones_like(freqs), freqs), persistent=False)

    def forward(self, x):
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * self.cis).flatten(3)


def main(x, freqs):
    model = Model(freqs)
    return model.half()(x)
