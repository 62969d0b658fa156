import torch


def crop(logits, k):
    v, _ = torch.topk(logits, k)
    logits.masked_fill_(logits < v[:, [-1]], -float("Inf"))
    return torch.softmax(logits, dim=-1)
