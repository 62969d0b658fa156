"""Errors told by the texts of CUDA: ``if "out of memory" in str(e):``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

EVENTS = ("str",)
_CUDA = (
    r"cuda (?:out of memory|error|oom)|cuda\w*_error|cudnn(?:_status| error|error)|cublas(?:_status| error)"
    r"|nccl (?:error|communicator)|nccl_error|device-side assert|cuda runtime error|no cuda gpus"
)
STRINGS = rf"(?i:^\W*(?:cuda|cudnn|cublas|nccl|out ?of ?memory|oom)\W*$|{_CUDA})"
_SURE = re.compile(rf"(?i){_CUDA}")
_TEXT = re.compile(STRINGS)
_METHODS = frozenset(("startswith", "find", "index", "count", "__contains__"))
_SEARCHES = frozenset(("re.search", "re.match", "re.compile", "re.findall"))


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if len(event.name) > 120 or not _TEXT.search(event.name):
        return
    role, listed = event.role, False
    while role[0] in ("elem", "branch"):
        listed = True
        role = role[1]
    handling = any(guard.kind == "except" for guard in view.guards(event))
    message = f'an error is told by the text "{event.name}", which Neuron does not use'
    tag = role[0]
    if tag == "compare":
        if role[1] not in ("in", "not in"):
            return
        if handling or _is_error(role[2], view):
            yield Hit(event.span, message)
        elif _SURE.search(event.name):
            yield Hit(event.span, message, Confidence.LIKELY)
    elif tag == "method":
        if role[2] in _METHODS and role[3] == 0 and (handling or _is_error(role[1], view)):
            yield Hit(event.span, message, Confidence.LIKELY)
    elif tag == "arg":
        name = view.name(role[1])
        if (name in _SEARCHES and role[2] == 0 and handling) or (
            listed and name in ("builtins.any", "builtins.tuple") and _SURE.search(event.name)
        ):
            yield Hit(event.span, message, Confidence.LIKELY)
    elif listed and tag in ("assign", "other", "field") and _SURE.search(event.name):
        yield Hit(event.span, message, Confidence.LIKELY)


def _is_error(value: Value, view: ModuleView, depth: int = 0) -> bool:
    """Whether a text is that of an error: ``str(e)``, ``exception.args[0]``, ``msg.lower()``."""
    if value is None or depth > 4:
        return False
    tag = value[0]
    if tag == "call" and value[1] is not None:
        func = value[1]
        if func[0] == "attr":
            return _is_error(func[1], view, depth + 1)
        if func == ("ref", "builtins.str") and value[2]:
            return value[2][0] is None or _is_error(value[2][0], view, depth + 1)
        return bool(str(func[1]).startswith("traceback."))
    if tag == "item":
        return _is_error(value[1], view, depth + 1)
    if tag == "attr" and value[2] in ("args", "message", "stderr"):
        return True
    if tag in ("param", "attr"):
        return _named_error(str(value[2]))
    if tag == "v":
        definition = view.facts.definitions[value[1]]
        return _named_error(definition.name) or _is_error(definition.value, view, depth + 1)
    return False


def _named_error(name: str) -> bool:
    return (
        re.search(
            r"(?i)^(e|ex|exc|err|error|exception|msg|message)$|err(or)?_?(msg|str|text|message)|exc",
            name,
        )
        is not None
    )
