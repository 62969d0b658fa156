import torch

print(torch.cuda.get_device_capability())
graph = torch.cuda.CUDAGraph()
name = torch.cuda.get_device_name(0)
