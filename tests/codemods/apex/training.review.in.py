import torch
import apex
from apex.contrib.clip_grad import clip_grad_norm_
from apex.normalization import FusedLayerNorm, FusedRMSNorm as Norm
from apex.normalization.fused_layer_norm import fused_layer_norm_affine
from apex.optimizers import FusedAdam, FusedSGD


def main():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 8),
        FusedLayerNorm(8, eps=1e-3, memory_efficient=True),  # hidden
        Norm(8),
        torch.nn.Linear(8, 1),
    )
    optimizers = [
        FusedAdam(model.parameters(), lr=0.1, weight_decay=0.1, set_grad_none=True),
        FusedAdam(model.parameters(), 0.1, True, (0.8, 0.9), 1e-6),
        FusedAdam(model.parameters(), adam_w_mode=False, weight_decay=0.5),
        FusedSGD(model.parameters(), 0.1, 0.9, weight_decay=0.1),
        apex.optimizers.FusedAdagrad(model.parameters(), 0.1, eps=1e-8),
    ]
    seen = []
    for optimizer in optimizers:
        for _ in range(3):
            x = torch.randn(5, 4)
            y = fused_layer_norm_affine(model(x), torch.ones(1), torch.zeros(1), (1,))
            loss = model(x).square().mean() + y.sum()
            optimizer.zero_grad()
            loss.backward()
            seen.append(clip_grad_norm_(model.parameters(), 1.0))
            optimizer.step()
            seen.append(loss.detach())
    return [*seen, *(p.detach() for p in model.parameters())]
