from functools import partial

import torch
from torch import autocast
from neuron_device import device_name, half_dtype

ctx = partial(autocast, device_type=device_name(), dtype=half_dtype(), enabled=device_name() != "cpu")
exact = partial(torch.autocast, device_type=device_name(), enabled=device_name() != "cpu", dtype=torch.bfloat16)
