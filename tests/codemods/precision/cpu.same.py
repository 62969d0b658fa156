import torch

with torch.autocast("cpu", dtype=torch.bfloat16):
    pass
