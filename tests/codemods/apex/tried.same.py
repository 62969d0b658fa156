import torch

try:
    from apex.normalization import FusedLayerNorm as LayerNorm
except ImportError:
    from torch.nn import LayerNorm


class Block(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm = LayerNorm(size)
