import torch


class Agent:
    device = torch.accelerator.current_device()

    def __init__(self, net):
        self.net = net.to(self.device)
