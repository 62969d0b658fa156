import torch


def check(device):
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("CUDA was asked for and is not there")
