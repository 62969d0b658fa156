"""From the events of a module to findings: rows and detectors matched, verdicts per target."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from neuronport import detectors
from neuronport.detectors import Answer, Detector, Hit
from neuronport.findings import (
    DECIDES,
    Confidence,
    Context,
    Finding,
    Location,
    Related,
    Role,
    TargetVerdict,
    Verdict,
    weakest,
)
from neuronport.readers.python.facts import Event, Guard, ModuleFacts, Span, Value
from neuronport.rulebook import words
from neuronport.rulebook.listeners import Listeners
from neuronport.rulebook.match import Matched, matches, may_match
from neuronport.rulebook.model import WEAK, Rulebook, Spec
from neuronport.source import decided, places, seeds, versions
from neuronport.source.decided import Decided
from neuronport.source.hot import SELDOM
from neuronport.source.index import TreeIndex
from neuronport.source.reach import Reach, reaches
from neuronport.source.summary import Summary
from neuronport.source.unbound import unbound
from neuronport.source.view import ModuleView
from neuronport.targets import Target

_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_INDENT = re.compile(r"\s*")
_PLACES = frozenset(("device", "runtime", "distributed"))
"""Areas of what is of one device: behind a test that ends the program without it, it does not come
about. The rest of a program is ported as if the test were not there."""
_COSTS = frozenset(("control", "operators", "shapes", "slowness"))
_COSTLY = frozenset(
    ("int64-gather", "float16-tensor", "float64-tensor", "api/torch.jit.trace:module")
)
"""What costs time where it runs every step: a test runs once, and mostly on the CPU; and what is a
test's subject."""

_NUMBER_OF = "api/torch.Tensor.get_device"
_MODULE_MOVES = "api/torch.nn.Module.cuda"
_BUILDS = ", so the sources for CUDA are not built, and the extension has no part for Neuron"
_RIGHT = ", which is right here: what is asked, or done, with it only CUDA has"
_TYPES = frozenset(("annotation", "isinstance"))
"""Roles of names that stand for a type only."""
_TYPED = re.compile(r"torch\.cuda(\.sparse)?\.\w+Tensor$")
_NAMED = frozenset(("use", "import"))
_REPLACES = frozenset(("store", "del"))
_SETTINGS = re.compile(r"\.(backends|_?config|settings|options|flags)(\.|$)")
"""In a dotted name: to assign it is what it is there for."""
_ANYWHERE = ", as on a host without an accelerator"
_NOBODY: tuple[bool, tuple[Detector, ...]] = (False, ())


class Selection:
    """What ``--select`` and ``--ignore`` leave; the words are those of ``rulebook.words``."""

    def __init__(self, select: Sequence[str] = (), ignore: Sequence[str] = ()) -> None:
        self.select = tuple(select)
        self.ignore = tuple(ignore)

    def wants(self, finding: Finding) -> bool:
        if self.select and not any(words.fits(word, finding) for word in self.select):
            return False
        return not any(words.fits(word, finding) for word in self.ignore)


class Judge:
    """Judges modules for a set of targets."""

    def __init__(self, book: Rulebook, targets: Sequence[Target], index: TreeIndex) -> None:
        self.book = book
        self.targets = tuple(targets)
        self.index = index
        self.reaches: list[Reach] = []
        """Of the module judged last: its places that take a device chosen elsewhere."""
        self._listeners = Listeners(
            d for d in detectors.all_detectors().values() if d.rule in book.rules
        )
        self._judged: dict[tuple[Any, ...], Mapping[str, TargetVerdict]] = {}
        self._routes: dict[tuple[str, str], tuple[bool, tuple[Detector, ...]]] = {}
        self._missing = frozenset.intersection(
            *(book.missing.get(path, frozenset()) for path in {t.path for t in self.targets})
        )

    def missing(self, dotted: str) -> bool:
        """Whether an import cannot work on any of the targets."""
        head = dotted
        while head:
            if head in self._missing:
                return True
            head = head.rpartition(".")[0]
        return False

    def module(
        self, facts: ModuleFacts, summary: Summary, lines: Sequence[str], role: Role
    ) -> tuple[list[Finding], list[Finding]]:
        """The findings and the references of one module; ``lines`` are its decoded lines."""
        view = ModuleView(facts, summary, self.index, self.missing, self.targets)
        found: dict[tuple[Span, str], Finding] = {}
        canonical, listeners = self.index.canonical, self._listeners
        route = self._route
        known: dict[str, tuple[bool, tuple[Detector, ...]]] = {}
        patched: set[int] = set()
        for event in facts.events:
            if event.kind == "use":
                if event.value is not None and self._never_imported(event.value):
                    continue
                routed = known.get(event.name)
                if routed is None:
                    name = canonical(event.name, summary)
                    routed = route("use", name)
                    if (
                        routed != _NOBODY
                        and name[:1] != "@"
                        and self._replaced(event.name, summary)
                    ):
                        routed = _NOBODY
                    known[event.name] = routed
            elif event.kind == "item" and _is_place(event.args):
                continue
            else:
                routed = route(event.kind, event.name)
            row, heard = routed
            if row and not (event.role in _REPLACES and self._replaced_again(event, view, patched)):
                for match in matches(event, view, self.book):
                    if match.spec.whole and event.kind == "use" and _part(match.spec, event, view):
                        continue
                    self._keep(found, self._row(match, event, view, lines, role))
            if event.kwargs:
                heard = listeners.by_keyword(event, heard)
            for detector in heard:
                for hit in detector.check(event, view):
                    self._keep(
                        found,
                        self._hit(self.book.rules[detector.rule], hit, event, view, lines, role),
                    )
        kept = self._without_superseded(list(found.values()))
        self.reaches = reaches(view)
        findings = [f for f in kept if not f.is_reference]
        references = [f for f in kept if f.is_reference]
        return findings, references

    @staticmethod
    def _replaced_again(event: Event, view: ModuleView, patched: set[int]) -> bool:
        """Whether another name is replaced in the same function: one finding says it of all."""
        if not is_replaced(event):
            return False
        scope = view.ctx(event).scope
        again = scope in patched
        patched.add(scope)
        return again

    def _never_imported(self, value: Value) -> bool:
        """Whether a name is what the program puts in the place of an import that cannot work."""
        return value is not None and any(map(self.missing, value[1]))

    def _replaced(self, name: str, summary: Summary) -> bool:
        """Likewise of a name that another module of the tree has from such an import."""
        local = self.index.localize(name, summary)
        found = self.index.split(local) if local[:1] == "@" else None
        value = found[0].exports.get(found[1]) if found is not None else None
        if value is None or value[0] != "tried" or value[3] is None or value[3][0] != "ref":
            return False
        return self._never_imported(value)

    def _route(self, kind: str, name: str) -> tuple[bool, tuple[Detector, ...]]:
        """Whether a row may speak of an event, and the detectors that hear of it."""
        known = self._routes.get((kind, name))
        if known is None:
            known = (may_match(kind, name, self.book), self._listeners.named(kind, name))
            self._routes[kind, name] = known
        return known

    def _without_superseded(self, found: list[Finding]) -> list[Finding]:
        """Leave out what a finding around it says better."""
        yielding = [
            f for f in found if f.rule in self.book.rules and self.book.rules[f.rule].yields
        ]
        if yielding:
            known = {f.location for f in found if f.rule in self.book.rows}
            found = [f for f in found if f not in yielding or f.location not in known]
        outer = [
            (f, spec.supersedes)
            for f in found
            for spec in (self.book.get(f.rule),)
            if spec is not None and spec.supersedes
        ]
        if not outer:
            return found
        return [
            f
            for f in found
            if not any(
                f is not around
                and f.rule in rules
                and _inside(f.location, around.location)
                # What a row says of a call it does not say of each of its lines.
                and (around.rule in self.book.rules or f.location.line == around.location.line)
                for around, rules in outer
            )
        ]

    @staticmethod
    def _keep(found: dict[tuple[Span, str], Finding], finding: Finding | None) -> None:
        if finding is None:
            return
        place = finding.location
        key = (Span(place.line, place.column, place.end_line, place.end_column), finding.rule)
        found.setdefault(key, finding)

    # ---- from match to finding --------------------------------------------------------------------

    def _row(
        self, match: Matched, event: Event, view: ModuleView, lines: Sequence[str], role: Role
    ) -> Finding | None:
        spec = match.spec
        if event.kind in _NAMED and _is_beside(event.name, view, lines):
            return None
        guard = view.skipping_guard(event)
        if guard is not None and spec.answer and guard.kind == "bool" and event.kind == "use":
            guard = None  # ``device == "cuda" and not is_available()`` is one question
        unreached = view.unreached(event) if guard is None else None
        if guard is None and unreached is None and spec.area in _PLACES and not spec.answer:
            unreached = view.ended(event)
        skipped = (
            guard is not None
            or unreached is not None
            or (event.kind == "import" and view.import_is_guarded(event, spec.raises))
        )
        failed = 0 if skipped else view.after_failed_import(event)
        skipped = skipped or bool(match.excused) or failed > 0
        override = None
        sure, instead = match.confidence, _fitting(match, event, view)
        message = _message(spec, match, event, view)
        if is_replaced(event):
            override, sure = Verdict.LOCKS_IN, Confidence.POSSIBLE
            message = f"{match.name} is replaced here: whoever calls it runs what takes its place"
            instead = "replace it only where that device is used"
        elif spec.id in seeds.ALSO and seeds.is_seeded(event, view):
            sure = Confidence.POSSIBLE
            message = f"{match.name}: what seeds PyTorch alike beside it seeds Neuron too"
            instead = "nothing: what seeds PyTorch beside it is enough"
        elif match.imported:
            override = Verdict.LOCKS_IN
        elif spec.said and versions.only_said(event, view, _line(lines, event.at[0])):
            message = f"{match.name} is only written down here: {spec.said} where there is no CUDA"
            instead = f"nothing: {spec.said} is what it says"
        elif spec.answer and event.kind == "attr" and _does_nothing(event, lines):
            override, sure = Verdict.LOCKS_IN, Confidence.POSSIBLE
            message = f"{match.name}: {spec.answer} on Neuron, and nothing is done where it is True"
            instead = "leave the test out"
        elif event.role == "isinstance" and _TYPED.match(match.name):
            stops = decided.is_asserted(event, view)
            override = Verdict.BREAKS if stops else Verdict.DIVERGES
            message = f"isinstance with {match.name} is False for every tensor that is not on CUDA"
            if stops:
                message += ", and the program stops here"
            instead = "x.is_floating_point(), x.dtype == …, or x.device.type for what is asked here"
        elif event.role in _TYPES:
            override = Verdict.BENIGN
            message = f"{match.name} is named as a type only; its uses are judged where they stand"
        elif (
            match.name.startswith("torch.float8_")
            and event.role == "load"
            and (view.compared(event) or view.described(event))
        ):
            override = Verdict.BENIGN
            message = f"{match.name} is only asked about: what holds it is judged where it is made"
        elif event.kind == "use" and event.role == "load" and view.compared(event):
            override = Verdict.LOCKS_IN
            message = f"{match.name} is compared with: Neuron's is another"
            if _TYPED.match(match.name):
                instead = "x.dtype and x.device.type, each asked for what is meant here"
        elif event.role == "load" and _TYPED.match(match.name) and _is_default(event, view):
            # The row of what is called says so.
            sure = Confidence.POSSIBLE
            instead = "torch.set_default_device(device); torch.set_default_dtype(dtype)"
        elif event.role == "load" and _TYPED.match(match.name) and not _casts(event, view):
            # What is made of it later is not seen.
            sure = weakest(sure, Confidence.LIKELY)
        elif spec.answer and event.kind == "attr" and decided.lets_through(event, view):
            message = (
                f"{match.name}: {spec.answer} on Neuron, so that this lets Neuron's tensors pass "
                "as it does the CPU's"
            )
        elif spec.id == _NUMBER_OF and decided.compares_numbers(event, view):
            sure = Confidence.POSSIBLE
            message = f"{match.name}: both sides are numbers alike, on Neuron as on CUDA"
        elif spec.id == _MODULE_MOVES and (bare := places.holds_nothing(event.value, view)):
            override = Verdict.LOCKS_IN
            message = f"{match.name}: {bare} holds neither parameters nor buffers: nothing is moved"
            instead = "remove it: there is nothing to move"
        elif spec.answer and event.kind == "attr" and decided.for_kernels(event, view):
            override = Verdict.LOCKS_IN
            message = (
                f"{match.name}: {spec.answer} on Neuron, which takes the portable way: the other is "
                "that of a kernel compiled for CUDA"
            )
            instead = "leave the test: Neuron has no such kernel, and does not come to it"
        elif spec.answer and event.kind == "use":
            stopped = any(
                g.kind == "raise" and view.truth_of(g.test) is (not g.polarity)
                for g in view.guards(event)
            )
            override, message = _answered(spec, match, event, view, skipped or stopped)
            if override is Verdict.LOCKS_IN and seeds.only_seeds(event, view):
                sure = Confidence.POSSIBLE
                message += ", but what seeds PyTorch beside it seeds Neuron too"
                instead = "nothing: what seeds PyTorch beside it is enough"
            elif override is Verdict.LOCKS_IN and message.endswith(_RIGHT):
                instead = "leave it: what it asks for, or sets, is CUDA's own"
            elif message.endswith(_BUILDS):
                instead = (
                    "keep it for the GPU build; on Neuron what the kernels compute takes PyTorch "
                    "operators or an NKI kernel"
                )
            elif override is None and message.endswith(_ANYWHERE):
                sure = weakest(sure, Confidence.LIKELY)  # what becomes of the answer is not seen
        if (
            (guard is not None or unreached is not None)
            and _tells_of_cuda(spec, event, override)
            and message == _message(spec, match, event, view)
        ):
            # What it would do there does not come about.
            message = (
                f"{match.name} stands behind a test for CUDA, which a Neuron host does not pass"
            )
        if spec.seldom is not Confidence.CERTAIN and not _again(event, view):
            sure = weakest(sure, spec.seldom)
        return self._finding(
            spec,
            Hit(event.span, message, sure, override, replacement=instead),
            event,
            view,
            lines,
            role,
            skipped,
            guard,
            match.imported or (event.role in _TYPES and override is Verdict.BENIGN),
            match.excused or (f"the import in line {failed} fails and is caught" if failed else ""),
            unreached,
            match.member,
        )

    def _hit(
        self,
        spec: Spec,
        hit: Hit,
        event: Event,
        view: ModuleView,
        lines: Sequence[str],
        role: Role,
    ) -> Finding | None:
        guard = view.skipping_guard(event) if hit.guarded else None
        unreached = view.unreached(event) if hit.guarded and guard is None else None
        if hit.guarded and guard is None and unreached is None and spec.area in _PLACES:
            unreached = view.ended(event)
        skipped = guard is not None or unreached is not None
        return self._finding(
            spec, hit, event, view, lines, role, skipped, guard, False, "", unreached
        )

    def _finding(
        self,
        spec: Spec,
        hit: Hit,
        event: Event,
        view: ModuleView,
        lines: Sequence[str],
        role: Role,
        skipped: bool,
        guard: Guard | None,
        imported: bool,
        excused: str = "",
        unreached: Related | None = None,
        member: Spec | None = None,
    ) -> Finding | None:
        if event.kind == "use" and event.value is not None:
            # It is the program's own, where the import does not work.
            hit = replace(hit, confidence=weakest(hit.confidence, Confidence.LIKELY))
        elif event.kind == "use" and not skipped and (line := view.optional_import(event.name)):
            # The program goes another way where the library is not.
            step = Related(view.facts.path, line, "imported where a failure is caught")
            hit = replace(
                hit,
                confidence=weakest(hit.confidence, Confidence.LIKELY),
                related=(*hit.related, step),
            )
        if event.role == "decorator" and not hit.replacement:
            hit = replace(hit, replacement=_as_a_block(spec))
        # What another branch places runs all the same; in one expression there is nothing to write.
        placed = guard is not None and places.placed_otherwise(event, guard, view)
        nowhere = (
            unreached is not None
            or placed
            or (guard is not None and guard.kind in ("decorator", "skip"))
        )
        if guard is not None and role is Role.TEST and decided.is_aside(guard, view):
            nowhere = True
        if guard is not None and decided.asks_tensor(guard.test, view):
            # What comes in on Neuron goes the other way, and may do so on the chip.
            sure = weakest(hit.confidence, Confidence.LIKELY)
            verdict = hit.verdict or (Verdict.LOCKS_IN if self._on_host(spec) else None)
            hit = replace(hit, verdict=verdict, confidence=sure)
        if not skipped and self._raises(spec, hit) and view.on_request(event):
            hit = replace(hit, confidence=weakest(hit.confidence, Confidence.LIKELY))
        if view.of_other_vendor(guard, unreached):
            # Neither CUDA's machines nor Neuron's come here.
            hit = replace(hit, confidence=weakest(hit.confidence, Confidence.POSSIBLE))
            nowhere = True
        between = _between_traces(view.hot(event)) if spec.tells_traces else ""
        by_target = self._verdicts(spec, hit, role, skipped, imported, nowhere, member, between)
        if by_target and (others := view.asked_besides(event)):
            by_target = {t: v for t, v in by_target.items() if t.partition("@")[0] not in others}
        if not by_target:
            return None
        if view.for_xla(event):
            by_target = _not_on_native(by_target)
        if spec.area == "shapes" and view.made_for_xla:
            by_target = _unsure_on_xla(by_target)
        return Finding(
            rule=spec.id,
            area=spec.area,
            location=locate(view.facts.path, hit.span, lines),
            message=hit.message,
            why=spec.title,
            effort=spec.effort,
            by_target=by_target,
            context=Context(
                scope=view.scope(event),
                hot=_every_step(event, view),
                guarded_by=_condition(guard, view, event, skipped)
                or (unreached.place if unreached else excused),
                role=role,
            ),
            group=hit.group,
            related=(
                *hit.related,
                *_guard_step(guard, view),
                *((unreached,) if unreached is not None else ()),
            ),
            fix=None
            if event.role == "isinstance"
            or (placed and guard is not None and guard.kind == "ifexp")
            else spec.fix,
            snippet=snippet(lines, hit.span.line),
        )

    def _on_host(self, spec: Spec) -> bool:
        """Whether a rule says of what is skipped on Neuron that the program runs on the host."""
        return any(
            spec.verdict(target, skipped=True) is Verdict.FALLS_BACK for target in self.targets
        )

    def _raises(self, spec: Spec, hit: Hit) -> bool:
        if hit.verdict is not None:
            return hit.verdict is Verdict.BREAKS
        return any(spec.verdict(target) is Verdict.BREAKS for target in self.targets)

    def _spoken_of(self, hit: Hit) -> list[Target]:
        return [t for t in self.targets if not hit.paths or t.path in hit.paths]

    def _answers(
        self, spec: Spec, hit: Hit, answers: Answer, role: Role
    ) -> Mapping[str, TargetVerdict]:
        by_target: dict[str, TargetVerdict] = {}
        for target in self._spoken_of(hit):
            answer = answers(target)
            if answer is not None:
                sure = weakest(answer.confidence, hit.confidence, _ceiling(spec, role))
                by_target[str(target)] = (
                    answer if sure is answer.confidence else replace(answer, confidence=sure)
                )
        return by_target

    def _verdicts(
        self,
        spec: Spec,
        hit: Hit,
        role: Role,
        skipped: bool,
        imported: bool,
        nowhere: bool,
        member: Spec | None,
        between: str,
    ) -> Mapping[str, TargetVerdict]:
        """The verdicts of a rule, the same for all findings of which nothing else is known: what is
        one object is sent and written once."""
        key = (
            spec.id,
            hit.verdict,
            hit.verdict_on,
            hit.confidence,
            hit.replacement,
            hit.paths,
            hit.asks,
            role,
            skipped,
            imported,
            nowhere,
            member.id if member is not None else "",
            between,
        )
        by_target = self._judged.get(key)
        if by_target is None:
            if hit.answer is not None:
                by_target = self._answers(spec, hit, hit.answer, role)
            else:
                by_target = self._looked_up(
                    spec, hit, role, skipped, imported, nowhere, member, between
                )
            if hit.answer is None or hit.asks:
                self._judged[key] = by_target
        return by_target

    def _looked_up(
        self,
        spec: Spec,
        hit: Hit,
        role: Role,
        skipped: bool,
        imported: bool,
        nowhere: bool,
        member: Spec | None,
        between: str,
    ) -> Mapping[str, TargetVerdict]:
        by_target: dict[str, TargetVerdict] = {}
        for target in self._spoken_of(hit):
            verdict = spec.verdict(target, skipped=skipped)
            if verdict is None:
                continue
            own = hit.verdict if target.path in (hit.verdict_on or target.path) else None
            if own is not None and not (imported and verdict.is_reference):
                verdict = own
                if skipped and not verdict.is_reference and verdict is not Verdict.LOCKS_IN:
                    guarded = spec.guarded.get(target.path)
                    verdict = guarded[0].verdict if guarded else Verdict.LOCKS_IN
            understood = weakest(hit.confidence, spec.cap(target))
            untraced = spec.untraced(target) if between and not skipped else None
            if untraced is not None and own is None:
                verdict = untraced
                if between == "loop":
                    # Between traced modules tensors lie on the CPU: samplers, pipelines.
                    understood = Confidence.POSSIBLE
            if nowhere and not verdict.is_reference:
                verdict = Verdict.LOCKS_IN  # a test that is skipped does not run on the CPU either
            evidence = spec.evidence_for(target.path)
            sure = self._confidence(spec, understood, evidence, role)
            advice = hit.replacement or spec.replacement.get(target.path, "")
            if own is Verdict.BENIGN:
                advice = ""
            elif member is not None:
                # The import fails, or does not, as that of the package; what to write is its own.
                advice = member.replacement.get(target.path, advice)
                more = member.evidence_for(target.path)
                evidence = (*evidence, *(e for e in more if e not in evidence))
            by_target[str(target)] = TargetVerdict(verdict, sure, evidence, advice)
        return by_target

    @staticmethod
    def _confidence(
        spec: Spec, understood: Confidence, evidence: Iterable[object], role: Role
    ) -> Confidence:
        kinds = {getattr(e, "kind", None) for e in evidence}
        weak = (kinds and kinds <= WEAK) or spec.rests_on_inference
        cap = Confidence.LIKELY if weak else Confidence.CERTAIN
        return weakest(spec.confidence, understood, cap, _ceiling(spec, role))


def _not_on_native(by_target: Mapping[str, TargetVerdict]) -> Mapping[str, TargetVerdict]:
    """Verdicts of a place to which a program comes on PyTorch/XLA alone."""
    return {
        target: replace(said, verdict=Verdict.LOCKS_IN)
        if target.startswith("native") and not said.verdict.is_reference
        else said
        for target, said in by_target.items()
    }


def _is_beside(name: str, view: ModuleView, lines: Sequence[str]) -> bool:
    """Whether a package of a name lies beside the file, which puts folders on ``sys.path`` itself."""
    facts = view.facts
    folder = facts.module
    if not facts.path.endswith("/__init__.py"):
        folder = folder.rpartition(".")[0]
    if not folder or view.index.module(f"{folder}.{name.partition('.')[0]}") is None:
        return False
    return view.once("changes sys.path", lambda: any("sys.path" in line for line in lines))


def _unsure_on_xla(by_target: Mapping[str, TargetVerdict]) -> Mapping[str, TargetVerdict]:
    """Verdicts of a place that was written for models on that path: who runs them knows of shapes."""
    return {
        target: replace(said, confidence=weakest(said.confidence, Confidence.POSSIBLE))
        if target.startswith("xla")
        else said
        for target, said in by_target.items()
    }


def _part(spec: Spec, event: Event, view: ModuleView) -> bool:
    """Whether a use is inside a function that is judged as a whole, at its decorator."""
    for guard in view.guards(event):
        if guard.kind == "decorator" and guard.test is not None:
            test = guard.test
            if view.name(test[1] if test[0] == "call" else test) in spec.whole:
                return True
    return False


def _is_place(args: tuple[Value, ...] | None) -> bool:
    """Whether an element is taken by a number that is written: nothing is said of that."""
    index = args[0] if args else None
    return index is not None and index[0] == "const" and type(index[1]) is int


def is_replaced(event: Event) -> bool:
    """Whether a function or a class of a library is replaced by something else."""
    return (
        event.kind == "use"
        and event.role in _REPLACES
        and _SETTINGS.search(event.name) is None
        and not (event.args and event.args[0] is not None and event.args[0][0] == "const")
    )


def _between_traces(hot: str) -> str:
    """Where in a program a place runs that no trace holds: in the loop that trains, in another
    (``loop``); empty: in a forward, or who knows where."""
    if not hot or "forward" in hot:
        return ""
    return "training" if "training" in hot else "loop"


def _every_step(event: Event, view: ModuleView) -> bool:
    hot = view.hot(event)
    return bool(hot) and not hot.endswith(SELDOM) and not places.seldom(event, view)


_BATCHES = re.compile(r"collat|batch|loader|__getitem__|__iter__|__next__", re.I)
"""In the name of a function or its class: it makes the batches that a loop is given."""


def _again(event: Event, view: ModuleView) -> bool:
    """Whether a place is in a loop, makes batches for one, or runs every step."""
    return (
        bool(view.ctx(event).loops)
        or _every_step(event, view)
        or _BATCHES.search(view.scope(event)) is not None
    )


def _ceiling(spec: Spec, role: Role) -> Confidence:
    costs = spec.area in _COSTS or spec.id in _COSTLY
    return Confidence.POSSIBLE if costs and role is Role.TEST else Confidence.CERTAIN


def _fitting(match: Matched, event: Event, view: ModuleView) -> str:
    """What fits the place, where the row's replacement speaks of several uses; empty: that does."""
    if match.imported or event.role in _TYPES:
        return ""
    texts = match.spec.replacement
    if match.name == "torch.cuda.set_device" and (
        view.imports("horovod") or "horovod" in view.facts.path.rpartition("/")[2].lower()
    ):
        return (
            "leave it to Horovod on GPUs: on Neuron this goes with the rest of it, and torch.distributed, "
            "with one process per core, takes its place"
        )
    if match.name.startswith("torch.backends."):
        # A setting that is only asked for, where its row speaks of whoever sets it.
        if event.role == "load" and any(text.startswith("remove") for text in texts.values()):
            return "it is only read here: keep it for CUDA, it says nothing on Neuron"
    elif match.name.startswith("torch.cuda.") and match.name.endswith("Tensor"):
        return _typed(texts.get("native", ""), event, view)
    return ""


_A_DEVICE = re.compile(r"(?<![\w.])device\.type")


def _as_a_block(spec: Spec) -> str:
    """What is advised of a context that stands as a decorator, where it names a device: there is none
    when the decorator is made. Empty: what the rule says fits."""
    text = spec.replacement.get("native", "")
    if not text.startswith("torch.autocast(") or "device.type" not in text:
        return ""
    block = _A_DEVICE.sub("x.device.type", text.partition("), ")[0].removesuffix(")"))
    on_xla = spec.replacement.get("xla", "")
    more = "" if on_xla.startswith("torch.autocast(") else f"; on PyTorch/XLA {on_xla}"
    return f"with {block}): inside the function, where there is a tensor x to ask{more}"


_CASTING = frozenset(("type", "to", "set_default_tensor_type"))
_DTYPE = re.compile(r"torch\.tensor\(data, dtype=(torch\.\w+)")


def _typed(text: str, event: Event, view: ModuleView) -> str:
    """A tensor of a type: of sizes, of data, or the type itself handed on."""
    found = _DTYPE.match(text)
    if found is None:
        return ""
    options = f"dtype={found[1]}, device=device"
    of_sizes, of_data = f"torch.empty(size, {options})", f"torch.tensor(data, {options})"
    if event.role != "call":
        return (
            f"x.to(device, {found[1]}) for a cast; to make tensors, {of_sizes} for sizes and "
            f"{of_data} for data"
        )
    args = event.args or ()
    first = args[0] if args else None
    if len(args) > 1 or not args:
        return of_sizes
    known = view.constant(first)
    if known[0] and type(known[1]) is int:
        return of_sizes
    if first is not None and (
        first[0] in ("list", "tuple", "comp") or view.kind(first).kind in ("array", "tensor")
    ):
        return of_data
    if view.text(first).endswith((".shape", ".size()")):
        return of_sizes
    return f"{of_sizes} for sizes, {of_data} for data"


def _message(spec: Spec, match: Matched, event: Event, view: ModuleView) -> str:
    if match.imported:
        return f"{match.name} is imported; its uses are judged where they stand"
    note = f": {spec.note}" if spec.note else ""
    if spec.on == "import":
        return f"imports {match.name}{note}"
    return f"{match.name}{_chosen(spec, event, view)}{note}"


def _chosen(spec: Spec, event: Event, view: ModuleView) -> str:
    """The arguments for which the row speaks, as they are written: several rows can judge one call."""
    if event.role != "call":
        return ""
    written = dict.fromkeys(
        f"{condition.arg}={view.text(view.argument(event, condition.arg, condition.pos))}"
        for condition in spec.when
        if view.given(event, condition.arg, condition.pos)
    )
    return f"({', '.join(written)})" if written else ""


def _tells_of_cuda(spec: Spec, event: Event, override: Verdict | None) -> bool:
    """Whether the row's note says what a call of CUDA's does where it is run."""
    return (
        bool(spec.note)
        and not spec.answer
        and override is None
        and event.kind == "use"
        and event.role in ("call", "load")
        and spec.name.startswith("torch.cuda.")
    )


def _does_nothing(event: Event, lines: Sequence[str]) -> bool:
    """Whether a test holds nothing but ``pass``, and has no other way."""
    at = event.at[0] - 1
    test = lines[at] if at < len(lines) else ""
    if not test.lstrip().startswith("if ") or not test.partition("#")[0].rstrip().endswith(":"):
        return False
    after = [line for line in lines[at + 1 : at + 8] if line.strip() and line.strip()[0] != "#"]
    if not after or after[0].partition("#")[0].strip() != "pass":
        return False
    return len(after) < 2 or not after[1].lstrip().startswith(("else:", "elif "))


def _is_default(event: Event, view: ModuleView) -> bool:
    """Whether a type becomes the one of all tensors: ``torch.set_default_tensor_type(…)``."""
    return any(
        call.name == "torch.set_default_tensor_type" and ("ref", event.name) in (call.args or ())
        for call in view.calls_at.get(event.at[0], ())
    )


def _casts(event: Event, view: ModuleView) -> bool:
    """Whether a type is handed to a cast: ``x.type(torch.cuda.FloatTensor)``."""
    named = ("ref", event.name)
    return any(
        call.name.rpartition(".")[2] in _CASTING and named in (call.args or ())
        for n in range(event.at[0], event.at[0] - 3, -1)
        for call in view.calls_at.get(n, ())
    )


def _answered(
    spec: Spec, match: Matched, event: Event, view: ModuleView, skipped: bool
) -> tuple[Verdict | None, str]:
    """The verdict, where it is not the row's, and the message of a question about the host."""
    decides = decided.of_question(event, view)
    says = f"{match.name}: the answer is {spec.answer}"
    if skipped:
        return Verdict.LOCKS_IN, f"{says}; a Neuron host does not come to ask"
    never = unbound(view).get(event.at[0])
    if never is not None and decides not in (Decided.STOPS, Decided.STOPS_CUDA):
        never_set = f"so {never.name} is never set, and line {never.line} stops with an error"
        return Verdict.BREAKS, f"{says}, {never_set}"
    if decides is Decided.DEVICE:
        return None, f"{says}, so this takes the way meant for the CPU and the chip stays idle"
    if decides is Decided.MARKS:
        return Verdict.LOCKS_IN, f"{says}: whether a test is skipped rests on CUDA here"
    if decides is Decided.LISTS:
        return Verdict.LOCKS_IN, f"{says}, so CUDA is not in this list, and Neuron is in neither"
    if decides is Decided.STOPS:
        return Verdict.BREAKS, f"{says}, and the program stops here with an error"
    if decides is Decided.STOPS_CUDA:
        return Verdict.LOCKS_IN, f"{says}: where CUDA is asked for, the program ends here"
    if decides is Decided.EMPTIES:
        return Verdict.DIVERGES, f"{says}, so the loop over it does nothing, and nothing fails"
    if decides is Decided.BUILDS:
        return Verdict.LOCKS_IN, f"{says}{_BUILDS}"
    if decides is Decided.CUDAS_OWN:
        return Verdict.LOCKS_IN, f"{says}{_RIGHT}"
    if decides is Decided.HANDED:
        return Verdict.LOCKS_IN, f"{says}: that is what a function of this project is given here"
    if decides is Decided.SAYS:
        return Verdict.LOCKS_IN, f"{says}: that is what is written down or kept here"
    if decides is Decided.SKIPS:
        return Verdict.LOCKS_IN, f"{says}: what is meant for CUDA here does not happen on Neuron"
    return None, f"{says}{_ANYWHERE}"


def _condition(guard: Guard | None, view: ModuleView, event: Event, skipped: bool) -> str:
    if guard is not None:
        text = view.text(guard.test)
        return text if guard.polarity else f"not ({text})"
    if skipped and event.kind == "import":
        return "except ImportError"
    return ""


def _guard_step(guard: Guard | None, view: ModuleView) -> tuple[Related, ...]:
    if guard is None:
        return ()
    return (Related(view.facts.path, guard.line, DECIDES),)


def _inside(inner: Location, outer: Location) -> bool:
    return (outer.line, outer.column) <= (inner.line, inner.column) and (
        inner.end_line,
        inner.end_column,
    ) <= (outer.end_line, outer.end_column)


def locate(path: str, span: Span, lines: Sequence[str]) -> Location:
    """A span of ``ast`` (UTF-8 byte columns from 0) as 1-based code point columns."""
    return Location(
        path,
        span.line,
        _column(lines, span.line, span.column),
        span.end_line,
        _column(lines, span.end_line, span.end_column),
    )


def _column(lines: Sequence[str], line: int, offset: int) -> int:
    if not 0 < line <= len(lines):
        return offset + 1
    text = lines[line - 1]
    if text.isascii():
        return offset + 1
    starts, extra = _wide(text)
    before = bisect_left(starts, offset)
    return offset - extra[before] + 1


@lru_cache(maxsize=8)
def _wide(text: str) -> tuple[list[int], list[int]]:
    """Where the characters of several bytes begin, and how many bytes too many there are before
    the first, the second … of them: a line of megabytes may have a finding every few bytes."""
    starts: list[int] = []
    extra = [0]
    for character in _NOT_ASCII.finditer(text):
        starts.append(character.start() + extra[-1])
        extra.append(extra[-1] + len(character.group().encode("utf-8", "surrogatepass")) - 1)
    return starts, extra


def _line(lines: Sequence[str], line: int) -> str:
    return lines[line - 1] if 0 < line <= len(lines) else ""


def snippet(lines: Sequence[str], line: int) -> str:
    """A line as shown, cut before it is copied: it may be megabytes long."""
    if not 0 < line <= len(lines):
        return ""
    text = lines[line - 1]
    indent = _INDENT.match(text)
    start = indent.end() if indent else 0
    return text[start : start + 200].rstrip()
