import torch


def step(model, x):
    scaler = torch.cuda.amp.GradScaler()
    with torch.cuda.amp.autocast():
        loss = model(x)
    scaler.scale(loss).backward()
    return loss
