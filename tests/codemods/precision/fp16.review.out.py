import torch
from neuron_device import device_name, half_dtype


def step(model, x):
    scaler = torch.cuda.amp.GradScaler(enabled=device_name() == "cuda")
    with torch.autocast(device_name(), dtype=half_dtype(), enabled=device_name() != "cpu"):
        loss = model(x)
    scaler.scale(loss).backward()
    return loss
