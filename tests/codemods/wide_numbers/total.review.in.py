import torch


def evaluate(net, batches, dev):
    total = torch.zeros((), dtype=torch.bfloat16, device=dev)
    n = 0
    for x, y in batches:
        total += net(x.to(dev), y.to(dev)).detach()
        n += 1
    return total / n
