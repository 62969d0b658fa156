"""Fourier transforms: torch.fft, stft, istft."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import CERTAIN, LIKELY, called, on_host, placed, torch_call
from neuronport.detectors._uses import uses
from neuronport.findings import weakest
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

METHODS = ("stft", "istft")
EVENTS = ("use", "method")
_REAL = ("fftfreq", "rfftfreq", "fftshift", "ifftshift")
"""Parts of torch.fft that transform nothing."""
_TO_REAL = frozenset(("irfft", "irfft2", "irfftn", "hfft", "hfft2", "hfftn", "istft"))
_TAKEN = frozenset((".real", ".imag", ".abs()", ".angle()"))
_GOES_ON = frozenset(("argument", "bin", "cmp", "index"))
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
        sure = placed(event, view, CERTAIN)
        if not _ends_real(last, event, view):
            sure = weakest(sure, LIKELY)
        yield Hit(event.span, f"{last} runs on the CPU", sure)
        return
    call = called(event, view, METHODS)
    if call is not None and not on_host(view, call.tensor):
        sure = placed(event, view, call.confidence)
        if not _ends_real(call.name, event, view):
            sure = weakest(sure, LIKELY)
        yield Hit(event.span, f"{call.name} runs on the CPU", sure)


def _ends_real(name: str, event: Event, view: ModuleView) -> bool:
    """Whether only real numbers go on from a transform: where complex ones do, more than the
    transform decides what runs where."""
    if name in _TO_REAL or view.constant(view.argument(event, "return_complex")) == (True, False):
        return True
    done = uses(event, view)
    return bool(done & _TAKEN) and not done & _GOES_ON
