import os
from contextlib import nullcontext

import torch
import torch.distributed as dist
from neuron_device import device_name, distributed_backend, empty_cache, get_device, set_device


def setup(device: str, local_rank):
    if device.startswith(("cuda", "neuron")):
        os.environ.setdefault("NCCL_ASYNC_ERROR_HANDLING", "1")
        set_device(local_rank)
        dist.init_process_group(backend=distributed_backend())
        return get_device(local_rank)
    dist.init_process_group(backend="gloo")
    return torch.device(device)


def clean(device: torch.device):
    if device.type in ("cuda", "neuron"):
        empty_cache()
    model = torch.nn.Linear(2, 2)
    model = model.cuda() if device.type == 'cuda' else model.to(device)
    amp = torch.autocast(device_name(), dtype=torch.bfloat16, enabled=device_name() != "cpu") if device.type in ('cuda', 'neuron') else nullcontext()
    return model, amp
