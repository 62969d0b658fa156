import torch


def resume(model, path):
    state = torch.load(path, weights_only=True)
    model.load_state_dict(torch.load("last.pt"))
    return state


def train(path, optimizer, device):
    checkpoint = torch.load(path)
    optimizer.load_state_dict(checkpoint["optimizer"])
    mask = torch.load("mask.pt").to(device)
    model = torch.load("whole.pt")
    model.eval()
    return model(mask)


def export(device):
    model = torch.load("whole.pt")
    model = model.to(device)
    return model.eval()
