import torch


def pick():
    if torch.cuda.is_available():
        return "cuda"
    elif hasattr(torch, "neuron") and torch.neuron.is_available():
        return "neuron"
    return "cpu"
