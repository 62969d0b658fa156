import torch
from neuron_device import device_name, half_dtype


def step(model, x, dev):
    with torch.autocast(dev.type, dtype=half_dtype()):
        a = model(x)
    with torch.autocast(dev.type, dtype=torch.bfloat16 if device_name() == "neuron" else None):
        b = model(x)
    return a, b
