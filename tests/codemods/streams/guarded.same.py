import threading

import torch


def wait(done: torch.cuda.Event, ready=threading.Event()):
    if torch.cuda.is_available():
        graph = torch.cuda.CUDAGraph()
        torch.cuda.current_stream().synchronize()
    return ready.is_set()
