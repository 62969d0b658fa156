from torch.utils.data import DataLoader


def loaders(train_set, common):
    a = DataLoader(train_set, batch_size=32, shuffle=True, drop_last=True)
    b = DataLoader(train_set, batch_size=32, shuffle=True, **common)
    c = DataLoader(train_set, batch_size=1, shuffle=True)
    return a, b, c
