"""``fully_shard(model)`` and ``torch.compile(model)`` on the same model as a whole."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence, Related
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

EVENTS = ("use",)
ONLY = ("fully_shard",)
METHODS = ("compile",)
_SHARDS = frozenset(
    [
        "torch.distributed.fsdp.fully_shard",
        "torch.distributed._composable.fsdp.fully_shard",
        "torch.distributed._composable.fsdp.fully_shard.fully_shard",
    ]
)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.role != "call" or not event.name.endswith("fully_shard") or not event.args:
        return
    if view.index.canonical(event.name, view.summary) not in _SHARDS:
        return
    what = event.args[0]
    scope = view.ctx(event).scope
    if view.ctx(event).loops or what is None:
        return  # one block after another
    name = _name(what, view)
    if not name:
        return
    for other in view.facts.events:
        if view.ctx(other).scope != scope:
            continue
        if other.kind == "use" and other.role == "call" and other.args:
            if view.index.canonical(other.name, view.summary) != "torch.compile":
                continue
            compiled: Value = other.args[0]
        elif other.kind == "method" and other.name == "compile":
            compiled = other.value
        else:
            continue
        if view.ctx(other).loops or _name(compiled, view) != name:
            continue
        yield Hit(
            other.span,
            f"{name} is sharded as a whole (line {event.span.line}) and compiled as a whole",
            Confidence.LIKELY,
            related=(Related(view.facts.path, event.span.line, "sharded here"),),
        )
        return


def _name(value: Value, view: ModuleView) -> str:
    """The name a model goes by in its function: assignments to it keep it the same model."""
    if value is None:
        return ""
    if value[0] == "v":
        return view.summary.definitions[value[1]].name
    if value[0] == "param":
        return str(value[2])
    if value[0] in ("ref", "attr"):
        return view.text(value)
    if value[0] == "any":
        return _name(value[1][0], view)
    return ""
