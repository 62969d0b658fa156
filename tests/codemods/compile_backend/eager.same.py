import torch


def prepare(net):
    return torch.compile(net, backend="eager")
