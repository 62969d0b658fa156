import torch
from flash_attn import flash_attn_func
from flash_attn.flash_attn_interface import (
    flash_attn_kvpacked_func,
    flash_attn_qkvpacked_func,
)


class Attention(torch.nn.Module):
    def forward(self, q, k, v, qkv):
        a = flash_attn_func(q, k, v, 0.1, causal=True, window_size=(256, 0))
        b = flash_attn_qkvpacked_func(qkv, dropout_p=self.p if self.training else 0.0)
        c = flash_attn_kvpacked_func(q, torch.stack([k, v], 2), softcap=0.0)  # cross
        return a, b, c
