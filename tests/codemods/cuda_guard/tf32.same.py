import torch

if torch.cuda.is_available():
    torch.backends.cuda.matmul.allow_tf32 = True
