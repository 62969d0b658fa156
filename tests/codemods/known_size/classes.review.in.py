import torch
import torch.nn.functional as F

NUM_ACTIONS = 4


class Head(torch.nn.Module):
    def __init__(self, config, num_experts: int):
        super().__init__()
        self.num_experts = num_experts
        self.config = config
        self.out = torch.nn.Linear(3, config.num_labels)

    def forward(self, x, labels, expert_ids):
        logits = self.out(x)
        best = F.one_hot(logits.argmax(dim=-1))
        truth = F.one_hot(labels.view(-1).long())  # as wide as the model
        _, chosen = torch.topk(logits, 2, dim=-1)
        few = F.one_hot(chosen, num_classes=-1)
        used = torch.nn.functional.one_hot(expert_ids)
        loss = F.mse_loss(logits, F.one_hot(x.max(dim=1).indices % 3).float())
        k = torch.full((x.shape[0],), 3, device=x.device)
        return logits, best, truth, few, used, loss, x.repeat_interleave(k, dim=0)


def main(x, labels: torch.Tensor, batch, config, n_classes=3):
    torch.manual_seed(0)
    outputs = Head(config, 4)(x, labels, batch["experts"])
    counted = torch.bincount(labels), labels.bincount()
    return *outputs, *counted, F.one_hot(labels), F.one_hot(batch["actions"], -1)
