import torch


@torch.compile
def f(x):
    return x + 1


def prepare(net, args):
    if args.compile:
        net = torch.compile(net, dynamic=False)
    net = torch.compile(net)
    net = torch.compile(net, mode="max-autotune")
    return torch.compile(net, backend="inductor")
