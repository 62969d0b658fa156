import torch


def evaluate(net, batches, dev):
    total = torch.zeros((), dtype=torch.float32, device=dev)
    n = 0
    for x, y in batches:
        total += net(x.to(dev), y.to(dev)).detach()
        n += 1
    return total / n
