import torch
from apex import amp


def main(model, optimizer, x):
    model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
    loss = model(x).mean()
    with amp.scale_loss(loss, optimizer) as scaled:
        scaled.backward()
    torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)
    optimizer.step()
