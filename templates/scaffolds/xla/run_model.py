# neuronport: ignore-file[*] written by `neuronport port --scaffold xla`, for the xla path alone
"""The compiled model as a function: the smallest bucket that holds the inputs is run."""

import json
from pathlib import Path

import torch
from neuron_model import crop, length, pad


class Compiled:
    """The graphs of a folder, loaded when they are first needed."""

    def __init__(self, folder=None):
        self.folder = Path(folder) if folder else Path(__file__).parent / "compiled"
        self.buckets = sorted(
            int(b) for b in json.loads((self.folder / "buckets.json").read_text())
        )
        self._graphs = {}

    def graph(self, bucket):
        if bucket not in self._graphs:
            import torch_neuronx  # noqa: F401 - torch.jit.load needs what it registers

            self._graphs[bucket] = torch.jit.load(str(self.folder / f"model_{bucket}.pt"))
        return self._graphs[bucket]

    def __call__(self, *inputs):
        size = length(inputs)
        bucket = next((b for b in self.buckets if b >= size), None)
        if bucket is None:
            raise ValueError(f"longer than the largest bucket: {size} > {self.buckets[-1]}")
        with torch.no_grad():
            return crop(self.graph(bucket)(*pad(inputs, bucket)), size)
