import torch
from neuron_device import current_stream, device_event, device_stream, on_stream, synchronize


class Trainer:
    def __init__(self):
        self.side = device_stream()
        self.start = device_event(enable_timing=True)  # of a step
        self.end = device_event(enable_timing=True)

    def step(self, x):
        self.start.record()
        with on_stream(self.side):
            x = x + 1
        current_stream().wait_stream(self.side)
        self.end.record()
        synchronize()
        return self.start.elapsed_time(self.end)
