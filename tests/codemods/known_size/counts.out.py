import torch


def main(x: torch.Tensor, device):
    counts = torch.tensor([1, 0, 3], device=device)
    rows = torch.repeat_interleave(x, counts, dim=0, output_size=4)  # each as often
    columns = x.repeat_interleave(torch.tensor([2, 1], device=device), 1, output_size=3)
    return rows, columns, torch.repeat_interleave(counts, output_size=4)
