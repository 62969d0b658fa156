import torch
from torch import autocast
from contextlib import nullcontext


def bias_act(x, impl="cuda"):
    assert impl in ["ref", "cuda"]
    return x


def sample(model, x, full):
    precision_scope = nullcontext if full else autocast
    with precision_scope("cuda"):
        return model(x)
