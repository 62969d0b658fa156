import bitsandbytes as bnb
import torch
from neuron_device import device_name


def make(model, lr, paged):
    if paged:
        kind = bnb.optim.PagedAdamW8bit if device_name() != "neuron" else torch.optim.AdamW
    else:
        kind = torch.optim.AdamW
    a = kind(model.parameters(), lr=lr)
    b = (bnb.optim.AdamW8bit if device_name() != "neuron" else torch.optim.AdamW)(model.parameters(), lr=lr, betas=(0.9, 0.95))
    return a, b
