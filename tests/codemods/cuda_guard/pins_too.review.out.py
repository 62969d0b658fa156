import sys

import torch
from neuron_device import get_device, is_accelerated

use_cuda = "--cpu" not in sys.argv and is_accelerated()
use_mps = torch.backends.mps.is_available()
if use_cuda:
    device = get_device()
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
