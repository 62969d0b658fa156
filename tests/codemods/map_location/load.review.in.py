import torch


def resume(model, path):
    state = torch.load(path, weights_only=True)
    model.load_state_dict(torch.load("last.pt"))
    return state
