import torch


def pick():
    if torch.accelerator.is_available():
        return torch.accelerator.current_accelerator()
    return torch.device("cpu")


def run(net, x):
    dev = pick()
    return net.to(dev)(x.to(dev)).cpu()
