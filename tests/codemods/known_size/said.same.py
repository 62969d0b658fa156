import torch
import torch.nn.functional as F


def f(labels: torch.Tensor, num_classes: int, counts: torch.Tensor):
    a = F.one_hot(labels, num_classes), F.one_hot(labels, num_classes=5)
    return a, labels.repeat_interleave(2), torch.bincount(labels, minlength=num_classes)
