"""Plays torch_neuronx of the native path: ``torch.neuron``, the device by name, the backend ``neuron``.

The device is the CPU under another name. The backend writes a NEFF to the cache that
TORCH_NEURONX_NEFF_CACHE_DIR names when its result is first run, as the documentation says of a
just-in-time compiler. ``REPLAY_NATIVE`` names what happens.
"""

import hashlib
import os
import struct
import sys
import time
import types
from pathlib import Path

import torch

_HOW = os.environ.get("REPLAY_NATIVE", "compiles")
_CODE = "StableHLO to NEFF compilation failed for torch.compile: [ERROR] [NCC_EVRF004] Complex data types are not supported"

native = types.ModuleType("torch.neuron")
native.is_available = lambda: _HOW != "no-device"
native.device_count = lambda: 4
native.get_device_name = lambda: "neuron:0"
native.synchronize = lambda: None
torch.neuron = native
sys.modules["torch.neuron"] = native


def _redirected(original):
    def to(self, *args, **kwargs):
        args = tuple("cpu" if a == "neuron" else a for a in args)
        return original(self, *args, **kwargs)

    return to


torch.Tensor.to = _redirected(torch.Tensor.to)
torch.nn.Module.to = _redirected(torch.nn.Module.to)


def get_fallback_ops():
    return ["aten::sort"] if _HOW == "falls-back" else []


@torch._dynamo.register_backend(name="neuron")
def _backend(graph, inputs, **options):
    assert os.environ["TORCH_NEURONX_DISABLE_FALLBACK_EXECUTION"] == "1"
    key = hashlib.sha256(f"{graph.code}{[tuple(i.shape) for i in inputs]}".encode()).hexdigest()[
        :16
    ]
    state = {"compiled": False}

    def run(*args):
        if not state["compiled"]:
            if _HOW == "fails":
                raise RuntimeError(_CODE)
            state["compiled"] = True
            folder = Path(os.environ["TORCH_NEURONX_NEFF_CACHE_DIR"])
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / f"{key}.neff"
            if not file.is_file():
                time.sleep(0.2)
                data = b"t" * 100
                head = struct.pack(
                    "<5Q128sI32s16s256sI64sQI468x",
                    2,
                    1024,
                    len(data),
                    2,
                    0,
                    b"",
                    1,
                    b"",
                    b"",
                    b"g",
                    1,
                    b"",
                    0,
                    2,
                )
                file.write_bytes(head + data)
        return graph.forward(*args)

    return run
