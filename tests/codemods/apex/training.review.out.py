import torch


def main():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 8),
        torch.nn.LayerNorm(8, eps=1e-3),  # hidden
        torch.nn.RMSNorm(8, eps=1e-5),
        torch.nn.Linear(8, 1),
    )
    optimizers = [
        torch.optim.AdamW(model.parameters(), lr=0.1, weight_decay=0.1),
        torch.optim.AdamW(model.parameters(), 0.1, (0.8, 0.9), 1e-6, weight_decay=0.0),
        torch.optim.Adam(model.parameters(), weight_decay=0.5),
        torch.optim.SGD(model.parameters(), 0.1, 0.9, weight_decay=0.1),
        torch.optim.Adagrad(model.parameters(), 0.1, eps=1e-8),
    ]
    seen = []
    for optimizer in optimizers:
        for _ in range(3):
            x = torch.randn(5, 4)
            y = torch.nn.functional.layer_norm(model(x), (1,), torch.ones(1), torch.zeros(1), eps=1e-6)
            loss = model(x).square().mean() + y.sum()
            optimizer.zero_grad()
            loss.backward()
            seen.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0))
            optimizer.step()
            seen.append(loss.detach())
    return [*seen, *(p.detach() for p in model.parameters())]
