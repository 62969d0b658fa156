"""Where a choice of CUDA goes: the places that take their device from a choice made elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from neuronport.findings import Related
from neuronport.readers.python.facts import Event, Value
from neuronport.source.changed import Moved
from neuronport.source.values import Atom
from neuronport.source.view import ModuleView

_CUDA = re.compile(r"\s*cuda(:.*)?\s*$")
_NAMED = re.compile(r"device|^_?dev$|map_location", re.I)
"""Attributes that hold a device."""
_SETTINGS = re.compile(r"arg|opt|conf|cfg|flag|param|setting|self|state|ctx|hps?$", re.I)
"""Names of what a device may be an attribute of, and is not a tensor's or a module's own."""
_ASKED = re.compile(r"cuda|gpu", re.I)
"""Parameters that say whether there is CUDA."""
_AVAILABLE = ("ref", "torch.cuda.is_available")
_KEYWORDS = ("device", "map_location")
_FUNCTION = 60
"""Lines of a function within which what it returns is looked for; where it ends is not for others."""
_STATEMENT = 4
"""Likewise of a statement, from its first line."""


class Reach(NamedTuple):
    """A place of the module, and the lines of another place on which its device depends."""

    path: str
    first: int
    last: int
    """Where the choice is: in the lines ``first`` to ``last`` of ``path``."""
    line: int
    says: str

    def moved(self, moved: Moved) -> Reach:
        """With the lines that the choice has now. Raises Untraceable."""
        first, last = moved.lines(self.path, self.first, self.last)
        return self._replace(first=first, last=last)


def reaches(view: ModuleView) -> list[Reach]:
    """The places of a module that take a device which is chosen elsewhere; sorted."""
    found: set[Reach] = set()
    here = view.facts.path
    for event in view.facts.events:
        for value, says in _devices(event):
            if not _may_lead_elsewhere(value, view):
                continue
            for atom in view.follow(value):
                for path, first, last in _origins(atom, view, 0):
                    if (path, first) != (here, event.at[0]):
                        found.add(Reach(path, first, last, event.at[0], says))
    return sorted(found)


def _devices(event: Event) -> list[tuple[Value, str]]:
    """The values that are devices at an event, and what is done with them there."""
    kind = event.kind
    found: list[tuple[Value, str]] = []
    if kind == "method" or kind == "callkw" or (kind == "use" and event.role == "call"):
        if event.args:
            if kind == "method" and event.name == "to":
                found.append((event.args[0], "given to .to()"))
            elif kind == "use" and event.name == "torch.device":
                found.append((event.args[0], "given to torch.device()"))
        for key, value in event.kwargs:
            if key in _KEYWORDS:
                found.append((value, f"{key} of {_called(event)}"))
    elif kind == "str" and _CUDA.match(event.name):
        role = event.role
        if role and role[0] == "compare" and role[2] is not None:
            other = role[2]
            whole = other[0] == "attr" and other[2] == "type"
            found.append((other[1] if whole else other, "compared"))
        elif role and role[0] == "method" and role[2] == "startswith":
            found.append((role[1], "compared"))
    elif kind == "test":
        # What a variable or an attribute says is a finding of its own: cuda-availability-gate.
        value = event.value
        if value is not None and value[0] == "param" and _ASKED.search(value[2]):
            found.append((value, "asks what was chosen"))
    return found


def _called(event: Event) -> str:
    """What is called, in words."""
    if event.kind == "callkw":
        return "a call"
    return f".{event.name}()" if event.kind == "method" else f"{event.name.rpartition('.')[2]}()"


def _may_lead_elsewhere(value: Value, view: ModuleView) -> bool:
    """Whether following a value can lead to a choice: most devices are those of a tensor."""
    if value is None:
        return False
    if value[0] == "attr":
        base = value[1]
        if base is None or not _NAMED.search(value[2]):
            return False
        if base[0] == "self":
            return True
        if base[0] == "param":
            return bool(_SETTINGS.search(base[2]))
        if base[0] == "v":
            return bool(_SETTINGS.search(view.summary.definitions[base[1]].name))
        return base[0] in ("attr", "ref") and bool(_SETTINGS.search(str(base[-1])))
    if value[0] == "call":
        return value[1] is not None and value[1][0] in ("ref", "attr")
    return value[0] in ("v", "param", "ref", "star", "item", "any", "bool")


def _returns_to_its_caller(chain: Sequence[Related], here: str) -> bool:
    """Whether a value can have come this way: what a function of the tree returns to one caller is
    not made of what another passes it."""
    entered: list[str] = []
    path = here
    for step in chain:
        if step.says.startswith("returned"):
            entered.append(path)
        elif step.says.startswith("passed") and entered and entered.pop() != step.path:
            return False
        path = step.path
    return True


def _origins(atom: Atom, view: ModuleView, depth: int) -> Iterator[tuple[str, int, int]]:
    """Path and lines of the choices of CUDA that an atom is."""
    value = atom.value
    if value is not None and value[0] == "call" and value[1] == _AVAILABLE and atom.chain:
        yield atom.module.path, value[4], value[4] + _STATEMENT
        return
    if value is None or depth > 3 or not _returns_to_its_caller(atom.chain, view.facts.path):
        return
    if value[0] == "attr" and value[2] == "type":
        for further in view.resolver.follow(atom.module, value[1]):
            way = (*atom.chain, *further.chain)
            yield from _origins(Atom(further.module, further.value, way), view, depth + 1)
        return
    if value[0] == "call" and value[1] == ("ref", "torch.device") and value[2]:
        inner, line = value[2][0], value[4]
        if _is_cuda(inner) or (inner is not None and inner[0] == "if"):
            for part in inner[2:] if inner[0] == "if" else (inner,):
                if _is_cuda(part):
                    yield atom.module.path, line, line + _STATEMENT
                    return
        for further in view.resolver.follow(atom.module, inner):
            if further.chain:
                way = (*atom.chain, *further.chain)
                yield from _origins(Atom(further.module, further.value, way), view, depth + 1)
            elif _is_cuda(further.value):
                yield atom.module.path, line, line + _STATEMENT
        return
    if not _is_cuda(value) or not atom.chain:
        return
    step = atom.chain[-1]
    if step.says.startswith("returned"):
        end = min(
            (f.line for f in atom.module.functions.values() if f.line > step.line),
            default=step.line + _FUNCTION,
        )
        yield step.path, step.line, min(end - 1, step.line + _FUNCTION)
    else:
        yield step.path, step.line, step.line + _STATEMENT


def _is_cuda(value: Value) -> bool:
    if value is None:
        return False
    if value[0] == "const":
        return isinstance(value[1], str) and bool(_CUDA.match(value[1]))
    if value[0] == "fstr" and value[1]:
        first = value[1][0]
        return first is not None and first[0] == "const" and str(first[1]).startswith("cuda")
    return False
