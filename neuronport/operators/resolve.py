"""From rows to claims: merges evidence, and computes what nobody states from what is called.

A *claim* is "this operator, at this stage, has this status, if …". Stated rows come first. What
has no row and is written in terms of other operators gets the worst status among those it always
reaches; what only some calls reach, or only under conditions, becomes conditional claims.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from neuronport.findings import CONFIDENCE_ORDER, Confidence, EvidenceKind, weakest
from neuronport.operators.conditions import NOTHING_KNOWN, Condition
from neuronport.operators.tables import STATUS_ORDER, Callee, Row, Source, Status, Tables

_STRENGTH = {kind: rank for rank, kind in enumerate(EvidenceKind)}
_FUNCTIONAL_BACKENDS = ("xla",)
"""PyTorch does not give these the bodies of structured operators."""
_LAZY = ("xla",)
"""Compiled code is what operators did one by one: no graph is made of them beforehand."""
_MOST_VIA = 8
"""How many callees a computed claim names."""
_MOST_EVIDENCE = 4


@dataclass(frozen=True, slots=True)
class Claim:
    status: Status
    confidence: Confidence
    evidence: tuple[str, ...]
    when: Condition | None = None
    uncertain: bool = False
    """Only some calls: which ones is not known."""
    via: tuple[str, ...] = ()
    """The chain of operators the status comes from, outermost first; empty: stated."""
    note: str = ""
    contradicted_by: tuple[tuple[Status, tuple[str, ...], str], ...] = ()
    """Weaker or older statements that say otherwise: status, evidence, note."""

    @property
    def unconditional(self) -> bool:
        return self.when is None and not self.uncertain


UNKNOWN = Claim(Status.UNKNOWN, Confidence.POSSIBLE, ())


class Resolver:
    """Claims of one path at one SDK."""

    def __init__(self, tables: Tables, path: str, sdk: str) -> None:
        self.tables = tables
        self.path = path
        self.sdk = sdk
        self._forward: dict[tuple[str, str], tuple[Claim, ...]] = {}
        self._open: set[tuple[str, str]] = set()
        self._backward: dict[tuple[str, str], tuple[Claim, ...]] = {}
        self._own: dict[tuple[str, str], bool] = {}

    def forward(self, operator: str, stage: str) -> tuple[Claim, ...]:
        """The base claim first, then the conditional ones."""
        key = (operator, stage)
        found = self._forward.get(key)
        if found is None:
            if key in self._open:  # a composite that reaches itself through another
                return (UNKNOWN,)
            self._open.add(key)
            found = self._forward[key] = self._resolve(operator, stage)
            self._open.discard(key)
        return found

    def backward(self, operator: str, stage: str) -> tuple[Claim, ...]:
        """Claims about the gradient; empty: the operator has none that is known."""
        key = (operator, stage)
        found = self._backward.get(key)
        if found is None:
            self._backward[key] = ()  # a composite that reaches itself adds nothing
            found = self._backward[key] = self._gradient(operator, stage)
        return found

    def _gradient(self, operator: str, stage: str) -> tuple[Claim, ...]:
        stated = self._rows(operator, stage, "backward")
        if stated:
            return stated
        functional = functional_form(operator, self.tables)
        if functional:
            return self.backward(functional, stage)
        recorded = self.tables.backwards.get(operator)
        body = self.tables.bodies.get(operator, ())
        if recorded is None or self._own_gradient_inside(operator, stage):
            # it has no gradient of its own: it is that of what it calls
            pairs = [
                (callee, claims)
                for callee in body
                if callee.operator != operator and (claims := self.backward(callee.operator, stage))
            ]
            return _computed(operator, pairs) if pairs else ()
        return _computed(operator, self._callees(recorded, stage))

    def _own_gradient_inside(self, operator: str, stage: str) -> bool:
        """Whether a composite calls something whose gradient this path writes itself."""
        key = (operator, stage)
        if key not in self._own:
            self._own[key] = False
            schema = self.tables.schemas.get(operator)
            self._own[key] = (
                schema is not None
                and schema.kind == "implicit"
                and any(
                    self._rows(callee.operator, stage, "backward")
                    or self._own_gradient_inside(callee.operator, stage)
                    for callee in self.tables.bodies.get(operator, ())
                )
            )
        return self._own[key]

    # -- one operator ------------------------------------------------------------------------------

    def _resolve(self, operator: str, stage: str) -> tuple[Claim, ...]:
        stated = self._rows(operator, stage, "forward")
        if stated and stated[0].unconditional:
            return stated
        computed = self._from_calls(operator, stage)
        if computed is None:
            return (UNKNOWN, *stated)
        return (computed[0], *stated, *computed[1:])

    def _rows(self, operator: str, stage: str, direction: str) -> tuple[Claim, ...]:
        """What the rows say: the unconditional claim, if any, then the conditional ones."""
        rows = [
            row
            for row in self.tables.rows.get((self.path, operator), ())
            if row.fits(stage, direction, self.sdk)
        ]
        conditional = [self._stated([row], row.when, stage) for row in rows if row.when is not None]
        plain = [row for row in rows if row.when is None]
        return (*([self._stated(plain, None, stage)] if plain else []), *conditional)

    def _stated(self, rows: list[Row], when: Condition | None, stage: str) -> Claim:
        """One claim from rows that speak of the same: the strongest and newest decides."""
        ordered = sorted(rows, key=lambda row: min(self._rank(s) for s in self._sources(row)))
        first = ordered[0]
        agreeing = [row for row in ordered if row.status is first.status]
        against = tuple(
            (row.status, row.evidence, row.note)
            for row in ordered
            if row.status is not first.status
        )
        sources = [source for row in agreeing for source in self._sources(row)]
        confidence = min((s.confidence for s in sources), key=CONFIDENCE_ORDER.__getitem__)
        if against:
            confidence = weakest(confidence, Confidence.LIKELY)
        evidence = dict.fromkeys(e for row in agreeing for e in row.evidence)
        notes = dict.fromkeys(row.note for row in agreeing if row.note)
        status = first.status
        for rule in self.tables.stage_rules:
            if (rule.path, rule.stage, rule.status) == (self.path, stage, status):
                status = rule.becomes
                evidence |= dict.fromkeys(rule.evidence)
                confidence = weakest(
                    confidence, *(self.tables.sources[n].confidence for n in rule.evidence)
                )
                break
        return Claim(
            status,
            confidence,
            tuple(evidence),
            when,
            note="; ".join(notes),
            contradicted_by=against,
        )

    def _sources(self, row: Row) -> list[Source]:
        return [self.tables.sources[name.partition("#")[0]] for name in row.evidence]

    @staticmethod
    def _rank(source: Source) -> tuple[bool, int, tuple[int, ...]]:
        """Smaller is stronger: what is stale yields to everything, then kind, then age."""
        date = tuple(-int(part) for part in source.date.split("-")) if source.date else (0,)
        return (source.stale, _STRENGTH[source.kind], date)

    # -- what nobody states ------------------------------------------------------------------------

    def _from_calls(self, operator: str, stage: str) -> tuple[Claim, ...] | None:
        schema = self.tables.schemas.get(operator)
        if schema is None:
            return None
        graph = stage == "compiled" and self.path not in _LAZY
        if graph:
            functional = functional_form(operator, self.tables)
            if functional:
                return self._as(operator, functional, stage)
        if graph and schema.kind != "implicit":
            # a graph holds the operator itself, unless a decomposition in Python takes it apart
            callees = self.tables.decompositions.get(operator)
            if callees is not None:
                return _capped(_computed(operator, self._callees(callees, stage)), "torch-core")
            if schema.kind == "structured":
                return None
        if schema.kind == "kernel" or (
            schema.kind == "structured" and self.path in _FUNCTIONAL_BACKENDS
        ):
            return None
        callees = self.tables.bodies.get(operator)
        if callees is None:
            # an overload that writes is, where nobody ran it, the one that does not and a copy
            functional = functional_form(operator, self.tables)
            return self._as(operator, functional, stage) if functional else None
        computed = _computed(operator, self._callees(callees, stage))
        if graph and schema.kind == "explicit":
            return _capped(computed, "torch-core")
        return computed

    def _as(self, operator: str, functional: str, stage: str) -> tuple[Claim, ...]:
        return tuple(
            replace(claim, via=(functional, *claim.via))
            for claim in self.forward(functional, stage)
        )

    def _callees(
        self, callees: Iterable[Callee], stage: str
    ) -> list[tuple[Callee, tuple[Claim, ...]]]:
        return [(callee, self.forward(callee.operator, stage)) for callee in callees]


def functional_form(operator: str, tables: Tables) -> str:
    """The overload without writing that a compiler's functionalization makes of ``operator``."""
    known = tables.functional_forms
    if operator not in known:
        known[operator] = _functional_form(operator, tables)
    return known[operator]


def _functional_form(operator: str, tables: Tables) -> str:
    schema = tables.schemas.get(operator)
    if schema is None or not schema.tags & {"out", "inplace"}:
        return ""
    name, dot, overload = operator.partition(".")
    base = name[:-1] if "inplace" in schema.tags and name.endswith("_") else name
    wanted = [p for p in schema.parameters if p.type not in ("Out",)]
    candidates = [f"{base}{dot}{overload}"] if "inplace" in schema.tags else []
    for suffix in ("_out", "out"):
        if overload.endswith(suffix):
            stem = overload.removesuffix(suffix).rstrip("_")
            candidates.append(f"{base}.{stem}" if stem else base)
    candidates += [n for n in tables.families.get(base, ()) if n not in candidates]
    for candidate in candidates:
        other = tables.schemas.get(candidate)
        if other is None or candidate == operator or other.tags & {"out", "inplace"}:
            continue
        if [p.name for p in other.parameters] == [p.name for p in wanted]:
            return candidate
    return ""


def _capped(claims: tuple[Claim, ...], source: str) -> tuple[Claim, ...]:
    """Claims that rest on an assumption: at most possible, and the assumption is named."""
    return tuple(
        replace(
            claim,
            confidence=Confidence.POSSIBLE,
            evidence=(*(e for e in claim.evidence if e != "torch-calls"), source),
        )
        for claim in claims
    )


def _computed(operator: str, callees: list[tuple[Callee, tuple[Claim, ...]]]) -> tuple[Claim, ...]:
    """The claims of a composite from the claims of what it calls."""
    base: list[tuple[str, Claim]] = []
    rest: list[Claim] = []
    for callee, claims in callees:
        plain: Claim | None = None
        applies: list[Claim] = []
        for claim in claims:
            if claim.unconditional:
                plain = claim
                if not callee.always:
                    rest.append(_passed_on(claim, callee, None, uncertain=True))
                continue
            condition = claim.when.bound(callee.given) if claim.when is not None else None
            uncertain = claim.uncertain or not callee.always
            if condition is not None and not condition.names() - {"chip"}:
                truth = condition.holds(NOTHING_KNOWN)
                if truth is False:
                    continue
                if truth is True and not uncertain:
                    applies.append(claim)
                    continue
                if claim.when is not None and claim.when.only_dtypes():
                    continue  # a limit of the callee's dtypes, of which nothing is known here
                condition, uncertain = None, True
            rest.append(_passed_on(claim, callee, condition, uncertain=uncertain))
        if callee.always:
            if applies:  # what holds for every such call replaces the base
                worst = max(applies, key=lambda claim: STATUS_ORDER[claim.status])
                base.append((callee.operator, worst))
            elif plain is not None:
                base.append((callee.operator, plain))
    return _summarized_base(base, rest)


def _passed_on(
    claim: Claim, callee: Callee, condition: Condition | None, *, uncertain: bool
) -> Claim:
    return replace(
        claim,
        confidence=weakest(claim.confidence, Confidence.LIKELY),
        when=condition,
        uncertain=uncertain,
        via=(callee.operator, *claim.via),
        contradicted_by=(),
    )


_GOOD = (Status.DEVICE, Status.DECOMPOSES)


def _summarized_base(base: list[tuple[str, Claim]], rest: list[Claim]) -> tuple[Claim, ...]:
    """The worst of ``base``, then what of ``rest`` would change it."""
    if not base:
        first = Claim(Status.DECOMPOSES, Confidence.LIKELY, ("torch-calls",))
    else:
        worst = max((claim for _, claim in base), key=lambda claim: STATUS_ORDER[claim.status])
        status = Status.DECOMPOSES if worst.status is Status.DEVICE else worst.status
        deciding = [(n, c) for n, c in base if STATUS_ORDER[c.status] == STATUS_ORDER[worst.status]]
        confidence = weakest(Confidence.LIKELY, *(c.confidence for _, c in deciding))
        evidence = dict.fromkeys(e for _, c in deciding for e in c.evidence)
        evidence.pop("torch-calls", None)
        if status in _GOOD:
            via = tuple(dict.fromkeys(n for n, _ in base if n))[:_MOST_VIA]
        else:
            name, claim = min(deciding, key=lambda pair: len(pair[1].via))
            via = (name, *claim.via) if name else claim.via
        first = Claim(
            status,
            confidence,
            ("torch-calls", *list(evidence)[:_MOST_EVIDENCE]),
            via=via,
            note=next((c.note for _, c in deciding if c.note and status not in _GOOD), ""),
        )
    return (first, *_distinct(c for c in rest if _changes(first, c)))


def _changes(base: Claim, claim: Claim) -> bool:
    """Whether a conditional claim says something that the base does not."""
    if claim.status in _GOOD or claim.status is Status.UNKNOWN:
        return claim.when is not None and claim.status not in (base.status, Status.DEVICE)
    return STATUS_ORDER[claim.status] > STATUS_ORDER[base.status] or base.status is Status.UNKNOWN


def _distinct(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Without repetitions of status and condition; the shortest chain stays."""
    best: dict[tuple[Status, str, bool], Claim] = {}
    for claim in claims:
        key = (claim.status, str(claim.when or ""), claim.uncertain)
        if key not in best or len(claim.via) < len(best[key].via):
            best[key] = claim
    return tuple(best.values())
