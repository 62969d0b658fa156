def setup(rank, world_size, backend="nccl"):
    pass
