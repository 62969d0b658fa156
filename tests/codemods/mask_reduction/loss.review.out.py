import torch
import torch.nn.functional as F


def main(scores: torch.Tensor, labels: torch.Tensor, others: torch.Tensor):
    keep = labels != -100
    a = F.cross_entropy(scores.flatten(0, -2), labels.flatten(), ignore_index=-100)
    b = F.cross_entropy(scores.flatten(0, -2), others.flatten(), ignore_index=-1, label_smoothing=0.1)
    return a, b
