import torch


def report(device):
    if device.type != "cuda":
        return ""
    free, total = torch.cuda.mem_get_info(device)
    return f"{torch.cuda.memory_allocated(device)} of {total}"
