import torch


def make(shape, dev):
    a = torch.zeros(shape, dtype=torch.bfloat16, device=dev)
    b = torch.ones(shape).to(dev)
    return a + 1, b.float()
