import torch
from neuron_device import turned


def main(x: torch.Tensor, freqs: torch.Tensor):
    turns = freqs
    pairs = x.float().reshape(*x.shape[:-1], -1, 2)
    return turned(pairs, turns).flatten(3)
