import torch
from neuron_device import device_name


def resume(model, path):
    state = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(torch.load("last.pt", map_location="cpu"))
    return state


def train(path, optimizer, device):
    checkpoint = torch.load(path, map_location="cpu")
    optimizer.load_state_dict(checkpoint["optimizer"])
    mask = torch.load("mask.pt", map_location="cpu").to(device)
    model = torch.load("whole.pt", map_location=None if device_name() == "cuda" else device_name())
    model.eval()
    return model(mask)


def export(device):
    model = torch.load("whole.pt", map_location="cpu")
    model = model.to(device)
    return model.eval()
