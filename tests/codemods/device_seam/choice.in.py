import torch
a = "cuda" if torch.cuda.is_available() else "cpu"
b = torch.device("cuda" if torch.cuda.is_available() else "cpu")
c = torch.device("cuda:0") if torch.cuda.is_available() else torch.device("cpu")
d = "cpu" if not torch.cuda.is_available() else 'cuda'


def pick(no_cuda, rank):
    return torch.device(f"cuda:{rank}" if torch.cuda.is_available() and not no_cuda else "cpu")


def kind(device):
    return 'cuda' if 'cuda' in device else 'cpu'  # for autocast
