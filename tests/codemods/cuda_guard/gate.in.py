import os
from contextlib import nullcontext

import torch
import torch.distributed as dist


def setup(device: str, local_rank):
    if device.startswith("cuda"):
        os.environ.setdefault("NCCL_ASYNC_ERROR_HANDLING", "1")
        torch.cuda.set_device(local_rank)
        dist.init_process_group(backend="nccl")
        return torch.device(f"cuda:{local_rank}")
    dist.init_process_group(backend="gloo")
    return torch.device(device)


def clean(device: torch.device):
    if device.type == "cuda":
        torch.cuda.empty_cache()
    model = torch.nn.Linear(2, 2)
    model = model.cuda() if device.type == 'cuda' else model.to(device)
    amp = torch.autocast("cuda", dtype=torch.bfloat16) if device.type == 'cuda' else nullcontext()
    return model, amp
