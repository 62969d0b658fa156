import torch

EMPTY_CACHE = {"cuda": torch.cuda.empty_cache, "cpu": None, "default": None}
