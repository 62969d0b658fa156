import torch
import torch.distributed as dist


def start(rank):
    device = torch.device(f"cuda:{rank}")
    dist.init_process_group(backend="nccl", device_id=device)
    return device
