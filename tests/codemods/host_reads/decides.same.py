import torch


class Meter:
    def __init__(self):
        self.total = 0.0


def train(model, optimizer, data, meter, best=0.0):
    losses = []
    for x in data:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        meter.total += loss.item()
        best += loss.item()
        if loss.item() > 3:
            break
        print(f"loss {loss.item():.3f}")
    return losses, torch.tensor(losses)
