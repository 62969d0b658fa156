import os
import torch
from neuron_device import device_name


def train(device=device_name()):
    return torch.zeros(3).to(device)


if __name__ == "__main__":
    os.environ["CUDA_VISIBLE_DEVICES"] = "1"
    train()
