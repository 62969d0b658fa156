import torch


def main(x: torch.Tensor, device):
    counts = torch.tensor([1, 0, 3], device=device)
    rows = torch.repeat_interleave(x, counts, dim=0)  # each as often
    columns = x.repeat_interleave(torch.tensor([2, 1], device=device), 1)
    return rows, columns, torch.repeat_interleave(counts)
