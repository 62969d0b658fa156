import os
import torch


def select_device(name=""):
    name = str(name).lower()
    if name == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    elif name:
        os.environ["CUDA_VISIBLE_DEVICES"] = name
    if name != "cpu" and torch.cuda.is_available():
        return torch.device("cuda:0")
    return torch.device("cpu")
