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
ACCELERATED = conditions()["accelerated"]
ONLY = (
    NAMES
    | ACCELERATED
    | {n.rpartition(".")[2] for k in ("skip_if", "skip_unless") for n in conditions()[k]}
)


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
    if last in ACCELERATED:
        yield from _accelerated(event, last, view)
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
            replacement=_LEFT
            if _MODEL.search(view.text(event.args[0]))
            else _BACKEND
            if _of_nccl(event, view)
            else "",
        )


_BACKEND = "the backend as a parameter of the test: neuron beside nccl, each where its devices are"
_NEAR = 12


def _of_nccl(event: Event, view: ModuleView) -> bool:
    """Whether what is marked is a test of NCCL, by its name or by a fixture's."""
    line = event.at[0]
    after = [
        (function.line, name, function.params)
        for name, function in view.facts.functions.items()
        if line <= function.line <= line + _NEAR
    ]
    if not after:
        return False
    _, name, params = min(after, key=lambda found: found[0])
    return "nccl" in name.rpartition(".")[2].lower() or any("nccl" in p[0].lower() for p in params)


_TOLD_BY = {"transformers": "TRANSFORMERS_TEST_DEVICE", "diffusers": "DIFFUSERS_TEST_DEVICE"}
"""The variables that tell the tests of a library their device."""


def _accelerated(event: Event, last: str, view: ModuleView) -> Iterator[Hit]:
    """A marker for accelerators of any kind is the right one: it only has to know of Neuron."""
    if event.kind != "use" or event.role not in ("call", "decorator"):
        return
    library = view.index.canonical(event.name, view.summary).lstrip("@").partition(".")[0]
    if library == "accelerate":
        return
    variable = _TOLD_BY.get(library)
    if variable is None:
        yield Hit(
            event.span,
            f"{last} asks for an accelerator of any kind that the project knows: this is skipped on a "
            "Neuron host unless Neuron is one of them",
            Confidence.POSSIBLE,
            replacement="the marker stays; neuron among the devices that it knows",
            guarded=False,
        )
        return
    yield Hit(
        event.span,
        f"{last} asks for an accelerator of any kind: this is skipped on a Neuron host unless "
        f"{variable}=neuron is set",
        Confidence.LIKELY,
        replacement=f"the marker stays; {variable}=neuron where the tests are run",
        guarded=False,
    )
