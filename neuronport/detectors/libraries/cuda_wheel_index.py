"""Packages built for CUDA, named in Python: ``https://download.pytorch.org/whl/cu121``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("str",)
STRINGS = (
    r"download\.pytorch\.org/whl/(?:nightly/|test/)?cu(?:\d{2,3}|\{\})"
    r"|(?:^|[\w}.])\+cu(?:\d{2,3}|\{\})|^\+cu$|pypi\.nvidia\.com|pypi\.ngc\.nvidia\.com"
)
_TEXT = re.compile(STRINGS)
_TOLD = re.compile(r"print|log|warn|info|debug|error|Error|Exception|help")


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    match = _TEXT.search(event.name)
    if match is None:
        return
    role = event.role
    while role[0] in ("elem", "branch"):
        role = role[1]
    if role[0] in ("arg", "method"):
        called = view.name(role[1]) if role[0] == "arg" else str(role[2])
        if _TOLD.search(called.rpartition(".")[2]) or role[-1] == "help":
            return
    if role[0] in ("raise", "key"):
        return
    sure = Confidence.LIKELY if "whl" in match[0] or "pypi" in match[0] else Confidence.POSSIBLE
    if role[0] == "compare" or match[0] == "+cu":
        sure = Confidence.LIKELY
    yield Hit(event.span, f"a build for CUDA is named: {match[0]}", sure)
