import sys

import torch

use_cuda = "--cpu" not in sys.argv and torch.cuda.is_available()
use_mps = torch.backends.mps.is_available()
if use_cuda:
    device = torch.device("cuda")
elif use_mps:
    device = torch.device("mps")
else:
    device = torch.device("cpu")

loading = {"batch_size": 4}
if use_cuda:
    more = {"num_workers": 1, "pin_memory": True}  # for the GPU
    loading.update(more)
loader = torch.utils.data.DataLoader([1, 2], **loading)
x = torch.zeros(1, device=device)
