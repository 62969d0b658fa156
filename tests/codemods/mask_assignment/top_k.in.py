import torch


def crop(logits, k):
    v, _ = torch.topk(logits, k)
    logits[logits < v[:, [-1]]] = -float("Inf")
    return torch.softmax(logits, dim=-1)
