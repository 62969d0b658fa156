import torch
import torch.nn as nn

from rowscale.ops import rms_gate


class GatedRMSNorm(nn.Module):
    """RMS norm whose output is gated by a second input."""

    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x, gate):
        return rms_gate(x, gate, self.eps) * self.weight
