import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from neuron_device import device_name, distributed_backend, set_device


def start(local_rank, model):
    set_device(local_rank)
    dist.init_process_group(distributed_backend())
    return DDP(model, device_ids=[local_rank] if device_name() == "cuda" else None, output_device=local_rank if device_name() == "cuda" else None)
