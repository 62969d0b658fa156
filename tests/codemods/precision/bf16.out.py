import torch
from torch.cuda.amp import GradScaler
from neuron_device import device_name


def step(model, x, amp):
    with torch.autocast(device_name(), dtype=torch.bfloat16, enabled=device_name() != "cpu"):
        a = model(x)
    with torch.autocast(device_name(), dtype=torch.bfloat16, enabled=(amp or x.numel() > 3) and device_name() != "cpu"):
        b = model(x)
    with torch.autocast(device_type=device_name(), enabled=False):
        c = model(x)
    with torch.amp.autocast(device_name()  # why
                            , torch.bfloat16, enabled=device_name() != "cpu"):
        d = model(x)
    scaler = GradScaler(enabled=device_name() == "cuda" and amp)
    other = GradScaler(init_scale=2.0, enabled=device_name() == "cuda")
    third = torch.amp.GradScaler("cuda", enabled=device_name() == "cuda")
    return a, b, c, scaler, other, third
