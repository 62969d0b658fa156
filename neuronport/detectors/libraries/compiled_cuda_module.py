"""A compiled extension module, imported or called: ``from fastops import _C``, ``_C.forward(x)``."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence, Verdict
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("import", "use")
MODULES = r"(?:^|\.)(?:_C\w*|_ext|_kernels?|_cuda|\w*_cuda\w*|_ext\.\w+)\.\w+$"
_CUDA = re.compile(r"(^|_)cuda(_ext|_kernels?|_ops|_lib)?$|_cuda_ext$|_cuda(_C)?$")
_EXTENSION = re.compile(r"^_(C|ext|cuda|kernels?)$|^_C_\w+$")
_ASKS = re.compile(
    r"^(skip|require|is|has|use|no|not|to|get|set|init|check|test|with|only|needs?)_"
)
"""What functions begin with: ``skip_if_no_cuda`` is no module."""
_OTHERS = frozenset(
    [
        "torch",
        "torchvision",
        "torchaudio",
        "numba",
        "cupy",
        "cuda",
        "pycuda",
        "triton",
        "tensorflow",
        "jax",
        "mxnet",
    ]
) | frozenset(sys.stdlib_module_names)
"""Packages whose compiled parts other rules speak of, or that are no CUDA extension."""
ONLY = {"use": ()}
PATTERN = MODULES


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    # Of a module with a row of its own that row speaks: ``view.missing``.
    name = view.index.canonical(event.name, view.summary)
    if event.kind == "import":
        part = name.rpartition(".")[2]
        sure = _sure(name, part, view)
        if sure is None or event.role == "star" or view.missing(name):
            return
        caught = view.import_is_guarded(event)
        yield Hit(
            event.span,
            f"imports {part}, {_what(part)}",
            Confidence.POSSIBLE if caught else sure,
            verdict=Verdict.LOCKS_IN if caught else None,
        )
        return
    if event.role != "call":
        return
    owner, _, function = name.rpartition(".")
    part = owner.rpartition(".")[2]
    sure = _sure(owner, part, view)
    if sure is None and function.endswith("_cuda") and _built(owner, function, view):
        yield Hit(
            event.span,
            f"{part}.{function} is compiled for CUDA by its name, in what is built into _ext",
            Confidence.LIKELY,
        )
    if sure is not None and not view.missing(owner):
        yield Hit(event.span, f"{part}.{function} is of {_what(part)}", sure)


def _built(owner: str, function: str, view: ModuleView) -> bool:
    """Whether a module is one that is built: in a package ``_ext``, and without the function in a
    source of the tree."""
    if owner.split(".")[-2:-1] != ["_ext"] or not view.imports("torch"):
        return False
    module = view.index.module(owner)
    return module is None or function not in module.exports


def _what(part: str) -> str:
    if _CUDA.search(part) or "cuda" in part:
        return "a module compiled for CUDA by its name"
    return "a compiled extension; what of it is CUDA has no counterpart"


def _sure(name: str, part: str, view: ModuleView) -> Confidence | None:
    if not (_CUDA.search(part) or _EXTENSION.match(part)) or _ASKS.match(part):
        return None
    root = name.lstrip("@").partition(".")[0]
    if root in _OTHERS or view.index.module(name) is not None or not view.imports("torch"):
        return None
    if name[:1] == "@":
        # Of the tree: only where the tree has no source for it.
        found = view.index.split(name)
        if found is not None and (found[1] != part or part in found[0].exports):
            return None
    return Confidence.LIKELY
