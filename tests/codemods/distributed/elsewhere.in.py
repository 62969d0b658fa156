import torch.distributed as dist

backend = 'nccl'  # 'nccl', 'gloo', etc.


def start():
    dist.init_process_group(backend=backend, init_method="env://")
