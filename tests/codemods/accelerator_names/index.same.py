import torch

print(torch.accelerator.current_device_index())
n = torch.accelerator.current_device() + 1
