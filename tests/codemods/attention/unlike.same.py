import torch
from flash_attn import flash_attn_func
from xformers.ops import memory_efficient_attention
from xformers.ops.fmha import BlockDiagonalMask


class Attention(torch.nn.Module):
    def forward(self, q, k, v, lengths, bias, *rest, **words):
        a = flash_attn_func(q, k, v, softcap=30.0)
        b, _, _ = flash_attn_func(q, k, v, return_attn_probs=True)
        c = flash_attn_func(*rest, **words)
        d = memory_efficient_attention(q, k, v, attn_bias=BlockDiagonalMask.from_seqlens(lengths))
        e = memory_efficient_attention(q, k, v, attn_bias=bias)
        return a, b, c, d, e, map(flash_attn_func, rest)
