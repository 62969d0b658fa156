import torch
from neuron_device import device_name, is_accelerated


def main(args):
    use_cuda = not args.no_accel and is_accelerated()
    device = torch.device(device_name() if use_cuda else "cpu")
    return device
