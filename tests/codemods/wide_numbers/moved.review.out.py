import numpy as np
import torch


def main(path, dev):
    raw = np.loadtxt(path)
    x = torch.from_numpy(raw[:, :-1]).float().to(dev)
    y = torch.from_numpy(raw[:, -1]).float().to(dev)  # targets
    return x.float(), y.float()
