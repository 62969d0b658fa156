import os
import torch


def train(device="cuda"):
    return torch.zeros(3).to(device)


if __name__ == "__main__":
    os.environ["CUDA_VISIBLE_DEVICES"] = "1"
    train()
