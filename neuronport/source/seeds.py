"""Seeds given twice: to PyTorch, and to one device."""

from __future__ import annotations

from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

_ANEW = ("torch.cuda.seed", "torch.cuda.seed_all")
_ALL_ANEW = ("torch.seed", "torch.random.seed")
"""Without a seed that is given."""
_NAMES = ("torch.cuda.manual_seed", "torch.cuda.manual_seed_all")
_SAME = (("ref", "builtins.str"), ("ref", "builtins.int"))
_ALL = ("torch.manual_seed", "torch.random.manual_seed")


_SEEDS = frozenset((*_NAMES, *_ANEW))
_BESIDE = ("torch.backends.cudnn.", *_ALL, *_ALL_ANEW)
ALSO = frozenset(f"api/{name}" for name in (*_NAMES, *_ANEW))
"""Rows of what ``torch.manual_seed`` or ``torch.seed`` does as well."""


def is_seeded(event: Event, view: ModuleView) -> bool:
    """Whether ``torch.manual_seed`` gets the same seed in the same function, wherever that runs."""
    if event.kind != "use" or event.role != "call":
        return False
    ctx = view.ctx(event)
    anew = event.name in _ANEW
    seed = _plain(view.argument(event, "seed", 0))
    return (anew or seed is not None) and any(
        other.kind == "use"
        and other.name in (_ALL_ANEW if anew else _ALL)
        and other.role == "call"
        and (anew or _plain(view.argument(other, "seed", 0)) == seed)
        and view.ctx(other).scope == ctx.scope
        and ctx.guards[: len(view.ctx(other).guards)] == view.ctx(other).guards
        for other in view.facts.events
    )


def _plain(seed: Value) -> Value:
    """``int(seed)`` is the seed."""
    if seed is None or seed[0] != "call" or len(seed[2]) != 1 or seed[1] not in _SAME:
        return seed
    inner: Value = seed[2][0]
    return inner


def only_seeds(event: Event, view: ModuleView) -> bool:
    """Whether nothing depends on a question but seeds that Neuron gets all the same, and settings of
    cuDNN's."""
    guards = {
        i
        for i in view.guards_at.get(event.at[0], ())
        if view.truth.skipped(view.summary, view.facts.guards[i])
    }
    if not guards:
        return False
    inside = [
        other
        for other in view.facts.events
        if other.kind in ("use", "method", "str") and not guards.isdisjoint(view.ctx(other).guards)
    ]
    seeded = [other for other in inside if other.name in _SEEDS and is_seeded(other, view)]
    return bool(seeded) and all(
        other in seeded or (other.kind == "use" and other.name.startswith(_BESIDE))
        for other in inside
    )
