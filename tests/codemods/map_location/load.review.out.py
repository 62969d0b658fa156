import torch


def resume(model, path):
    state = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(torch.load("last.pt", map_location="cpu"))
    return state
