import torch


def make_buffer(rows, cols, on_gpu):
    dev = torch.device("gpu" if on_gpu else "cpu")
    return torch.empty(rows, cols, device=dev)
