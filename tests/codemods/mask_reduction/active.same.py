import torch
import torch.nn.functional as F
from torch.nn import CrossEntropyLoss


def f(logits: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor):
    loss_fct = CrossEntropyLoss()
    active = mask.view(-1) == 1
    chosen = logits.view(-1, 5)[active]
    truth = labels.view(-1)[active]
    loss = loss_fct(chosen, truth)
    accuracy = (chosen.argmax(-1) == truth).float().mean()
    keep = mask.bool()
    whole = F.cross_entropy(logits[keep], labels[keep])
    each = F.cross_entropy(logits.view(-1, 5)[active], labels.view(-1)[active], reduction="none")
    a = logits.view(-1, 5)[active]
    active = mask.view(-1) == 2
    b = labels.view(-1)[active]
    return loss, accuracy, whole, each, loss_fct(a, b)
