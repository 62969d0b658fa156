"""Which row of the API tables speaks at an event, and how surely."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from neuronport.detectors.device._strings import asks_given
from neuronport.findings import Confidence, weakest
from neuronport.readers.python.facts import Event, Value
from neuronport.rulebook.model import Condition, Rulebook, Spec
from neuronport.source import versions
from neuronport.source.environment import variables
from neuronport.source.kinds import UNKNOWN
from neuronport.source.processes import programs
from neuronport.source.view import ModuleView

CLASS_KINDS = {
    "torch.Tensor": "tensor",
    "torch.nn.Module": "module",
    "torch.optim.Optimizer": "optimizer",
    "torch.utils.data.DataLoader": "loader",
    "torch.Generator": "generator",
    "torch.device": "device",
}
"""Classes whose instances the reader tells apart by kind."""


class Matched:
    """A row that speaks at an event."""

    __slots__ = ("confidence", "excused", "imported", "member", "name", "spec")

    def __init__(
        self,
        spec: Spec,
        name: str,
        confidence: Confidence,
        imported: bool,
        excused: str = "",
        member: Spec | None = None,
    ) -> None:
        self.spec = spec
        self.name = name
        """The name at the place, canonical."""
        self.confidence = confidence
        self.imported = imported
        """The name is only imported here; its uses are judged where they are."""
        self.excused = excused
        """Why nothing fails here although the verdict says so; empty: it does."""
        self.member = member
        """The row of what is imported from a package, where the package's row speaks."""


_VERSION = "torch.version.cuda"
_MAX_CHOICES = 8
_OPTIONS = frozenset(
    ("cuda", "cpu", "half", "bfloat16", "float", "double", "compile", "pin_memory", "share_memory")
)
"""Methods whose names options have as well: to read one is no call."""
_OUTSIDE = frozenset(("str", "item", "pair"))
"""Kinds of events that name environment variables and commands."""


def may_match(kind: str, name: str, book: Rulebook) -> bool:
    """Whether any row could speak at an event of a kind with this (canonical) name."""
    if kind == "use":
        return bool(candidates(name, book))
    if kind in ("method", "attr"):
        return name in book.methods
    return kind == "import" or (kind in _OUTSIDE and bool(book.outside))


def matches(event: Event, view: ModuleView, book: Rulebook) -> Iterator[Matched]:
    """The rows that speak at an event."""
    kind = event.kind
    if kind == "use":
        yield from _uses(event, view, book)
    elif kind in ("method", "attr"):
        yield from _methods(event, view, book)
    elif kind == "import":
        yield from _imports(event, view, book)
    if kind in _OUTSIDE and book.outside:
        yield from _outside(event, view, book)


def candidates(dotted: str, book: Rulebook) -> Sequence[Spec]:
    """The rows for a dotted name: the longest that match; ``name.*`` after exact ones."""
    found = book.found.get(dotted)
    if found is None:
        found = book.found[dotted] = _candidates(dotted, book)
    return found


def _candidates(dotted: str, book: Rulebook) -> Sequence[Spec]:
    head = dotted
    exact = book.exact.get(head)
    if exact:
        return exact
    while True:
        parent, _, _ = head.rpartition(".")
        if not parent:
            return ()
        prefixed = book.prefixes.get(parent)
        if prefixed:
            return prefixed
        exact = book.exact.get(parent)
        if exact and parent.rpartition(".")[2][:1].isupper():
            # An attribute of a class that has a row: ``torch.cuda.Event.from_ipc_handle``.
            return exact
        head = parent


def _uses(event: Event, view: ModuleView, book: Rulebook) -> Iterator[Matched]:
    dotted = view.index.canonical(event.name, view.summary)
    called = event.role in ("call", "decorator")
    plain: list[Spec] = []
    spoke = False
    last = dotted.rpartition(".")[2]
    if last[:2] == "__" and last[-2:] == "__":
        return  # what Python keeps of every module
    for spec in candidates(dotted, book):
        if spec.on == "call" and not called and (spec.when or event.role != "base"):
            continue
        if not spec.when:
            plain.append(spec)
            continue
        if dotted not in book.exact and _is_member(dotted, spec) and last[:5] != "from_":
            continue  # ``Trainer.add_argparse_args(parser)`` is not given what makes a Trainer
        confidence = _conditions(spec, event, view) if called or event.args else None
        if confidence is not None:
            spoke = True
            asked = _asked(spec, event, view)
            if asked:
                confidence = weakest(confidence, Confidence.LIKELY)
            yield Matched(spec, dotted, confidence, False, asked)
    if dotted == _VERSION and plain and event.role == "load":
        line = versions.taken_apart(event, view)
        inside = book.prefixes.get(_VERSION)
        if line and inside:
            yield Matched(
                inside[0], f"{dotted}, taken apart in line {line}", Confidence.LIKELY, False
            )
            return
    # A row without conditions speaks where none of its variants did.
    if plain and not spoke:
        yield Matched(plain[0], dotted, Confidence.CERTAIN, False)


def _is_member(dotted: str, spec: Spec) -> bool:
    """Whether a name is below a class whose row it is judged by."""
    return (
        not spec.name.endswith(".*") and dotted.rpartition(".")[0].rpartition(".")[2][:1].isupper()
    )


def _methods(event: Event, view: ModuleView, book: Rulebook) -> Iterator[Matched]:
    specs = book.methods.get(event.name)
    if not specs:
        return
    if event.kind == "attr" and event.name in _OPTIONS and view.kind(event.value).kind == UNKNOWN:
        return  # ``args.cuda``
    if event.kind == "attr" and event.role == "load" and _is_option(event.value, view):
        specs = [spec for spec in specs if _OF_OPTIONS.search(spec.name)]
    best: Matched | None = None
    spoke: list[Matched] = []
    for spec in specs:
        if event.kind == "attr" and (spec.on == "call" or event.role != "load"):
            continue
        if event.kind == "attr" and view.resolver.attribute(("attr", event.value, event.name)):
            return  # the program's own class sets it: a flag of that name
        confidence = _receiver(spec, event.value, view)
        if confidence is None:
            continue
        if spec.when:
            condition = _conditions(spec, event, view) if event.kind == "method" else None
            if condition is None:
                continue
            confidence = weakest(confidence, condition)
        name = spec.name
        if view.kind(event.value).kind in (UNKNOWN, "batch"):
            name = f".{event.name}" + ("()" if event.kind == "method" else "")
        found = Matched(spec, name, confidence, False)
        spoke.append(found)
        if best is None or _surer(found, best):
            best = found
    if best is not None:
        # One class speaks, with all of its variants that hold.
        yield from (
            m for m in spoke if m is best or (m.spec.name == best.spec.name and m.spec.when)
        )


_OPTIONS_OF = frozenset(
    ("args", "arg", "opt", "opts", "options", "flags", "hparams", "cfg", "config", "conf")
)
"""What the options of a program are kept in."""
_OF_OPTIONS = re.compile(r"Arg|Config|Option|Settings|Param")
"""In the name of a row: it is of a class that holds options."""


def _is_option(value: Value, view: ModuleView) -> bool:
    """Whether an attribute is read from the options of a program: ``args.enable_tiling``."""
    if value is None or view.kind(value).kind != UNKNOWN:
        return False
    last = view.text(value).rpartition(".")[2].lower()
    return last in _OPTIONS_OF or last.endswith(("_args", "_opts"))


def _surer(a: Matched, b: Matched) -> bool:
    return weakest(a.confidence, b.confidence) is b.confidence and a.confidence != b.confidence


def _receiver(spec: Spec, value: Value, view: ModuleView) -> Confidence | None:
    owner = spec.name.rpartition(".")[0]
    wanted = CLASS_KINDS.get(owner)
    known = view.kind(value)
    unsure: Confidence | None = Confidence.LIKELY if spec.distinctive else Confidence.POSSIBLE
    if not view.imports(spec.name.partition(".")[0]):
        # Nothing says that this file has to do with the library at all.
        unsure = Confidence.POSSIBLE if spec.distinctive else None
    if wanted is not None:
        if known.kind == wanted:
            return Confidence.CERTAIN if known.derived else Confidence.LIKELY
        if known.kind in (UNKNOWN, "batch"):
            return unsure
        return None
    # A class without a kind of its own: recognised by its name where it is made.
    last = owner.rpartition(".")[2]
    for atom in view.follow(value):
        inner = atom.value
        if inner is not None and inner[0] == "call" and inner[1] is not None:
            name = inner[1][1] if inner[1][0] == "ref" else ""
            if name and (name == owner or last in name.split(".")):
                return Confidence.CERTAIN
    if known.kind == UNKNOWN or (known.kind in ("other", "module") and spec.distinctive):
        return unsure
    return None


def _imports(event: Event, view: ModuleView, book: Rulebook) -> Iterator[Matched]:
    dotted = event.name
    if event.role == "name" and view.index.localize(dotted, view.summary)[0] == "@":
        return  # what the tree imports elsewhere is judged there
    head = dotted
    while head:
        specs = book.imports.get(head)
        if specs:
            if view.index.module(view.index.localize(head, view.summary)) is not None:
                return  # the tree is that package, or brings its own
            member = _member(dotted, book) if event.role == "name" and head != dotted else None
            yield Matched(specs[0], dotted, Confidence.CERTAIN, False, member=member)
            return
        head = head.rpartition(".")[0]
    if event.role == "name" and event.name == dotted:
        for spec in candidates(dotted, book):
            if not spec.when and spec.on != "call":
                yield Matched(spec, dotted, Confidence.CERTAIN, True)
                return


def _member(dotted: str, book: Rulebook) -> Spec | None:
    """The row of a name itself, whatever it is called with."""
    return next((spec for spec in book.exact.get(dotted, ()) if not spec.when), None)


def _outside(event: Event, view: ModuleView, book: Rulebook) -> Iterator[Matched]:
    for variable in variables(event, view, book.variable):
        specs = book.variable(variable.name)
        # The conditions of a row are about how the variable is used, not about a call.
        unknown: tuple[tuple[str | None, Value], ...] = () if variable.value else ((None, None),)
        used = (("access", ("const", variable.access)), *variable.value, *unknown)
        place = event._replace(role="call", args=(), kwargs=used)
        spoke = False
        for spec in sorted(specs, key=lambda s: not s.when):
            if not spec.when and spoke:
                continue
            holds_ = _conditions(spec, place, view)
            if holds_ is None:
                continue
            spoke = True
            unsure = Confidence.LIKELY if spec.distinctive else Confidence.POSSIBLE
            confidence = Confidence.CERTAIN if variable.sure else unsure
            yield Matched(spec, variable.name, weakest(confidence, holds_), False)
    for program in programs(event, view):
        for spec in book.program(program.name)[:1]:
            yield Matched(spec, program.name, program.confidence, False, program.excused)


def _conditions(spec: Spec, event: Event, view: ModuleView) -> Confidence | None:
    confidence = Confidence.CERTAIN
    for condition in spec.when:
        result = holds(condition, event, view)
        if result is False:
            return None
        if result is None:
            if spec.unknown != "possible":
                return None
            confidence = Confidence.POSSIBLE
        elif result is Confidence.LIKELY:
            confidence = weakest(confidence, result)
    return confidence


def _asked(spec: Spec, event: Event, view: ModuleView) -> str:
    """The question about a device given elsewhere by whose answer a condition holds: with another
    device it does not. Empty: it does not rest on one."""
    for condition in spec.when:
        value = view.argument(event, condition.arg, condition.pos)
        for _ in range(_MAX_CHOICES):
            if value is None or value[0] != "v":
                break
            value = view.facts.definitions[value[1]].value
        if value is None or value[0] != "if" or not asks_given(value[1], view):
            continue
        known, other = view.constant(value[3])
        if known and isinstance(other, str) and not _one(condition, other):
            return view.text(value[1])
    return ""


def holds(condition: Condition, event: Event, view: ModuleView) -> bool | Confidence | None:
    """Whether a condition on an argument holds; ``LIKELY``: for some of what the argument can be;
    None: it cannot be known."""
    given = view.given(event, condition.arg, condition.pos)
    if event.role == "store" and event.args is not None and condition.arg == "value":
        given = True
        value = event.args[0]
    else:
        value = view.argument(event, condition.arg, condition.pos)
    if condition.given is not None:
        if not given and any(k is None for k, _ in event.kwargs):
            return None  # ``**options`` may hold it
        if given is not condition.given:
            return False
        if condition.is_ is None and condition.not_ is None and not condition.matches:
            return True
    if condition.only is not None or condition.unless is not None:
        return _written(condition, value) is (condition.only is not None)
    if condition.kinds is not None:
        known = view.kind(value)
        if known.kind not in condition.kinds:
            return False
        return True if known.derived else Confidence.LIKELY
    if not given:
        return None if any(k is None for k, _ in event.kwargs) else condition.absent
    for _ in range(_MAX_CHOICES):
        if value is not None and value[0] == "v":
            held = view.facts.definitions[value[1]].value
            if held is None or held[0] != "if":
                break
            value = held
        elif value is not None and value[0] == "if" and view.truth_of(value[1]) is not None:
            value = value[2] if view.truth_of(value[1]) else value[3]
        else:
            break
    if value is not None and value[0] == "call":
        # What a function of the tree returns there may be less than what it can return.
        there = view.truth.choices(view.summary, value)
        if there and not any(_one(condition, choice) for choice in there):
            return False
    choices, complete = _choices(value, view)
    if any(own in choices for own in _OWN):
        # What can be Neuron is not CUDA there.
        choices = [c for c in choices if not (isinstance(c, str) and c.startswith(_CUDAS))]
    if not any(_one(condition, choice) for choice in choices):
        ended = _ended(condition, value, view)
        return ended if ended is not None else False if complete else None
    for atom in view.follow(value):
        if atom.value is not None and atom.value[0] in ("const", "ref"):
            if not _one(condition, atom.value[1]):
                return Confidence.LIKELY
        elif atom.value is None or atom.value[0] not in ("list", "tuple"):
            return Confidence.LIKELY
    return True


_OWN = ("neuron", "xla")
_CUDAS = ("cuda", "nccl")
"""Devices and backends: Neuron's, and those it has in the place of."""


def _ended(condition: Condition, value: Value, view: ModuleView) -> bool | Confidence | None:
    """Whether a text of which only the end is known fits a condition on how it ends: the name of a
    file in a folder. ``LIKELY``: it is a pattern for names of files; None: it cannot be known."""
    if not condition.matches.endswith("$") or condition.matches.startswith("^"):
        return None
    found = [text for text in _ends(value, view) if condition.regex().search(text)]
    if not found:
        return None
    return True if any("*" not in text for text in found) else Confidence.LIKELY


def _ends(value: Value, view: ModuleView, depth: int = 6) -> Iterator[str]:
    """The ends of the texts that a value can be or hold, as far as they are written."""
    for atom in view.follow(value) if depth else ():
        inner = atom.value
        if inner is None:
            continue
        if inner[0] == "const" and isinstance(inner[1], str):
            yield inner[1]
            continue
        parts: tuple[Value, ...] = ()
        if inner[0] in ("list", "tuple", "set"):
            parts = inner[1]
        elif inner[0] == "fstr":
            parts = inner[1][-1:]
        elif inner[0] == "bin":
            parts = (inner[3],) if inner[1] == "/" else inner[2:] if inner[1] == "+" else ()
        elif inner[0] == "comp":
            parts = (inner[2],)
        elif inner[0] == "elem":
            parts = (inner[1],)
        elif inner[0] == "call" and inner[1] is not None:
            func = inner[1]
            name = func[2] if func[0] == "attr" else str(func[1]) if func[0] == "ref" else ""
            name = name.rpartition(".")[2]
            if name in _TEXTS:
                parts = inner[2][-1:] if name in _JOINS else inner[2][:1]
            elif func[0] == "attr" and name in _SAME_TEXT:
                parts = (func[1],)
        for part in parts:
            if part is not None:
                yield from _ends(part, view, depth - 1)


_JOINS = frozenset(("join", "joinpath", "Path", "PurePath", "PosixPath"))
"""Calls whose result ends as their last argument does."""
_TEXTS = _JOINS | frozenset(
    [
        "str",
        "abspath",
        "realpath",
        "normpath",
        "relpath",
        "fspath",
        "expanduser",
        "glob",
        "iglob",
        "rglob",
        "sorted",
        "list",
        "tuple",
    ]
)
"""Likewise, as the first does."""
_SAME_TEXT = frozenset(("resolve", "absolute", "as_posix", "expanduser"))


def _written(condition: Condition, value: Value) -> bool:
    """Whether what ``only`` or ``unless`` of a condition lists is written there."""
    listed = condition.only if condition.only is not None else condition.unless or ()
    return (
        value is not None
        and value[0] == "const"
        and any(type(value[1]) is type(w) and value[1] == w for w in listed)
    )


def _choices(value: Value, view: ModuleView, depth: int = 3) -> tuple[list[Any], bool]:
    """The literals and dotted names a value can be, with what lists and tuples hold; whether these
    are all."""
    atoms = view.follow(value)
    found: list[Any] = []
    complete = bool(atoms)
    for atom in atoms:
        tag = atom.value[0] if atom.value is not None else ""
        if atom.value is None:
            complete = False
        elif tag in ("const", "ref"):
            found.append(atom.value[1])
        elif tag in ("list", "tuple") and depth:
            for item in atom.value[1]:
                if item is not None and item[0] == "dict":
                    continue
                inner, known = _choices(item, view, depth - 1)
                found += inner
                complete = complete and known
        else:
            complete = False
    return found, complete


def _one(condition: Condition, literal: object) -> bool:
    if condition.is_ is not None:
        return any(type(literal) is type(w) and literal == w for w in condition.is_)
    if condition.not_ is not None:
        return all(not (type(literal) is type(w) and literal == w) for w in condition.not_)
    if condition.matches:
        return isinstance(literal, str) and condition.regex().search(literal) is not None
    return True
