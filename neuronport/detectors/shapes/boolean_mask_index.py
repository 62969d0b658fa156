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
    if tag != "call" or value[1] is None:
        return False
    func = value[1]
    if func[0] == "attr":
        if func[2] in ("scatter", "scatter_"):
            return len(value[2]) > 2 and value[2][2] == ("const", 1)  # or 1.0, or True
        return func[2] in _SAME and _one_each(func[1], view, depth + 1)
    return func[0] == "ref" and func[1].rpartition(".")[2] in ("one_hot", "to_onehot")


def _stored(view: ModuleView) -> set[tuple[int, int, int, int]]:
    return {e.at for e in view.facts.events if e.kind == "item" and e.name == "store"}
