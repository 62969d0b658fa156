"""The question everybody asks: is this operator supported there, and who says so?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from neuronport import targets
from neuronport.findings import (
    CONFIDENCE_ORDER,
    Confidence,
    Evidence,
    EvidenceKind,
    TargetVerdict,
    Verdict,
    weakest,
)
from neuronport.operators import index as indices
from neuronport.operators.conditions import NOTHING_KNOWN, UNKNOWN, Argument, CallFacts, parse
from neuronport.operators.index import Index
from neuronport.operators.names import Reached, canonical, find
from neuronport.operators.tables import DIRECTIONS, STAGES, STATUS_ORDER, Status
from neuronport.operators.workarounds import Workaround, workarounds_for
from neuronport.targets import Target

DEFAULT_STAGE: Mapping[str, str] = {"native": "eager", "xla": "compiled"}
"""How a path runs when nobody says otherwise: ``torch_neuronx.trace`` compiles."""


@dataclass(frozen=True, slots=True)
class Possibility:
    """What the status is if a condition holds that is not known to."""

    status: Status
    when: str
    """Empty: only some calls, and which is not known."""
    via: tuple[str, ...]
    evidence: tuple[Evidence, ...]

    @property
    def verdict(self) -> Verdict | None:
        return self.status.verdict


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Weaker or older statements that disagree with the answer."""

    status: Status
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known of one operator, on one target, at one stage."""

    name: str
    """As asked."""
    operator: str
    """The overload the answer is about; of several, the one that decides."""
    target: str
    stage: str
    direction: str
    status: Status
    verdict: Verdict | None
    """``None``: not known, or there is nothing to run (no gradient)."""
    confidence: Confidence
    evidence: tuple[Evidence, ...]
    conditions_met: tuple[str, ...] = ()
    conditions_unknown: tuple[Possibility, ...] = ()
    """What would change the answer, and cannot be told from what is known of the call."""
    contradictions: tuple[Contradiction, ...] = ()
    via: tuple[str, ...] = ()
    """The operators through which a composite gets its status, outermost first."""
    note: str = ""
    workarounds: tuple[Workaround, ...] = ()
    overloads: Mapping[str, Status] = field(default_factory=dict)
    """The overloads that the name may mean, with the status of each."""
    exists: bool = True
    """False: the operator has no gradient (``direction="backward"`` only)."""

    @property
    def possible_verdict(self) -> Verdict | None:
        """The worst verdict that is not excluded."""
        worst = max(
            (self.status, *(p.status for p in self.conditions_unknown)),
            key=STATUS_ORDER.__getitem__,
        )
        return worst.verdict

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "operator": self.operator,
            "target": self.target,
            "stage": self.stage,
            "direction": self.direction,
            "status": str(self.status) if self.exists else None,
            "verdict": str(self.verdict) if self.verdict else None,
            "confidence": str(self.confidence),
            "note": self.note,
            "via": list(self.via),
            "conditions_met": list(self.conditions_met),
            "conditions_unknown": [
                {"status": str(p.status), "when": p.when, "via": list(p.via)}
                for p in self.conditions_unknown
            ],
            "evidence": [e.as_json() for e in self.evidence],
            "contradictions": [
                {"status": str(c.status), "evidence": [e.as_json() for e in c.evidence]}
                for c in self.contradictions
            ],
            "overloads": {name: str(status) for name, status in self.overloads.items()},
            "workarounds": [w.id for w in self.workarounds],
        }


NONE_FITS = "what is known of the arguments fits none of its forms, and is left aside"


def lookup(
    name: str,
    target: Target | str,
    *,
    stage: str | None = None,
    direction: str = "forward",
    call: CallFacts = NOTHING_KNOWN,
    index: Index | None = None,
) -> Answer:
    """The status of ``name`` on ``target``.

    ``call`` holds what is known of the arguments, by the names of the schema (``input`` is
    ``self``); dtypes, shapes and values decide conditions, what is left out stays unknown.
    Several overloads or operators: the worst of those the call can mean.

    Raises UnknownOperatorError and TargetError.
    """
    index = index or indices.shared()
    resolved = targets.resolve(target) if isinstance(target, str) else target
    stage = stage or DEFAULT_STAGE[resolved.path]
    if stage not in STAGES or direction not in DIRECTIONS:
        raise ValueError(f"stage {stage!r}, direction {direction!r}")
    call = replace(call, chips=resolved.chips)
    own = index.signature(canonical(name))
    if own:
        # a function or module written in Python has defaults of its own
        call = replace(call, defaults={p[0]: p[3] for p in own if len(p) > 3} | dict(call.defaults))
    certain: list[Answer] = []
    sometimes: list[Answer] = []
    for reached in find(index, name):
        truth = _reached(reached, call)
        if truth is not False:
            overloads = _overloads(index, reached.operator, call)
            answer = _of_overloads(
                [_one(index, name, o, resolved, stage, direction, call) for o in overloads], call
            )
            (certain if truth else sometimes).append(answer)
    if not certain and not sometimes:
        # The arguments fit none of what the name reaches: no way is left out on their account.
        return replace(
            lookup(name, resolved, stage=stage, direction=direction, index=index), note=NONE_FITS
        )
    return _merged(certain, sometimes, name)


def stages(
    name: str, target: Target | str, call: CallFacts = NOTHING_KNOWN, index: Index | None = None
) -> dict[str, dict[str, Answer]]:
    """The answers of every stage: ``["eager"]["forward"]`` …"""
    return {
        stage: {
            direction: lookup(
                name, target, stage=stage, direction=direction, call=call, index=index
            )
            for direction in DIRECTIONS
        }
        for stage in STAGES
    }


def target_verdict(
    name: str, target: Target | str, call: CallFacts = NOTHING_KNOWN, index: Index | None = None
) -> TargetVerdict | None:
    """What a finding says of a call on one target; ``None``: nothing is known.

    The forward at the path's usual stage decides. A gradient that is worse decides too, but is
    only possible: whether the place is trained is not known here. Both stages are told.
    """
    resolved = targets.resolve(target) if isinstance(target, str) else target
    answers = stages(name, resolved, call, index)
    usual = answers[DEFAULT_STAGE[resolved.path]]
    chosen = usual["forward"]
    gradient = usual["backward"]
    worse = STATUS_ORDER[gradient.status] > STATUS_ORDER[chosen.status]
    if gradient.exists and gradient.verdict is not None and worse:
        chosen = replace(gradient, confidence=Confidence.POSSIBLE)
    if chosen.verdict is None:
        return None
    instead = chosen.workarounds[0] if chosen.workarounds else None
    return TargetVerdict(
        chosen.verdict,
        chosen.confidence,
        chosen.evidence,
        f"{instead.title}: {instead.new}" if instead and chosen.status is not Status.DEVICE else "",
        {
            stage: {d: a.verdict for d, a in by_direction.items() if a.verdict is not None}
            for stage, by_direction in answers.items()
        },
    )


def bind(
    index: Index, operator: str, positional: Sequence[Argument], keywords: Mapping[str, Argument]
) -> CallFacts | None:
    """The facts of a call of ``operator`` whose arguments are all known to be these.

    ``None``: that overload cannot take them.
    """
    body = index.body(operator)
    if body is None or "parameters" not in body:
        return None
    names = [p[0] for p in body["parameters"]]
    positions = [p[0] for p in body["parameters"] if not p[4]]
    if len(positional) > len(positions):
        return None
    arguments = dict(zip(positions, positional, strict=False))
    for key, value in keywords.items():
        known = "self" if key == "input" and key not in names else key
        if known not in names or known in arguments:
            return None
        arguments[known] = value
    required = [p[0] for p in body["parameters"] if p[3] and p[1] != "Out"]
    if any(name not in arguments for name in required):
        return None
    return CallFacts(arguments, complete=True, defaults=_defaults(body))


# -- from claims to an answer -----------------------------------------------------------------------


def _defaults(body: Mapping[str, Any]) -> dict[str, Any]:
    return {p[0]: p[2] for p in body.get("parameters", ()) if not p[3]}


def _reached(reached: Reached, call: CallFacts) -> bool | None:
    if reached.when:
        return parse(reached.when).holds(call)
    return True if reached.always else None


def _overloads(index: Index, operator: str, call: CallFacts) -> list[str]:
    """The overload itself, or the overloads of a family that the call can mean."""
    family = index.family(operator)
    if len(family) <= 1:
        return family or [operator]
    bodies = {name: index.body(name) or {} for name in family}
    fitting = [name for name in family if _fits(bodies[name], call)]
    fitting = _preferred(fitting, bodies, call)
    return fitting or [operator if operator in family else family[0]]


def _preferred(
    fitting: list[str], bodies: Mapping[str, Mapping[str, Any]], call: CallFacts
) -> list[str]:
    """Without overloads for a number where a tensor is likely, and the reverse."""
    kinds = {name: {p[0]: p[1] for p in bodies[name].get("parameters", ())} for name in fitting}
    own = {name: kinds[name].get("self") for name in fitting}
    if call.argument("self").value is UNKNOWN and "T" in own.values():
        fitting = [name for name in fitting if own[name] != "Scalar"]
    for key, argument in call.arguments.items():
        if argument.given is not False and isinstance(argument.value, (int, float)):
            numbers = [name for name in fitting if kinds[name].get(key, "T") != "T"]
            fitting = numbers or fitting
    return fitting


def _fits(body: Mapping[str, Any], call: CallFacts) -> bool:
    parameters = {p[0]: p for p in body.get("parameters", ())}
    if any("Dimname" in p[1] for p in parameters.values()):
        return False
    given = {
        "self" if n == "input" and n not in parameters else n
        for n, argument in call.arguments.items()
        if argument.given is not False
    }
    if ("out" in body.get("tags", ())) != ("out" in given):
        return False
    if not given <= set(parameters):
        return False
    for name, argument in call.arguments.items():
        if argument.given is False:
            continue
        kind = parameters["self" if name == "input" and name not in parameters else name][1]
        # a string is never a number, and what has a dtype is a tensor
        if isinstance(argument.value, str) != ("str" in kind) and isinstance(
            argument.value, (str, int, float, list, tuple)
        ):
            return False
        if argument.dtype and "T" not in kind:
            return False
    return not call.complete or all(
        not p[3] or p[1] == "Out" or name in given for name, p in parameters.items()
    )


def _of_overloads(answers: list[Answer], call: CallFacts) -> Answer:
    """One answer for the overloads of a family: the plain one speaks, the others are possible."""
    if len(answers) == 1:
        return answers[0]
    plain = [a for a in answers if "." not in a.operator]
    first = max(plain or answers, key=lambda a: STATUS_ORDER[a.status])
    if not plain and len({a.verdict for a in answers}) > 1:
        first = replace(first, confidence=Confidence.POSSIBLE)
    unknown = list(first.conditions_unknown)
    for other in answers:
        if other is not first and STATUS_ORDER[other.status] > STATUS_ORDER[first.status]:
            unknown.append(Possibility(other.status, "", (other.operator,), other.evidence))
    return replace(
        first,
        conditions_unknown=tuple(unknown),
        overloads={a.operator: a.status for a in sorted(answers, key=lambda a: a.operator)},
    )


def _one(
    index: Index,
    name: str,
    operator: str,
    target: Target,
    stage: str,
    direction: str,
    call: CallFacts,
) -> Answer:
    body = index.body(operator)
    if body is None:
        raise LookupError(operator)
    variant = body["variants"][body["targets"][f"{target.path}@{target.sdk}"]]
    claims = variant[f"{stage}.{direction}"]
    sources = _Sources(index)
    if direction == "backward" and not claims:
        known = body.get("differentiable") is False
        return Answer(
            name, operator, str(target), stage, direction, Status.UNKNOWN, None,
            Confidence.POSSIBLE, (), exists=not known,
        )  # fmt: skip
    call = replace(call, defaults=_defaults(body) | dict(call.defaults))
    base = next((c for c in claims if "w" not in c and not c.get("u")), None)
    applies: list[dict[str, Any]] = []
    unknown: list[Possibility] = []
    met: list[str] = []
    for claim in claims:
        if claim is base:
            continue
        when = claim.get("w", "")
        truth = parse(when).holds(call) if when else None
        if truth is True and not claim.get("u"):
            applies.append(claim)
            met.append(when)
        elif truth is not False:
            unknown.append(
                Possibility(
                    Status(claim["s"]),
                    when,
                    tuple(claim.get("v", ())),
                    sources.of(claim["e"], claim.get("n", "")),
                )
            )
    chosen = max(applies, key=lambda c: STATUS_ORDER[Status(c["s"])]) if applies else base
    if chosen is None:
        chosen = {"s": Status.UNKNOWN, "c": Confidence.POSSIBLE, "e": []}
    status = Status(chosen["s"])
    unknown = [p for p in unknown if p.status is not status]
    return Answer(
        name,
        operator,
        str(target),
        stage,
        direction,
        status,
        status.verdict,
        Confidence(chosen["c"]),
        sources.of(chosen["e"], chosen.get("n", "")),
        tuple(met),
        tuple(unknown),
        tuple(Contradiction(Status(s), sources.of(e, n)) for s, e, n in chosen.get("x", ())),
        tuple(chosen.get("v", ())),
        chosen.get("n", ""),
        workarounds_for(operator, target.path),
        {operator: status},
    )


class _Sources:
    def __init__(self, index: Index) -> None:
        self._rows = index.sources

    def of(self, cited: Sequence[str], note: str) -> tuple[Evidence, ...]:
        """Strongest first; the note of a row belongs to its first citation."""
        found = []
        for position, text in enumerate(cited):
            name, _, place = text.partition("#")
            row = self._rows[name]
            source = row["source"]
            if place:
                # a folder or a tree, and the place is a file in it
                source += place if source.endswith(("/", ": ")) else f", {place}"
            says = row["says"] + (f": {note}" if note and position == 0 else "")
            found.append(
                (
                    row["stale"],
                    Evidence(
                        EvidenceKind(row["kind"]),
                        source.rstrip("/: "),
                        says,
                        row["path"],
                        row["sdk"],
                    ),
                )
            )
        strength = list(EvidenceKind)
        found.sort(key=lambda pair: (pair[0], strength.index(pair[1].kind)))
        return tuple(evidence for _, evidence in found)


def _merged(answers: list[Answer], sometimes: list[Answer], name: str) -> Answer:
    """One answer for several operators: the worst that is certain; the rest is possible."""
    pool = [a for a in answers if a.exists] or [a for a in sometimes if a.exists]
    if not pool:
        return (answers or sometimes)[0]
    worst = max(pool, key=lambda a: STATUS_ORDER[a.status])
    overloads: dict[str, Status] = {}
    for answer in (*answers, *sometimes):
        overloads |= answer.overloads
    differ = len({a.status.verdict for a in pool}) > 1
    unknown = list(worst.conditions_unknown)
    for answer in sometimes:
        if STATUS_ORDER[answer.status] > STATUS_ORDER[worst.status]:
            unknown.append(Possibility(answer.status, "", (answer.operator,), answer.evidence))
    confidence = worst.confidence
    if differ or not answers:
        confidence = weakest(confidence, Confidence.POSSIBLE)
    return replace(
        worst,
        name=name,
        confidence=max(confidence, worst.confidence, key=CONFIDENCE_ORDER.__getitem__),
        conditions_unknown=tuple(unknown),
        overloads=dict(sorted(overloads.items())),
    )
