import torch


class Runner:
    def get_device(self):
        return torch.device("cpu")

    def run(self, x):
        return torch.zeros(3, device=self.get_device()), x.to(Runner().get_device())
