import torch
from neuron_device import copy_by_mask, fill_by_mask


class Search:
    eos_index = 7

    def main(self, x: torch.Tensor, tokens: torch.Tensor, y: torch.Tensor, mask: torch.Tensor):
        low = -1e4
        x = x * 1
        tokens = tokens * 1
        fill_by_mask(x, mask, 0)
        fill_by_mask(x, mask, 0.5)
        fill_by_mask(x, tokens[0] == 3, float("-inf"), dim=1)  # never
        fill_by_mask(tokens, tokens[:, -1] == self.eos_index, self.eos_index)
        fill_by_mask(x, mask & (y.sum(-1) > 0), low)
        copy_by_mask(x, mask, y)
        copy_by_mask(x, tokens[0] == 2, y, dim=1)
        return x, tokens


def main(x: torch.Tensor, tokens: torch.Tensor, y: torch.Tensor, mask: torch.Tensor):
    return Search().main(x, tokens, y, mask)
