import torch


def capture(step):
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(1)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        return graph
    return None
