from dataclasses import dataclass
from neuron_device import device_name


@dataclass
class Config:
    device: str = device_name()


def train(model, device=device_name(0)):
    return model.to(device)
