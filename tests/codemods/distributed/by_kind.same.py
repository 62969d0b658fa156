from torch.nn.parallel import DistributedDataParallel as DDP


def distribute(net, args, rank):
    ids = None
    if args.device_kind == "cuda":
        ids = [rank]
    return DDP(net, device_ids=ids, broadcast_buffers=False)
