import torch

print(torch.cuda.get_device_capability())
graph = torch.cuda.CUDAGraph()
stream = torch.cuda.Stream()
