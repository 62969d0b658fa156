import torch
import torch.nn.functional as F


def f(x: torch.Tensor, y: torch.Tensor, mask: torch.Tensor, labels: torch.Tensor):
    a = x[mask].mean()
    b = x[x > 0].mean(dim=0), x[y > 0].sum()
    c = F.cross_entropy(x[labels != -100], labels[labels != -1])
    d = F.cross_entropy(x[labels != -100], labels[labels != -100], reduction="none")
    print(f"{x[x > 0].mean()}")
    return a, b, c, d, x[x > 0], torch.where(x > 0)[0], F.one_hot(labels), x.nonzero()
