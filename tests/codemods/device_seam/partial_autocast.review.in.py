from functools import partial

import torch
from torch import autocast

ctx = partial(autocast, device_type="cuda")
exact = partial(torch.autocast, device_type="cuda", dtype=torch.bfloat16)
