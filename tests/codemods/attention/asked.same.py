import torch
from torch.nn import functional as F

try:
    from flash_attn import flash_attn_func
except ImportError:
    flash_attn_func = None


class Attention(torch.nn.Module):
    def forward(self, q, k, v):
        if flash_attn_func is not None:
            return flash_attn_func(q, k, v, causal=True)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
