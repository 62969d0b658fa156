"""Seeds given twice: to PyTorch, and to one device."""

from __future__ import annotations

from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

ALSO = frozenset(("api/torch.cuda.manual_seed", "api/torch.cuda.manual_seed_all"))
"""Rows of what ``torch.manual_seed`` does as well."""
_NAMES = ("torch.cuda.manual_seed", "torch.cuda.manual_seed_all")
_ALL = ("torch.manual_seed", "torch.random.manual_seed")


def is_seeded(event: Event, view: ModuleView) -> bool:
    """Whether ``torch.manual_seed`` gets the same seed in the same function, wherever that runs."""
    if event.kind != "use" or event.role != "call":
        return False
    ctx, seed = view.ctx(event), view.argument(event, "seed", 0)
    return seed is not None and any(
        other.kind == "use"
        and other.name in _ALL
        and other.role == "call"
        and view.argument(other, "seed", 0) == seed
        and view.ctx(other).scope == ctx.scope
        and ctx.guards[: len(view.ctx(other).guards)] == view.ctx(other).guards
        for other in view.facts.events
    )


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
    seeded = [other for other in inside if other.name in _NAMES and is_seeded(other, view)]
    return bool(seeded) and all(
        other in seeded
        or (other.kind == "use" and other.name.startswith(("torch.backends.cudnn.", *_ALL)))
        for other in inside
    )
