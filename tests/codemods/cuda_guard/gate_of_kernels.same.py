import torch


def run(x, device):
    if device.type == "cuda":
        torch.cuda.empty_cache()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            x = x + 1
    if "cuda" in str(device):
        print("GPU")
    if device.type != "cuda":
        raise ValueError("cuda only")
    return x
