import torch
import torch.nn as nn

from rowscale.ops import RMSGateFunction, has_kernel, rms_gate_reference


class GatedBlock(nn.Module):
    """A feed-forward block around the fused kernel."""

    def __init__(self, dim, hidden):
        super().__init__()
        self.up = nn.Linear(dim, 2 * hidden)
        self.down = nn.Linear(hidden, dim)

    def forward(self, x):
        value, gate = self.up(x).chunk(2, dim=-1)
        if has_kernel() and value.device.type == "cuda":
            with torch.cuda.device(value.device):
                hidden = RMSGateFunction.apply(value, gate, 1e-6)
        else:
            hidden = rms_gate_reference(value, gate, 1e-6)
        return x + self.down(hidden)
