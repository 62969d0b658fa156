import torch

device = (
    "cuda"  # the GPU
    if torch.cuda.is_available()
    else "cpu"
)
