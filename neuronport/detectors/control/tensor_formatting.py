"""Tensors turned into text: ``print(t)``, f-strings, ``str(t)``, loggers and metric writers."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import call_value
from neuronport.detectors.control._waits import reached, tensor
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

EVENTS = ("use", "method", "format")
METHODS = frozenset(
    (
        "info",
        "debug",
        "warning",
        "error",
        "add_scalar",
        "add_scalars",
        "add_histogram",
        "log_metric",
    )
)
ROOTS = ("wandb", "mlflow", "logging")
ONLY = METHODS | {"print", "str", "repr", "format", "f-string", "log", "log_metrics"}
_BUILTINS = frozenset(("builtins.print", "builtins.str", "builtins.repr", "builtins.format"))
_FUNCTIONS = frozenset(
    [
        "wandb.log",
        "mlflow.log_metric",
        "mlflow.log_metrics",
        "logging.info",
        "logging.debug",
        "logging.warning",
        "logging.error",
    ]
)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.kind == "format":
        values, how = [event.value], "an f-string"
    elif event.kind == "use":
        if event.role != "call" or (event.name not in _BUILTINS and event.name not in _FUNCTIONS):
            return
        values, how = _inside(event), event.name.removeprefix("builtins.")
    elif event.name in METHODS:
        values, how = _inside(event), f"{view.text(event.value, whole=True)}.{event.name}"
    else:
        return
    text = event.kind == "format" or event.name in _BUILTINS
    if text and _names_something(event, view):
        return
    for value in values:
        sure = tensor(view, value)
        if sure is None:
            continue
        place = reached(event, view, sure)
        if place is not None:
            confidence, why = place
            if any(tensor(view, guard.test) for guard in view.guards(event)):
                confidence = Confidence.POSSIBLE  # the test has waited, and seldom leads here
            yield Hit(
                event.span,
                f"{how} needs the value of {view.text(value)}: the host waits for the device, {why}",
                confidence,
            )
        return


_BY_NAME = frozenset(
    [
        "builtins.getattr",
        "builtins.setattr",
        "builtins.hasattr",
        "builtins.delattr",
        "add_module",
        "register_buffer",
        "register_module",
        "register_parameter",
        "get",
        "pop",
        "setdefault",
        "startswith",
        "endswith",
        "open",
        "join",
    ]
)
"""What is given the name of something."""


def _names_something(event: Event, view: ModuleView) -> bool:
    """Whether a text names something, an attribute or a key: what numbers it is no tensor."""
    value = event.value if event.kind == "format" else call_value(event)
    for call in view.calls_at.get(event.at[0], ()):
        if call.name in _BY_NAME and any(_has(item, value, 0) for item in (call.args or ())[:2]):
            return True
    keys = view.once("keys by line", lambda: _keys(view)).get(event.at[0], ())
    return any(_has(key, value, 0) for key in keys)


def _keys(view: ModuleView) -> dict[int, list[Value]]:
    """What something is looked up by, or kept by, by line."""
    found: dict[int, list[Value]] = {}
    for event in view.facts.events:
        if event.kind == "item" and event.args and event.args[0] is not None:
            found.setdefault(event.at[0], []).append(event.args[0])
    return found


def _has(value: Value, part: Value, depth: int) -> bool:
    """Whether a text is made with a value."""
    if value is None or depth > 4:
        return False
    if value == part:
        return True
    if value[0] == "fstr":
        return any(_has(inner, part, depth + 1) for inner in value[1])
    if value[0] == "bin":
        return any(_has(inner, part, depth + 1) for inner in value[2:])
    return False


def _inside(event: Event) -> list[Value]:
    """The arguments, and what a dictionary of metrics holds."""
    values: list[Value] = []
    for value in (*(event.args or ()), *(v for _, v in event.kwargs)):
        if value is not None and value[0] == "dict":
            values += [item for _, item in value[1]]
        else:
            values.append(value)
    return values
