import torch

move = torch.Tensor.cuda
print("cuda", torch.version.cuda)
log = {"cuda": "yes"}["cuda"]
