import torch


def make(model, lr):
    a = torch.optim.Adam(model.parameters(), lr=lr, fused=True)
    b = torch.optim.SGD(model.parameters(), lr, fused=True, momentum=0.9)
    return a, b
