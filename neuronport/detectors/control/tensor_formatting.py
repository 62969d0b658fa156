"""Tensors turned into text: ``print(t)``, f-strings, ``str(t)``, loggers and metric writers."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
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


def _inside(event: Event) -> list[Value]:
    """The arguments, and what a dictionary of metrics holds."""
    values: list[Value] = []
    for value in (*(event.args or ()), *(v for _, v in event.kwargs)):
        if value is not None and value[0] == "dict":
            values += [item for _, item in value[1]]
        else:
            values.append(value)
    return values
