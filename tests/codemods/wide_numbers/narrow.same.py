import numpy as np
import torch


def load(path, dev, net, batches):
    raw = np.loadtxt(path)
    x = torch.from_numpy(raw).float().to(dev)
    total = torch.zeros((), dtype=torch.float32, device=dev)
    for y in batches:
        total += net(y).detach()
    return x, total
