import torch
from neuron_device import device_name


def make(model, lr):
    a = torch.optim.Adam(model.parameters(), lr=lr, fused=True if device_name() != "neuron" else None)
    b = torch.optim.SGD(model.parameters(), lr, fused=True if device_name() != "neuron" else None, momentum=0.9)
    return a, b
