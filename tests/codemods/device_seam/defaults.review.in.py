from dataclasses import dataclass


@dataclass
class Config:
    device: str = "cuda"


def train(model, device="cuda:0"):
    return model.to(device)
