import torch
import torch.nn.functional as F
from torch.nn import CrossEntropyLoss


def main(logits: torch.Tensor, labels: torch.Tensor, attention_mask: torch.Tensor):
    loss_fct = CrossEntropyLoss()
    if attention_mask is not None:
        active_loss = attention_mask.view(-1) == 1
        active_logits = logits.view(-1, logits.shape[-1])[active_loss]
        active_labels = labels.view(-1)[active_loss]  # the true ones
        loss = loss_fct(active_logits, active_labels)
    else:
        loss = loss_fct(logits.view(-1, logits.shape[-1]), labels.view(-1))
    keep = attention_mask.bool().view(-1)
    other = F.cross_entropy(logits.view(-1, 5)[keep], labels.view(-1)[keep], ignore_index=2)
    third = F.cross_entropy(
        logits.reshape(-1, 5)[keep & (labels > 0).view(-1)],
        labels.reshape(-1)[keep & (labels > 0).view(-1)],
        reduction="sum",
    )
    return loss, other, third
