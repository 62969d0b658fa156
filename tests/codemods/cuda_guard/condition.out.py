import gc

import torch
from neuron_device import empty_cache, is_accelerated, memory_allocated


def reclaim():
    if is_accelerated() and memory_allocated() > 0:
        gc.collect()
        empty_cache()
