"""A test that runs only where CUDA is: ``@require_torch_gpu``, ``skipIf(not cuda.is_available())``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event
from neuronport.source.truth import conditions
from neuronport.source.view import ModuleView

EVENTS = ("use", "import", "attr")
ROOTS = ("unittest", "pytest")
NAMES = conditions()["skips"]
_MODEL = re.compile(
    r"get_device_(name|capability|properties)|\b(get_)?sm_?\d|torch\.version\.cuda|cudnn", re.I
)
_LEFT = "leave it: it asks for a model of GPU, or a version of CUDA, and not for an accelerator"
ONLY = NAMES | {n.rpartition(".")[2] for k in ("skip_if", "skip_unless") for n in conditions()[k]}


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    last = event.name.rpartition(".")[2]
    if last in NAMES:
        if event.kind == "import" and event.role == "name":
            yield Hit(
                event.span, f"imports {last}, which skips tests where CUDA is not", guarded=False
            )
        elif event.kind in ("use", "attr") and event.role in ("decorator", "call", "load"):
            yield Hit(event.span, f"{last} skips this on a Neuron host", guarded=False)
        return
    if event.kind != "use" or event.role not in ("call", "decorator") or not event.args:
        return
    name = view.index.canonical(event.name, view.summary)
    data = conditions()
    if name in data["skip_if"]:
        truth = view.truth_of(event.args[0])
    elif name in data["skip_unless"]:
        truth = {True: False, False: True, None: None}[view.truth_of(event.args[0])]
    else:
        return
    if truth is True and event.args[0] is not None and event.args[0][0] != "const":
        yield Hit(
            event.span,
            f"{view.text(event.args[0])} is decided by what a Neuron host lacks: skipped there",
            Confidence.CERTAIN,
            guarded=False,
            replacement=_LEFT if _MODEL.search(view.text(event.args[0])) else "",
        )
