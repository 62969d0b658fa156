"""Rules that need code: ``detectors/<area>/<rule id with underscores>.py``, found by being there.

A detector is a module with

``EVENTS``    the kinds of events it is shown (see ``readers.python.facts.Event``)
``check``     ``(event, view) -> Iterator[Hit]``

and, so that the reader emits what it needs, any of ``STRINGS`` (a regular expression for string
constants), ``METHODS`` (method and attribute names), ``KEYWORDS`` (keyword arguments of any call),
``NAMES`` (parameters, fields, attributes), ``MODULES`` (a regular expression for dotted names of
packages no rule names), ``ROOTS`` (first parts of dotted names),
``OPERANDS`` (methods whose results matter in arithmetic). ``ONLY``, a set of
names (for dotted names: their last part) or a table of sets by kind of event, spares it events of
other names, and time; ``WITH`` is the keywords with which it wants calls of any name, ``PATTERN`` a
regular expression for dotted names it wants besides; ``speaks_of(kind, name)`` says so itself, once
for each name. What is known
about Neuron stays in the rule's TOML file; a detector only finds the places.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from neuronport.findings import Confidence, Related, TargetVerdict, Verdict

if TYPE_CHECKING:
    from neuronport.readers.python.facts import Event, Span
    from neuronport.source.view import ModuleView
    from neuronport.targets import Target


Answer: TypeAlias = "Callable[[Target], TargetVerdict | None]"


@dataclass(frozen=True, slots=True)
class Hit:
    """A place where a rule speaks."""

    span: Span
    message: str
    confidence: Confidence = Confidence.CERTAIN
    """How well the place was understood."""
    verdict: Verdict | None = None
    """In place of the rule's verdict on every target it has one for."""
    verdict_on: tuple[str, ...] = ()
    """Only on these paths; empty: on all."""
    related: tuple[Related, ...] = ()
    group: str = ""
    replacement: str = ""
    guarded: bool = True
    """Whether a guard that skips the place on Neuron weakens the verdict."""
    paths: tuple[str, ...] = ()
    """Only on these paths; empty: all the rule has."""
    answer: Answer | None = None
    """Judges each target itself, in place of the rule's verdicts and evidence: for rules whose
    knowledge is a table of its own. ``None`` for a target: nothing to say there."""
    asks: tuple[Hashable, ...] = ()
    """What ``answer`` depends on besides the target, so that the same is asked once; empty: not said."""


Check = Callable[["Event", "ModuleView"], Iterable[Hit]]


@dataclass(frozen=True)
class Detector:
    rule: str
    area: str
    events: frozenset[str]
    check: Check
    strings: str = ""
    modules: str = ""
    methods: frozenset[str] = field(default_factory=frozenset)
    keywords: frozenset[str] = field(default_factory=frozenset)
    names: frozenset[str] = field(default_factory=frozenset)
    roots: frozenset[str] = field(default_factory=frozenset)
    operands: frozenset[str] = field(default_factory=frozenset)
    only: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Kind of event → the names it is shown; kinds left out: every name."""
    with_: frozenset[str] = field(default_factory=frozenset)
    """Keywords with which it is shown calls of any name."""
    pattern: str = ""
    """A regular expression for dotted names it is shown besides."""
    speaks_of: Callable[[str, str], bool] | None = None
    """Whether it has anything to say of events of a kind and name (canonical where it is dotted)."""


@cache
def all_detectors() -> Mapping[str, Detector]:
    """Every detector by the id of its rule."""
    found: dict[str, Detector] = {}
    for area in pkgutil.iter_modules(__path__):
        if not area.ispkg:
            continue
        package = importlib.import_module(f"{__name__}.{area.name}")
        for info in pkgutil.iter_modules(package.__path__):
            if info.name.startswith("_"):
                continue
            module: Any = importlib.import_module(f"{package.__name__}.{info.name}")
            rule = info.name.replace("_", "-")
            found[rule] = Detector(
                rule,
                area.name,
                frozenset(module.EVENTS),
                module.check,
                getattr(module, "STRINGS", ""),
                getattr(module, "MODULES", ""),
                frozenset(getattr(module, "METHODS", ())),
                frozenset(getattr(module, "KEYWORDS", ())),
                frozenset(getattr(module, "NAMES", ())),
                frozenset(getattr(module, "ROOTS", ())),
                frozenset(getattr(module, "OPERANDS", ())),
                _only(module),
                frozenset(getattr(module, "WITH", ())),
                getattr(module, "PATTERN", ""),
                getattr(module, "speaks_of", None),
            )
    return found


def _only(module: Any) -> Mapping[str, frozenset[str]]:
    names = getattr(module, "ONLY", None)
    if names is None:
        return {}
    if isinstance(names, Mapping):
        return {kind: frozenset(of_kind) for kind, of_kind in names.items()}
    return dict.fromkeys(module.EVENTS, frozenset(names))
