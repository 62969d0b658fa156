"""Fits a small gated network to a made-up function."""

import argparse
import time

import torch
import torch.nn as nn

from rowscale import GatedBlock, GatedRMSNorm, has_kernel


class Net(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Linear(8, 2 * dim)
        self.norm = GatedRMSNorm(dim)
        self.block = GatedBlock(dim, 2 * dim)
        self.head = nn.Linear(dim, 1)

    def forward(self, x):
        x, gate = self.embed(x).chunk(2, dim=-1)
        return self.head(self.block(self.norm(x, gate))).squeeze(-1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()

    torch.manual_seed(0)
    if args.device == "cpu":
        torch.set_num_threads(1)
    print("with the kernel" if has_kernel() else "without the kernel")
    model = Net().to(args.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(args.steps):
        x = torch.randn(256, 8, device=args.device)
        y = torch.sin(x[:, 0]) + x[:, 1] * x[:, 2]
        if args.device.startswith("cuda"):
            torch.cuda.synchronize()
        start = time.perf_counter()
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if args.device.startswith("cuda"):
            torch.cuda.synchronize()
        ms = (time.perf_counter() - start) * 1e3
        print(f"step {step:3d} | loss {loss.item():.4f} | {ms:.1f} ms", flush=True)


if __name__ == "__main__":
    main()
