"""``print``, logging or a debugger inside code given to torch.compile."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.compilation._compiled import compiled_at
from neuronport.findings import Confidence, Related
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

EVENTS = ("use", "method")
METHODS = ("info", "debug", "warning")
ROOTS = ("builtins", "logging", "pdb")
_USES = frozenset(
    [
        "builtins.print",
        "builtins.breakpoint",
        "builtins.input",
        "builtins.open",
        "pdb.set_trace",
        "torch._dynamo.graph_break",
        "logging.info",
        "logging.debug",
        "logging.warning",
        "warnings.warn",
    ]
)
ONLY = frozenset((*METHODS, *(name.rpartition(".")[2] for name in _USES)))
_LOGGERS = frozenset(("logging.getLogger", "loguru.logger"))


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.kind == "use":
        if event.role != "call" or event.name not in _USES:
            return
        what = event.name.removeprefix("builtins.")
    else:
        if event.name not in METHODS or not _is_logger(event, view):
            return
        what = f"{view.text(event.value, whole=True)}.{event.name}"
    line = compiled_at(event, view)
    if not line:
        return
    yield Hit(
        event.span,
        f"{what}() inside code compiled at line {line} breaks the graph in two",
        Confidence.LIKELY,
        related=(Related(view.facts.path, line, "compiled here"),),
    )


def _is_logger(event: Event, view: ModuleView) -> bool:
    return any(
        atom.value is not None
        and atom.value[0] == "call"
        and atom.value[1] is not None
        and atom.value[1][0] == "ref"
        and atom.value[1][1] in _LOGGERS
        for atom in view.follow(event.value)
    )
