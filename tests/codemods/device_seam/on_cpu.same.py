import torch

x = torch.zeros(3, device="cpu")
y = torch.zeros(3).to("cpu")
z = torch.device("meta")
