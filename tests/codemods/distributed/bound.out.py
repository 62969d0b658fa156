import torch
import torch.distributed as dist
from neuron_device import device_name, distributed_backend, get_device


def start(rank):
    device = get_device(rank)
    dist.init_process_group(backend=distributed_backend(), device_id=device if device_name() == "cuda" else None)
    return device
