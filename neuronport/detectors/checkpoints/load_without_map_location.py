"""``torch.load(path)``: tensors go back to the device they were saved from, which may be CUDA."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView
from neuronport.source.written import Where, file_name, written

EVENTS = ("use",)
ONLY = ("load", "load_state_dict_from_url", "load_url")
METHODS = ("load_state_dict",)
ROOTS = ("shutil",)
_LOADERS = {
    "torch.load": 1,
    "torch.jit.load": 1,
    "torch.serialization.load": 1,
    "torch.hub.load_state_dict_from_url": 2,
    "torch.utils.model_zoo.load_url": 2,
}
_PUBLISHED = frozenset(("torch.hub.load_state_dict_from_url", "torch.utils.model_zoo.load_url"))
_WRITERS = {
    "torch.save": ("f", 1),
    "torch.jit.save": ("f", 1),
    "shutil.copy": ("dst", 1),
    "shutil.copy2": ("dst", 1),
    "shutil.copyfile": ("dst", 1),
    "shutil.move": ("dst", 1),
}
"""Where the path is of what they write."""
_WEIGHTS = re.compile(
    r"ckpt|checkpoint|resume|weight|state|pretrain|model|snapshot|\.pth\b|best|optim|restore|blob",
    re.I,
)
_TOKENIZING = re.compile(r"(^|[/_.])(tokeni[sz]\w*|vocab\w*|(load|read|get)_vocab\w*)", re.I)
"""Modules and functions for what belongs to a tokenizer: words and numbers, no weights."""
_DATA = re.compile(
    r"data|feat|embed|cache|token|label|target|sample|split|corpus|vocab|batch|input|graph|mask|"
    r"idx|indices|\bx\b|\by\b|processed",
    re.I,
)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.kind != "use" or event.role != "call":
        return
    if not event.name.endswith(("load", "load_state_dict_from_url", "load_url")):
        return
    dotted = view.index.canonical(event.name, view.summary)
    position = _LOADERS.get(dotted)
    if position is None or any(key is None for key, _ in event.kwargs):
        return
    location = view.argument(event, "map_location", position)
    if location is not None and location != ("const", None):
        return
    if view.given(event, "map_location", position) and location is None:
        return
    source = view.argument(event, "f", 0)
    confidence = Confidence.POSSIBLE if dotted in _PUBLISHED else _confidence(source, event, view)
    message = "without map_location tensors saved from CUDA go back to CUDA"
    if confidence is not Confidence.POSSIBLE and _read_elsewhere(event, view):
        message += "; where there is no CUDA, it is read with map_location beside it"
        confidence = Confidence.POSSIBLE
    if confidence is not Confidence.POSSIBLE:
        where = written(view.index, frozenset(_names(source, view)))
        if where is Where.CPU:
            message += "; what is saved in this tree was moved to the CPU before"
        if where in (Where.CPU, Where.UNCLEAR):
            confidence = Confidence.POSSIBLE
    yield Hit(event.span, message, confidence)


def _confidence(source: Value, event: Event, view: ModuleView) -> Confidence:
    """Likely where a model's weights are read; possible where it may be data made on the CPU."""
    words = " ".join((view.text(source), *(t for t, _ in view.strings(source))))
    if _saved_on_cpu(source, view) or _saved_here(source, event, view):
        return Confidence.POSSIBLE
    if _TOKENIZING.search(f"{view.facts.path.rpartition('/')[2]} {view.scope(event)}"):
        return Confidence.LIKELY if _read_as_state(event, view) else Confidence.POSSIBLE
    if _WEIGHTS.search(words) or _WEIGHTS.search(view.scope(event).rpartition(".")[2]):
        return Confidence.LIKELY
    if _DATA.search(words) or _DATA.search(view.scope(event)):
        return Confidence.POSSIBLE
    return Confidence.LIKELY if _read_as_state(event, view) else Confidence.POSSIBLE


def _read_elsewhere(event: Event, view: ModuleView) -> bool:
    """Whether a condition skips the place on a Neuron host, and the other way reads with a location."""
    guard = view.skipping_guard(event)
    return guard is not None and any(
        other.kind == "use"
        and other.role == "call"
        and other.name.endswith("load")
        and view.index.canonical(other.name, view.summary) in _LOADERS
        and view.given(other, "map_location", 1)
        and any(
            g.line == guard.line and g.polarity is not guard.polarity for g in view.guards(other)
        )
        for other in view.facts.events
    )


def _names(source: Value, view: ModuleView) -> Iterator[str]:
    """What the file that is read is called, without its folders, as far as that is written."""
    for atom in view.follow(source):
        name = file_name(atom.module, atom.value)
        if name:
            yield name


def _read_as_state(event: Event, view: ModuleView) -> bool:
    """Whether the scope gives something to ``load_state_dict`` after the call."""
    scope = view.ctx(event).scope
    return any(
        other.kind == "method"
        and other.name == "load_state_dict"
        and view.ctx(other).scope == scope
        for other in view.facts.events
    )


def _saved_on_cpu(source: Value, view: ModuleView) -> bool:
    """Whether what is read is a buffer in memory: written by the same program."""
    return any(
        atom.value is not None
        and atom.value[0] == "call"
        and atom.value[1] == ("ref", "io.BytesIO")
        for atom in view.follow(source)
    )


def _saved_here(source: Value, event: Event, view: ModuleView) -> bool:
    """Whether the same function has written what it reads, or copied it there: on the same host."""
    if source is None:
        return False
    scope, path = view.ctx(event).scope, view.text(source)
    return any(
        other.kind == "use"
        and other.name in _WRITERS
        and other.at[0] < event.at[0]
        and view.ctx(other).scope == scope
        and "…" not in path
        and view.text(view.argument(other, *_WRITERS[other.name])) == path
        for other in view.facts.events
    )
