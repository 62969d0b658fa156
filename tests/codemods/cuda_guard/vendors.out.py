import torch


def pick():
    if torch.cuda.is_available():
        device = torch.device('cuda')
    elif hasattr(torch, "neuron") and torch.neuron.is_available():
        device = torch.device('neuron')
    elif torch.backends.mps.is_available():
        device = torch.device('mps')
    else:
        device = torch.device('cpu')
    return device
