import torch


def run(x, device):
    if device.type == "cuda":
        torch.cuda.empty_cache()
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            x = x + 1
    if "cuda" in str(device):
        print("GPU")
    if device.type != "cuda":
        raise ValueError("cuda only")
    return x
