import torch.distributed as dist
from neuron_device import distributed_backend

backend = distributed_backend()  # 'nccl', 'gloo', etc.


def start():
    dist.init_process_group(backend=backend, init_method="env://")
