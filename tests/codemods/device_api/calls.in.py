import torch
import time


def timed(model, x, rank):
    torch.cuda.synchronize()
    start = time.time()
    model(x)
    torch.cuda.synchronize(rank)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    print(torch.cuda.max_memory_allocated() / 2**20, torch.cuda.memory_reserved(rank))
    torch.cuda.manual_seed(1)
    local = rank % torch.cuda.device_count()
    y = x.to(torch.cuda.current_device())
    return time.time() - start, local, y


dtype = 'bfloat16' if torch.cuda.is_available() and torch.cuda.is_bf16_supported() else 'float16'
