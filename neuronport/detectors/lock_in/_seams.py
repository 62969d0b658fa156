"""What counts as a seam, shared by the rules of this area: a place made for one accelerator, that
the rest of the program passes by on others."""

from __future__ import annotations

import re

from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

_ABOUT = re.compile(r"neuron|xla|tpu|trainium|inferentia|trn\d|inf\d", re.I)
_CHOOSES = re.compile(
    r"(get|pick|choose|select|resolve|default|current|infer)\w*device|accelerator", re.I
)


def behind_seam(event: Event, view: ModuleView) -> bool:
    """Whether the place is only reached, or only there, for the accelerator it names: under a
    condition about it, in a caught import, or in a file, class or function named for it."""
    if event.kind == "import" and view.import_is_guarded(event):
        return True
    if any(_ABOUT.search(view.text(g.test)) for g in view.guards(event) if g.kind != "decorator"):
        return True
    scope = view.scope(event)
    if _ABOUT.search(scope) or _CHOOSES.search(scope):
        return True
    return bool(_ABOUT.search(view.facts.path.rpartition("/")[2]))


def how_sure(view: ModuleView) -> Confidence:
    """A program for Neuron alone may mean to be that; one that also knows CUDA is tied by it."""
    knows = view.once("knows CUDA", lambda: _knows_cuda(view))
    return Confidence.LIKELY if knows else Confidence.POSSIBLE


def _knows_cuda(view: ModuleView) -> bool:
    return any(
        (e.kind == "use" and e.name.startswith("torch.cuda"))
        or (e.kind == "str" and e.name.startswith("cuda"))
        for e in view.facts.events
    )
