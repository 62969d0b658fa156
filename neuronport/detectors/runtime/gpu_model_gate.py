"""A decision by the name of a GPU: ``if "A100" in torch.cuda.get_device_name():``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

EVENTS = ("str",)
_MODEL = (
    r"A100|A800|A10G?|A16|A30|A40|A[2-6]000|H100|H200|H800|H20|GH200|B[123]00|GB[23]00|L4|L40S?|V100|"
    r"P100|P40|P4|T4|K80|M60|M40|[RG]TX|TITAN|Tesla|GeForce|Quadro|[2-5]0[6-9]0(?: ?Ti)?"
)
STRINGS = (
    rf"(?i:^(?:nvidia[ -])?(?:(?:tesla|geforce|quadro|rtx)[ -])*(?:{_MODEL})(?:[ -].*)?$|^nvidia$)"
)
_TEXT = re.compile(STRINGS)
_NAMED = re.compile(r"(?i)gpu|device_?name|card|cuda|accelerator|(^|_)sku")


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    role = event.role
    if role[0] != "compare" or role[1] not in ("in", "not in", "==", "!="):
        return
    if not _TEXT.search(event.name):
        return
    confidence = _about_gpu(role[2], view)
    if confidence is not None:
        yield Hit(event.span, f'a GPU is told by its name "{event.name}"', confidence)


def _about_gpu(value: Value, view: ModuleView) -> Confidence | None:
    """How surely a text is the name of a GPU."""
    plain = _plain(value)
    for atom in view.follow(plain):
        inner = _plain(atom.value)
        if inner is None:
            continue
        func = inner[1] if inner[0] == "call" else inner
        if func is not None and func[0] == "ref":
            last = str(func[1]).rpartition(".")[2]
            if last in ("get_device_name", "get_device_properties"):
                return Confidence.CERTAIN
        if inner[0] == "attr" and inner[2] == "name" and _props(inner[1], view):
            return Confidence.CERTAIN
    name = _name(plain, view)
    return Confidence.LIKELY if name and _NAMED.search(name) else None


def _plain(value: Value) -> Value:
    """Without ``.lower()`` and the like, which change nothing about what a text is."""
    while (
        value is not None
        and value[0] == "call"
        and value[1] is not None
        and value[1][0] == "attr"
        and value[1][2] in ("lower", "upper", "strip", "casefold", "decode")
    ):
        value = value[1][1]
    return value


def _props(value: Value, view: ModuleView) -> bool:
    return any(
        atom.value is not None
        and atom.value[0] == "call"
        and atom.value[1] is not None
        and str(atom.value[1][-1]).endswith("get_device_properties")
        for atom in view.follow(value)
    )


def _name(value: Value, view: ModuleView) -> str:
    if value is None:
        return ""
    if value[0] == "v":
        return view.facts.definitions[value[1]].name
    if value[0] in ("param", "attr"):
        return str(value[2])
    return ""
