"""Operators that the table says are not supported, run on the host, or are slow.

Everything known is in ``rules/operators/``; here calls are resolved to spellings and told what is
known of their arguments, and of where they run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from neuronport import operators
from neuronport.data import data_folder
from neuronport.detectors import Hit
from neuronport.detectors._tensors import on_host, uses_torch
from neuronport.detectors._tensors import placed as placed_at
from neuronport.findings import Confidence, Evidence, EvidenceKind, TargetVerdict, Verdict, weakest
from neuronport.operators import Argument, CallFacts, Status, UnknownOperatorError
from neuronport.readers.python.facts import Event, Value
from neuronport.source import places
from neuronport.source.view import ModuleView
from neuronport.targets import Target

EVENTS = ("use", "method")
ROOTS = ("torch",)
METHODS = frozenset(
    line
    for line in (data_folder("rules") / "understanding" / "operator-methods.txt")
    .read_text(encoding="utf-8")
    .splitlines()
    if line and line[0] != "#"
)
OWNED = frozenset(
    [
        "all",
        "allclose",
        "any",
        "argwhere",
        "equal",
        "gelu",
        "GELU",
        "is_nonzero",
        "item",
        "masked_select",
        "nonzero",
        "nonzero_static",
        "record_stream",
        "repeat_interleave",
        "unique",
        "unique_consecutive",
    ]
)
"""Of these other rules speak, which know more than whether there is a kernel."""
_ON_DEVICE = (Status.DEVICE, Status.DECOMPOSES)
_LATER = (EvidenceKind.OBSERVED, EvidenceKind.DOCUMENTED, EvidenceKind.REPORTED)
_WEAK = (EvidenceKind.REPORTED, EvidenceKind.INFERRED)
_INFINITE = frozenset(("math.inf", "numpy.inf", "torch.inf"))
_NO_TENSOR = frozenset(("array", "number", "string", "device", "dtype", "state"))


def speaks_of(kind: str, name: str) -> bool:
    if kind == "method":
        return name in METHODS and _spelling(kind, name) in _notable()
    known = name.startswith("torch.") and name.rpartition(".")[2] not in OWNED
    return known and name in _notable()


def _spelling(kind: str, name: str) -> str:
    return f"torch.Tensor.{name}" if kind == "method" else name


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.kind == "method":
        spelling = _spelling("method", event.name)
    else:
        if event.role != "call" or (event.name[:6] != "torch." and event.name[:1] != "@"):
            return
        spelling = view.index.canonical(event.name, view.summary)
        if spelling == "torch.where" and len(event.args or ()) + len(event.kwargs) == 1:
            return  # nonzero under another name
    call = _call(event, spelling, view)
    # Of most calls there is nothing to say, wherever they stand.
    if call is None or not _speaks(spelling, call, view.targets):
        return
    confidence = _confidence(event, spelling, view)
    if confidence is None or not view.runs(event):
        return
    hot = _hot(event, spelling, view)
    subject = event.value if event.kind == "method" else (event.args or (None,))[0]
    if on_host(view, subject):
        return
    placed = Confidence.CERTAIN if hot else placed_at(event, view, Confidence.CERTAIN)
    entry = bool(places.entry(event, view)) and not _initialises(event, view)
    if _only_complex(event, view):
        placed = Confidence.POSSIBLE
    operator = _lookup(spelling, "native", None, call).operator.partition(".")[0]
    where = f", {hot}" if hot else ""
    if hot and places.for_debugging(event, view):
        placed = Confidence.POSSIBLE
        where += ", but this only to look for errors"
    size = _size(subject, view)
    stage = _TRACED if not hot or "forward" in hot else _TRAINED if "training" in hot else "loop"
    yield Hit(
        event.span,
        f"{_short(spelling)} reaches {operator}{where}",
        weakest(confidence, placed),
        group=f"operator-support/{operator}",
        guarded=False,
        answer=lambda target: _answer(spelling, call, target, bool(hot), entry, size, stage),
        asks=(spelling, _plain(call), bool(hot), entry, size, stage),
    )


# ---- what the table says ------------------------------------------------------------------------


_TRACED, _TRAINED = "traced", "trained"
"""Where a place runs: in what a trace records, as far as is known, or in a training loop."""
_ANSWERS: dict[tuple[str, str, str | None, str], operators.Answer] = {}
"""The same calls come again and again; what is known of one is small as text."""


def _lookup(
    spelling: str, target: Target | str, stage: str | None, call: CallFacts
) -> operators.Answer:
    key = (spelling, str(target), stage, _plain(call))
    answer = _ANSWERS.get(key)
    if answer is None:
        answer = _ANSWERS[key] = operators.lookup(spelling, target, stage=stage, call=call)
    return answer


def _plain(call: CallFacts) -> str:
    """All that a source line ever tells of a call, as text."""
    told = [
        (name, "?" if a.value is operators.UNKNOWN else repr(a.value))
        for name, a in call.arguments.items()
    ]
    return f"{call.complete} {told}"


@cache
def _notable() -> frozenset[str]:
    return frozenset(operators.shared().notable())


@cache
def _reached(spelling: str) -> tuple[str, ...]:
    """The overloads a spelling can reach."""
    index = operators.shared()
    found: list[str] = []
    for reached in operators.find(index, spelling):
        found += index.family(reached.operator) or [reached.operator]
    return tuple(found)


@cache
def _makes_tensors(spelling: str) -> bool:
    """Whether no tensor goes in: where the result lies is then an argument of its own."""
    index = operators.shared()
    bodies = [index.body(name) or {} for name in _reached(spelling)]
    return not any("T" in p[1] for body in bodies for p in body.get("parameters", [("", "T")]))


_SPEAKS: dict[tuple[str, str, Sequence[Target]], bool] = {}


def _speaks(spelling: str, call: CallFacts, targets: Sequence[Target]) -> bool:
    """Whether there is something to say of a call to any of the targets."""
    key = (spelling, _plain(call), targets)
    known = _SPEAKS.get(key)
    if known is None:
        known = _SPEAKS[key] = any(_answer(spelling, call, t, True, True) for t in targets)
    return known


def _answer(
    spelling: str,
    call: CallFacts,
    target: Target,
    hot: bool,
    entry: bool,
    size: int | None = None,
    where: str = _TRACED,
) -> TargetVerdict | None:
    try:
        answer = _lookup(spelling, target, None, call)
    except UnknownOperatorError:
        return None
    verdict, evidence, sure = _found(answer, call, spelling)
    if verdict is None:
        return None
    confidence = Confidence.POSSIBLE if not sure else answer.confidence
    stage = operators.DEFAULT_STAGE[target.path]
    stages = {stage: {"forward": verdict}}
    if target.path == "native":
        compiled = _lookup(spelling, target, "compiled", call)
        if compiled.verdict is not None:
            stages["compiled"] = {"forward": compiled.verdict}
        if verdict is Verdict.FALLS_BACK:
            # Whether a build of today still falls back: a lowering that the compiler has since
            # makes the old snapshot a weak witness, a later report a good one.
            if not any(e.kind in _LATER for e in evidence) and compiled.status in _ON_DEVICE:
                confidence = Confidence.POSSIBLE
            confidence = weakest(confidence, Confidence.LIKELY)
    reported = any(e.kind in _LATER for e in evidence)
    # What a trace never comes to does not break it: preparing data, converting checkpoints.
    raises = verdict is Verdict.BREAKS and target.path != "xla"
    if not raises and not hot and not (entry and reported):
        confidence = Confidence.POSSIBLE
    if verdict is Verdict.BREAKS and target.path == "xla" and where != _TRACED:
        run, why, _ = _found(_lookup(spelling, target, "eager", call), call, spelling)
        if run is Verdict.FALLS_BACK:
            verdict, evidence = run, why
            stages = {"eager": {"forward": verdict}, **stages}
        if where != _TRAINED:
            # Between traced modules tensors stay on the CPU: samplers, pipelines, loops.
            confidence = Confidence.POSSIBLE
    if all(e.kind in _WEAK for e in evidence):
        confidence = weakest(confidence, Confidence.LIKELY)
    return TargetVerdict(verdict, confidence, evidence, _instead(answer, call, size), stages)


def _found(
    answer: operators.Answer, call: CallFacts, spelling: str
) -> tuple[Verdict | None, tuple[Evidence, ...], bool]:
    """What is to be said of a call, why, and whether nothing it depends on is open."""
    if answer.verdict is not None and not answer.verdict.is_reference:
        return answer.verdict, answer.evidence, True
    for open_ in answer.conditions_unknown:
        worse = open_.verdict is not None and not open_.verdict.is_reference
        if worse and _depends(open_.when, call, spelling):
            return open_.verdict, open_.evidence, False
    return None, (), False


_NONE = "No way to write it otherwise is known for these arguments; on the host where it may be."
_ELSEWHERE = "on the host, once where its inputs do not change"


def _instead(answer: operators.Answer, call: CallFacts, size: int | None) -> str:
    """The workaround with its conditions, by which the reader decides, and where its code is."""
    known = {
        name: a.value for name, a in call.arguments.items() if a.value is not operators.UNKNOWN
    }
    if size is not None:
        known["size"] = size
    fitting = [w for w in answer.workarounds if w.suits(known)]
    if not fitting:
        # None of those that there are is for these arguments.
        return _NONE if answer.workarounds else ""
    operator = answer.operator.partition(".")[0]
    show = f"The code: neuronport operators show {operator}"
    first = fitting[0]
    if not first.for_a_size or size is not None:
        return f"{first.title}. {first.context} {show}"
    # Source seldom tells the size, and for another one this is no help.
    told = "; ".join(
        f"{w.context.partition(';')[0].rstrip('.').replace('Size', 'for size', 1)}: {w.title}"
        for w in fitting
        if w.for_a_size
    )
    return f"{_ELSEWHERE[0].upper()}{_ELSEWHERE[1:]}; {told}. {show}"


def _size(value: Value, view: ModuleView, depth: int = 0) -> int | None:
    """The number of rows of a matrix, where it is written how it is made."""
    if value is None or depth > _MAX_STEPS:
        return None
    if value[0] == "v":
        return _size(view.summary.definitions[value[1]].value, view, depth + 1)
    if value[0] == "call" and value[1] is not None:
        func, args = value[1], value[2]
        if func[0] == "attr":
            if func[2] in _KEEP_SIZE:
                return _size(func[1], view, depth + 1)
            return None
        name = view.name(func)
        if name in ("torch.eye", "torch.zeros", "torch.ones", "torch.empty") and args:
            last = args[-1] if args[-1] is None or args[-1][0] not in ("list", "tuple") else None
            if args[-1] is not None and last is None and args[-1][1]:
                last = args[-1][1][-1]
            known, number = view.constant(last)
            return number if known and type(number) is int else None
        return None
    if value[0] == "item" and value[2] is not None and value[2][0] == "tuple" and value[2][1]:
        end = value[2][1][-1]
        if (
            end is not None
            and end[0] == "slice"
            and (end[1] is None or end[1] == ("const", None) or end[1] == ("const", 0))
        ):
            known, number = view.constant(end[2])
            return number if known and type(number) is int and number > 0 else None
    return None


_MAX_STEPS = 6
_KEEP_SIZE = frozenset(
    ("to", "clone", "contiguous", "detach", "float", "double", "expand", "repeat")
)
"""Methods after which the last dimension is as it was; a repetition of it is hardly an inverse's."""


def _depends(when: str, call: CallFacts, spelling: str) -> bool:
    """Whether an unknown condition hangs on an argument that the call writes down. What it asks of
    tensors (dtypes, shapes) source hardly ever tells, and would make noise of every ``matmul``."""
    if not when:
        return False
    names = operators.parse(when).names() - {"chip"}
    return bool(names) and names <= set(call.arguments) - _tensors(spelling)


@cache
def _tensors(spelling: str) -> frozenset[str]:
    """The parameters that are tensors in any of the overloads."""
    index = operators.shared()
    bodies = [index.body(name) or {} for name in _reached(spelling)]
    tensors = {p[0] for body in bodies for p in body.get("parameters", ()) if "T" in p[1]}
    return frozenset(tensors | {"self", "input"})


@cache
def _only_tensors(spelling: str) -> frozenset[int]:
    """The positions at which every overload takes a tensor: what stands there is no literal."""
    index = operators.shared()
    kinds: list[set[str]] = []
    for name in _reached(spelling):
        own = [p[1] for p in (index.body(name) or {}).get("parameters", ()) if not p[4]]
        for i, kind in enumerate(own):
            if i == len(kinds):
                kinds.append(set())
            kinds[i].add(kind)
    return frozenset(i for i, found in enumerate(kinds) if found == {"T"})


# ---- what is known of the call ------------------------------------------------------------------


def _confidence(event: Event, spelling: str, view: ModuleView) -> Confidence | None:
    """How surely the call is of the operator, on a tensor; None: it is not."""
    if event.kind == "method":
        receiver = view.receiver(event.value, "tensor")
        if receiver is not Confidence.POSSIBLE:
            # A name alone is no tensor where nothing has to do with PyTorch.
            guessed = receiver is not Confidence.CERTAIN and not view.imports("torch")
            return None if guessed else receiver
        # Only names that nothing but a tensor has are worth a word where the receiver is unknown.
        return receiver if "_" in event.name and uses_torch(view) else None
    if spelling.startswith("torch.nn.") and spelling.rpartition(".")[2][:1].isupper():
        return Confidence.CERTAIN
    if _makes_tensors(spelling):
        device = view.argument(event, "device")
        if device is None or device == ("const", None):
            return None
        return None if view.only(device, "cpu", "meta") else Confidence.CERTAIN
    first = event.args[0] if event.args else view.argument(event, "input")
    return None if view.kind(first).kind in _NO_TENSOR else Confidence.CERTAIN


def _hot(event: Event, spelling: str, view: ModuleView) -> str:
    if spelling.startswith("torch.nn.") and spelling.rpartition(".")[2][:1].isupper():
        owner = view.facts.scopes[view.ctx(event).scope].owner
        if not owner or view.kinds.is_module_class(owner):
            return "which runs in forward"
    hot = view.hot(event)
    if hot:
        return hot
    subject = event.value if event.kind == "method" else (event.args or (None,))[0]
    if places.on_device(subject, view):
        return "on a tensor that was moved to the device"
    return ""


def _initialises(event: Event, view: ModuleView) -> bool:
    """Whether a tensor that is handed in is filled where parameters get their first values: before
    the module is moved."""
    in_place = event.kind == "method" and event.name.endswith("_")
    return in_place and "init" in view.scope(event).lower()


def _only_complex(event: Event, view: ModuleView) -> bool:
    """Whether the place is reached with complex tensors only, which a program seldom has."""
    return any("is_complex" in view.text(guard.test) for guard in view.guards(event))


def _call(event: Event, spelling: str, view: ModuleView) -> CallFacts | None:
    """What is known of the arguments; None: too little to speak (``*args``)."""
    args = event.args or ()
    if any(a is not None and a[0] == "starred" for a in args):
        return None
    if spelling.startswith("torch.nn."):
        # Of what has no name here, nothing but that it is there is used.
        known = [_GIVEN] * len(args)
    else:
        own = _only_tensors(spelling)
        offset = event.kind == "method"
        known = [_GIVEN if i + offset in own else _argument(a, view) for i, a in enumerate(args)]
    keywords = {k: _argument(v, view) for k, v in event.kwargs if k is not None}
    complete = len(keywords) == len(event.kwargs)
    if event.kind == "method":
        known.insert(0, _GIVEN)
    if spelling.startswith("torch.nn."):
        # Not the operator's own parameters: what is written by name is known, and the input.
        module = spelling.rpartition(".")[2][:1].isupper()
        if known and not module:
            keywords.setdefault("self", known[0])
        rest = known if module else known[1:]
        return CallFacts(keywords, complete=complete and not rest)
    if not complete:
        return CallFacts(keywords)
    index = operators.shared()
    for operator in _reached(spelling):
        facts = operators.bind(index, operator, known, keywords)
        if facts is not None and not _number_for_tensor(operator, facts):
            # Of several overloads each has its own defaults.
            return CallFacts(facts.arguments, complete=facts.complete)
    return CallFacts(keywords)


def _number_for_tensor(operator: str, facts: CallFacts) -> bool:
    """Whether a number stands where an overload takes a tensor: ``scatter_(1, index, 1.0)``."""
    given = facts.arguments
    return any(
        p[1] == "T" and p[0] in given and type(given[p[0]].value) in (int, float)
        for p in (operators.shared().body(operator) or {}).get("parameters", ())
    )


def _argument(value: Value, view: ModuleView) -> Argument:
    literal = _literal(value, view, 0)
    return _GIVEN if literal is _NOTHING else Argument(value=literal)


_NOTHING: Any = object()
_GIVEN = Argument()
"""Something, of which nothing else is known."""


def _literal(value: Value, view: ModuleView, depth: int) -> Any:
    if value is None or depth > 2:
        return _NOTHING
    if value[0] in ("list", "tuple"):
        items = [_literal(item, view, depth + 1) for item in value[1]]
        return _NOTHING if any(item is _NOTHING for item in items) else items
    number = _number(value, view)
    if number is not None:
        return number
    known, literal = view.constant(value)
    return literal if known and literal is not ... else _NOTHING


def _number(value: Value, view: ModuleView) -> float | None:
    """Numbers as tensor code writes them: ``-float("inf")``, ``-math.inf``."""
    if value is None:
        return None
    if value[0] == "neg":
        inner = _number(value[1], view)
        return None if inner is None else -inner
    if value[0] == "call" and value[1] == ("ref", "builtins.float") and len(value[2]) == 1:
        text = value[2][0]
        if text is not None and text[0] == "const" and isinstance(text[1], str):
            try:
                return float(text[1])
            except ValueError:
                return None
    return math.inf if value[0] == "ref" and view.name(value) in _INFINITE else None


def _short(spelling: str) -> str:
    for full, short in (
        ("torch.nn.functional.", "F."),
        ("torch.Tensor.", "."),
        ("torch.nn.", "nn."),
    ):
        if spelling.startswith(full):
            return short + spelling.removeprefix(full)
    return spelling
