import torch
import time
from neuron_device import (
    device_count,
    empty_cache,
    get_device,
    is_bf16_supported,
    manual_seed,
    max_memory_allocated,
    memory_reserved,
    reset_peak_memory_stats,
    synchronize,
)


def timed(model, x, rank):
    synchronize()
    start = time.time()
    model(x)
    synchronize(rank)
    empty_cache()
    reset_peak_memory_stats()
    print(max_memory_allocated() / 2**20, memory_reserved(rank))
    manual_seed(1)
    local = rank % device_count()
    y = x.to(get_device())
    return time.time() - start, local, y


dtype = 'bfloat16' if is_bf16_supported() else 'float16'
