import torch
from torch.cuda.amp import autocast, GradScaler


def step(model, x, amp):
    with autocast(dtype=torch.bfloat16):
        a = model(x)
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=amp or x.numel() > 3):
        b = model(x)
    with torch.autocast(device_type="cuda", enabled=False):
        c = model(x)
    with torch.amp.autocast("cuda"  # why
                            , torch.bfloat16):
        d = model(x)
    scaler = GradScaler(enabled=amp)
    other = GradScaler(init_scale=2.0)
    third = torch.amp.GradScaler("cuda")
    return a, b, c, scaler, other, third
