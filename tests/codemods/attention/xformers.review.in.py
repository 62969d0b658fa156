import torch
import xformers.ops as xops


class Attention(torch.nn.Module):
    def forward(self, q, k, v, bias):
        a = xops.memory_efficient_attention(q, k, v, attn_bias=xops.LowerTriangularMask())
        b = xops.memory_efficient_attention(q, k, v, xops.LowerTriangularMask(), 0.1)
        c = xops.memory_efficient_attention(q, k, v, attn_bias=bias, op=self.op)
        return a, b, c
