import torch
from neuron_device import biased_attention


class Attention(torch.nn.Module):
    def forward(self, q, k, v, bias):
        a = biased_attention(q, k, v, causal=True)
        b = biased_attention(q, k, v, None, 0.1, causal=True)
        c = biased_attention(q, k, v, attn_bias=bias)
        return a, b, c
