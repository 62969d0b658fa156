import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def start(local_rank, model):
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    return DDP(model, device_ids=[local_rank], output_device=local_rank)
