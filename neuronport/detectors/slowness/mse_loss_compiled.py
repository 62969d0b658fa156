"""``F.mse_loss`` in a program that is compiled."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import LIKELY, POSSIBLE, torch_call
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

EVENTS = ("use",)
ROOTS = ("torch",)
ONLY = ("mse_loss", "MSELoss")
_NAMES = frozenset(("torch.nn.functional.mse_loss", "torch.nn.MSELoss"))


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    name = torch_call(event, view)
    if name not in _NAMES:
        return
    compiles, compiled = view.once("mse-loss-compiled", lambda: _compiled(view))
    if not compiles:
        return
    inside = _is_inside(view.scope(event), name == "torch.nn.MSELoss", compiled)
    yield Hit(
        event.span,
        "the gradient of mse_loss failed in a compiled graph"
        + ("" if inside else ": only where the loss is part of what is compiled"),
        LIKELY if inside else POSSIBLE,
        paths=("native",),
        replacement=_written_out(event, view),
    )


def _written_out(event: Event, view: ModuleView) -> str:
    known, reduction = view.constant(view.argument(event, "reduction"))
    if not known or reduction is None:
        return ""
    return {"none": "(a - b) ** 2", "sum": "((a - b) ** 2).sum()"}.get(str(reduction), "")


def _is_inside(scope: str, is_made: bool, compiled: frozenset[str]) -> bool:
    """Whether a function is compiled; a loss that is made in a constructor is called by the methods
    of its class."""
    if any(scope == name or scope.startswith(f"{name}.") for name in compiled):
        return True
    owner, _, method = scope.rpartition(".")
    return is_made and method == "__init__" and any(n.startswith(f"{owner}.") for n in compiled)


def _compiled(view: ModuleView) -> tuple[bool, frozenset[str]]:
    """Whether a module compiles anything, and its functions, as ``Class.method``, that are compiled or
    called by what is."""
    facts = view.facts
    found: set[str] = set()
    compiles = False
    for event in facts.events:
        if event.kind != "use" or event.name != "torch.compile":
            continue
        compiles = True
        value = event.args[0] if event.args else None
        found.update(_named(value, view.scope(event), view))
        if event.role == "call" and value is not None and value[0] in ("v", "param"):
            for atom in view.follow(value):
                found.update(_named(atom.value, view.scope(event), view))
    if not compiles:
        return False, frozenset()
    start = len(facts.module) + 1
    for name, function in facts.functions.items():
        if any(_is_compile(d) for d in function.decorators):
            found.add(name[start:])
    waiting = list(found)
    while waiting:
        scope = waiting.pop()
        for callee, *_ in facts.calls.get(f"{facts.module}.{scope}", ()):
            for name in _named(callee, scope, view):
                if name not in found:
                    found.add(name)
                    waiting.append(name)
    return True, frozenset(found)


def _is_compile(decorator: Value) -> bool:
    if decorator is not None and decorator[0] == "call":
        decorator = decorator[1]
    return decorator is not None and decorator[0] == "ref" and decorator[1] == "torch.compile"


def _named(value: Value, scope: str, view: ModuleView) -> tuple[str, ...]:
    """The functions of this module that a value is: a function, a method of ``self``, the forward of
    an instance of a class."""
    if value is None:
        return ()
    start = f"{view.facts.module}."
    if value[0] == "ref" and value[1].startswith(start):
        return (value[1][len(start) :],)
    if value[0] == "attr" and value[1] is not None and value[1][0] == "self":
        return (f"{scope.rpartition('.')[0]}.{value[2]}",)
    if value[0] != "call" or value[1] is None or value[1][0] != "ref":
        return ()
    made = str(value[1][1])
    return (f"{made[len(start) :]}.forward",) if made.startswith(start) else ()
