import torch
import torch.nn.functional as F
from neuron_device import number


def main():
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = [(torch.randn(5, 4), torch.randint(3, (5,))) for _ in range(7)]
    lines = []
    for _ in range(2):
        total = 0.0
        correct = 0
        for i, (x, y) in enumerate(data):
            out = model(x)
            loss = F.cross_entropy(out, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach() * x.size(0)  # of the batch
            correct += out.argmax(1).eq(y).sum().detach()
            if i % 3 == 0:
                lines.append(f"{total / (i + 1):.4f}")
        lines.append(number(total) / len(data))
        lines.append(number(correct))
    return lines
