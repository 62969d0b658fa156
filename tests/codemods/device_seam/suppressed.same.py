import torch

x = torch.zeros(3, device="cuda")  # neuronport: ignore[hardcoded-cuda-device] only ever run on CUDA
# neuronport: ignore[*] nor this
y = torch.zeros(3).cuda()
