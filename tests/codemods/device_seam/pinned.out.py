from torch.utils.data import DataLoader


def loaders(data):
    return DataLoader(data, 32, pin_memory=True, drop_last=True)
