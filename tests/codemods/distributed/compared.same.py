import torch.distributed as dist

if dist.get_backend() == "nccl":
    print("fast")
CHOICES = ["nccl", "gloo"]
