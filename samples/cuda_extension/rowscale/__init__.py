"""RMS norm with a fused SiLU gate."""

from rowscale.block import GatedBlock
from rowscale.layers import GatedRMSNorm
from rowscale.ops import has_kernel, rms_gate

__all__ = ["GatedBlock", "GatedRMSNorm", "has_kernel", "rms_gate"]
