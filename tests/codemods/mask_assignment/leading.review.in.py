import torch


class Search:
    eos_index = 7

    def main(self, x: torch.Tensor, tokens: torch.Tensor, y: torch.Tensor, mask: torch.Tensor):
        low = -1e4
        x = x * 1
        tokens = tokens * 1
        x[mask] = 0
        x[mask, :] = 0.5
        x[:, tokens[0] == 3] = float("-inf")  # never
        tokens[tokens[:, -1] == self.eos_index] = self.eos_index
        x[mask & (y.sum(-1) > 0)] = low
        x[mask] = y[mask]
        x[:, (tokens[0] == 2), :] = y[:, (tokens[0] == 2), :]
        return x, tokens


def main(x: torch.Tensor, tokens: torch.Tensor, y: torch.Tensor, mask: torch.Tensor):
    return Search().main(x, tokens, y, mask)
