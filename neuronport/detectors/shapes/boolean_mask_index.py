"""Reading by a mask: ``x[x > 0]``, ``hidden[labels != -100]``."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.shapes._indexing import indices, masked_item
from neuronport.findings import Confidence, Verdict, weakest
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

EVENTS = ("item",)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.name != "load" or event.at in view.once("items stored", lambda: _stored(view)):
        return  # ``x[mask] += 1`` reads and writes: the writing is spoken of
    sure = masked_item(event, view)
    if sure is None:
        return
    if any(_one_each(index, view, 0) for index in indices(event)):
        yield Hit(
            event.span,
            f"{view.text(event.value)} is read by a mask of one-hot rows: as many elements are left "
            "every time, but the indices are made first, with a read of how many there are",
            weakest(sure, Confidence.LIKELY),
            verdict=Verdict.SYNCS,
            verdict_on=("native",),
            replacement="x.gather(1, index[:, None]) for the marked ones; x.masked_fill(mask, -inf) "
            "before the largest of the others",
        )
    elif _is_fixed(event, view):
        yield Hit(
            event.span,
            f"{view.text(event.value)} is read by a mask, and the result has a fixed shape: the indices are "
            "made first, with a read of how many there are",
            weakest(sure, Confidence.LIKELY),
            verdict=Verdict.SYNCS,
            verdict_on=("native",),
            replacement="where as many stand together in every row: x.gather(1, start[:, None] + "
            "torch.arange(n)); else indices that topk with that number makes of the mask",
        )
    else:
        yield Hit(
            event.span,
            f"{view.text(event.value)} is read by a mask: the data decides how many elements are left",
            weakest(sure, Confidence.LIKELY),  # that this is a mask is told from how it was made
        )


_MAX_DEPTH = 6
_SAME = ("bool", "to", "type", "byte", "eq", "type_as")


def _one_each(value: Value, view: ModuleView, depth: int) -> bool:
    """Whether a mask marks one element of each row, or all but one."""
    if value is None or depth > _MAX_DEPTH:
        return False
    tag = value[0]
    if tag == "v":
        return _one_each(view.summary.definitions[value[1]].value, view, depth + 1)
    if tag in ("invert", "not"):
        return _one_each(value[1], view, depth + 1)
    if tag == "cmp":  # ``F.one_hot(index, n) > 0.5``
        return (
            value[3] is not None and value[3][0] == "const" and _one_each(value[1], view, depth + 1)
        )
    if tag != "call" or value[1] is None:
        return False
    func = value[1]
    if func[0] == "attr":
        if func[2] in ("scatter", "scatter_"):
            return len(value[2]) > 2 and value[2][2] == ("const", 1)  # or 1.0, or True
        return func[2] in _SAME and _one_each(func[1], view, depth + 1)
    return func[0] == "ref" and func[1].rpartition(".")[2] in ("one_hot", "to_onehot")


_SHAPED = ("reshape", "view")


def _is_fixed(event: Event, view: ModuleView) -> bool:
    """Whether what is read is given a shape at once in which no size is left open."""
    index = event.args[0] if event.args else None
    return ("item", event.value, index) in view.once("read and shaped", lambda: _shaped(view))


def _shaped(view: ModuleView) -> set[Value]:
    found: set[Value] = set()
    for definition in view.facts.definitions:
        _find_shaped(definition.value, found, view)
    for function in view.facts.functions.values():
        for value in function.returns:
            _find_shaped(value, found, view)
    return found


def _find_shaped(value: Value, found: set[Value], view: ModuleView) -> None:
    """The subscripts that a value shapes in its chain of calls: ``x[mask].view(b, n)``."""
    for _ in range(_MAX_DEPTH):
        if value is None or value[0] != "call" or value[1] is None or value[1][0] != "attr":
            return
        func = value[1]
        base = func[1]
        if base is not None and base[0] == "item" and func[2] in _SHAPED:
            sizes = value[2]
            if len(sizes) == 1 and sizes[0] is not None and sizes[0][0] in ("tuple", "list"):
                sizes = sizes[0][1]
            # One size alone, or one that is not known, may be what the data says.
            if len(sizes) > 1 and all(_is_size(size, view) for size in sizes):
                found.add(base)
        value = base


def _is_size(value: Value, view: ModuleView, depth: int = 0) -> bool:
    """Whether a size is known to the host whatever the data is: a literal, an argument, a shape."""
    if value is None or depth > _MAX_DEPTH:
        return False
    tag = value[0]
    if tag == "const":
        return type(value[1]) is int and value[1] >= 0
    if tag == "v":
        return _is_size(view.summary.definitions[value[1]].value, view, depth + 1)
    if tag == "bin":
        return all(_is_size(side, view, depth + 1) for side in value[2:])
    if tag in ("item", "unpack"):
        return _is_shape(value[1])
    if tag == "attr":
        return value[1] is not None and value[1][0] == "self"
    return tag == "param" or _is_shape(value)


def _is_shape(value: Value) -> bool:
    if value is None:
        return False
    if value[0] == "call":
        return value[1] is not None and value[1][0] == "attr" and value[1][2] == "size"
    return bool(value[0] == "attr" and value[2] == "shape")


def _stored(view: ModuleView) -> set[tuple[int, int, int, int]]:
    return {e.at for e in view.facts.events if e.kind == "item" and e.name == "store"}
