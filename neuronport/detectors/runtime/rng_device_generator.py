"""A random generator on the device: ``torch.Generator(device="cuda")``, and what draws from it."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence, Related, weakest
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

EVENTS = ("use",)
ROOTS = ("torch",)
_NAMES = ("randn", "rand", "randint", "randperm", "normal", "randn_like", "rand_like")
_DRAWS = frozenset(f"torch.{name}" for name in _NAMES)
ONLY = frozenset(("Generator", *_NAMES))


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.role != "call":
        return
    name = view.index.canonical(event.name, view.summary)
    if name == "torch.Generator":
        found = _device(view.argument(event, "device", 0), view)
        if found is not None:
            confidence, chain = found
            yield Hit(event.span, "a generator on the device", confidence, related=chain)
    elif name in _DRAWS:
        source = view.argument(event, "generator")
        if source is None or source == ("const", None):
            return
        where = view.argument(event, "device")
        placed = _device(where, view) if where is not None else None
        made = _generator(source, view)
        if made is not None:
            confidence, chain = made
            message = f"{name} draws from a generator on the device"
            yield Hit(event.span, message, confidence, related=chain)
        elif placed is not None and placed[0] is not Confidence.POSSIBLE:
            message = f"{name} draws on the device, where no generator can be"
            yield Hit(event.span, message, Confidence.POSSIBLE, related=placed[1])


def _device(value: Value, view: ModuleView) -> tuple[Confidence, tuple[Related, ...]] | None:
    """How surely a device is an accelerator; None: it is the host, or none is given."""
    if value is None or (value[0] == "const" and value[1] is None):
        return None
    best: tuple[Confidence, tuple[Related, ...]] | None = None
    for atom in view.follow(value):
        inner = atom.value
        if inner is not None and inner[0] == "call" and inner[1] == ("ref", "torch.device"):
            inner = inner[2][0] if inner[2] else None
        if inner is not None and inner[0] == "fstr":
            inner = inner[1][0] if inner[1] else None
        if inner is not None and inner[0] == "const":
            text = inner[1]
            if isinstance(text, str) and text.partition(":")[0] in ("cuda", "neuron", "gpu"):
                return Confidence.CERTAIN, atom.chain
            continue
        if inner is not None and inner[0] == "attr" and inner[2] == "device":
            # ``accelerator.device``, ``model.device``: where the work is done.
            best = Confidence.LIKELY, atom.chain
        elif best is None:
            best = Confidence.POSSIBLE, atom.chain
    return best


def _generator(value: Value, view: ModuleView) -> tuple[Confidence, tuple[Related, ...]] | None:
    atoms = view.follow(value)
    for atom in atoms:
        inner = atom.value
        while inner is not None and inner[0] == "call" and inner[1] is not None:
            func = inner[1]
            if func[0] == "attr" and func[2] == "manual_seed":
                # ``Generator(…).manual_seed(seed)`` is the generator.
                inner = func[1]
                continue
            if func == ("ref", "torch.Generator"):
                given = {k: v for k, v in inner[3] if k}
                device = inner[2][0] if inner[2] else given.get("device")
                found = _device(device, view)
                if found is not None:
                    # One of several values: which it is was decided elsewhere.
                    sure = found[0] if len(atoms) == 1 else weakest(found[0], Confidence.LIKELY)
                    return sure, atom.chain
            break
    return None
