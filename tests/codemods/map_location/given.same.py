import torch

state = torch.load("x.pt", map_location="cpu")
other = torch.load("y.pt", "cpu")
