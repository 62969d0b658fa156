"""Fourier transforms: torch.fft, stft, istft."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import CERTAIN, called, on_host, placed, torch_call
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

METHODS = ("stft", "istft")
EVENTS = ("use", "method")
_REAL = ("fftfreq", "rfftfreq", "fftshift", "ifftshift")
"""Parts of torch.fft that transform nothing."""
ONLY = {"use": ("stft", "istft"), "method": frozenset(METHODS)}
PATTERN = r"^torch\.fft\."


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.kind == "use":
        name = torch_call(event, view)
        if not name.startswith(("torch.fft.", "torch.stft", "torch.istft")):
            return
        last = name.rpartition(".")[2]
        if last in _REAL or on_host(view, view.argument(event, "input", 0)):
            return
        yield Hit(event.span, f"{last} runs on the CPU", placed(event, view, CERTAIN))
        return
    call = called(event, view, METHODS)
    if call is not None and not on_host(view, call.tensor):
        sure = placed(event, view, call.confidence)
        yield Hit(event.span, f"{call.name} runs on the CPU", sure)
