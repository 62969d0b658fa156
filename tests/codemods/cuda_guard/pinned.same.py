import torch
from torch.utils.data import DataLoader


def loader(data):
    return DataLoader(data, pin_memory=torch.cuda.is_available())
