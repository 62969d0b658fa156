import bitsandbytes as bnb
import torch


def make(model, lr, paged):
    if paged:
        kind = bnb.optim.PagedAdamW8bit
    else:
        kind = torch.optim.AdamW
    a = kind(model.parameters(), lr=lr)
    b = bnb.optim.AdamW8bit(model.parameters(), lr=lr, betas=(0.9, 0.95))
    return a, b
