import torch


def halves(x):
    first, second = torch.device("cuda:0"), torch.device("cuda:1")
    assert first != second
    return x[:1].to("cuda:0"), x[1:].to("cuda:1")
