import torch


def ready(force):
    if torch.cuda.is_available() or force:
        return True
    return False
