import gc

import torch


def reclaim():
    if torch.cuda.is_available() and torch.cuda.memory_allocated() > 0:
        gc.collect()
        torch.cuda.empty_cache()
