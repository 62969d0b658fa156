import torch


def make(model, lr, fused):
    a = torch.optim.AdamW(model.parameters(), lr=lr, fused=True)
    b = torch.optim.Adam(model.parameters(), lr=lr, fused=fused)
    c = torch.optim.Adam(model.parameters(), lr=lr, foreach=True)
    return a, b, c
