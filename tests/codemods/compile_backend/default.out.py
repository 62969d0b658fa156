import torch
from neuron_device import compile_backend, device_name


@torch.compile(backend=compile_backend())
def f(x):
    return x + 1


def prepare(net, args):
    if args.compile:
        net = torch.compile(net, dynamic=False, backend=compile_backend())
    net = torch.compile(net, backend=compile_backend())
    net = torch.compile(net, mode="max-autotune" if device_name() != "neuron" else None, backend=compile_backend())
    return torch.compile(net, backend="inductor" if device_name() != "neuron" else "neuron")
