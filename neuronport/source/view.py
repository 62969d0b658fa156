"""One module as detectors and rows see it: its events, and understanding at hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from neuronport.findings import Confidence, Related, Role
from neuronport.readers.python.facts import MODULE_BODY, Ctx, Event, Guard, ModuleFacts, Value
from neuronport.source import decided, fixtures
from neuronport.source.hot import Hot
from neuronport.source.index import Call, TreeIndex
from neuronport.source.kinds import UNKNOWN, Kinds, Known
from neuronport.source.summary import Summary
from neuronport.source.truth import Truth
from neuronport.source.unreached import OTHER_VENDOR, Callers
from neuronport.source.usage import tensor_params
from neuronport.source.values import Atom, Resolver
from neuronport.targets import Target
from neuronport.workspace.roles import role_of_path

_T = TypeVar("_T")
_MAX_LINES = 8
_XLA_LIBRARIES = re.compile(
    r"(optimum\.neuron|transformers_neuronx|neuronx_distributed\w*|torch_neuronx)(\.|$)"
)
_TRACES = frozenset(
    ("torch_neuronx.trace", "torch_neuronx.dynamic_batch", "torch_neuronx.bucket_model_trace")
)
_IMPORT_ERRORS = frozenset(("*", "ImportError", "ModuleNotFoundError"))


class ModuleView:
    """What is known about one module and, through the index, about the values in it."""

    def __init__(
        self,
        facts: ModuleFacts,
        summary: Summary,
        index: TreeIndex,
        missing: Callable[[str], bool],
        targets: Sequence[Target] = (),
    ) -> None:
        self.facts = facts
        self.index = index
        self.summary = summary
        self.resolver = Resolver(index)
        self.kinds = Kinds(self.resolver)
        self.kinds.tensor_params = tensor_params(facts)
        self.truth = Truth(self.resolver, missing)
        self.missing = missing
        self.targets = targets
        """What is asked about."""
        self._hot = Hot(facts, self.summary, index, self.kinds)
        # By surroundings, of which events share many.
        self._reasons: dict[int, str] = {}
        self._skipping: dict[int, Guard | None] = {}
        self._unreached: dict[int, Related | None] = {}
        self._ended: dict[int, Related | None] = {}
        self._skips: dict[int, bool] = {}
        self._empty: dict[int, bool] = {}
        self._requested: dict[tuple[int, ...], bool] = {}
        self.callers = Callers(index, self.truth)
        self.ends = Callers(index, self.truth, True)
        self._known: dict[str, Any] = {}

    def once(self, name: str, find: Callable[[], _T]) -> _T:
        """What is found of the whole module under a name: looked for when it is first asked for."""
        known: _T | None = self._known.get(name)
        if known is None:
            known = self._known[name] = find()
        return known

    @property
    def paths(self) -> frozenset[str]:
        """The paths asked about: a program may be meant for one of them alone."""
        return frozenset(target.path for target in self.targets)

    # ---- surroundings -------------------------------------------------------------------------

    def ctx(self, event: Event) -> Ctx:
        return self.facts.contexts[event.ctx]

    def guards(self, event: Event) -> list[Guard]:
        """Outermost first."""
        return [self.facts.guards[i] for i in self.ctx(event).guards]

    def scope(self, event: Event) -> str:
        return self.facts.scopes[self.ctx(event).scope].qualname

    def imports(self, package: str) -> bool:
        """Whether the module imports a package, itself or through a module of the tree."""
        return package in self._packages

    @property
    def _packages(self) -> frozenset[str]:
        return self.once("packages", self._find_packages)

    def _find_packages(self) -> frozenset[str]:
        found: set[str] = set()
        for event in self.facts.events:
            if event.kind == "import":
                local = self.index.localize(event.name, self.summary)
                found.add(local.partition(".")[0])
                if local[:1] == "@":
                    inner = self.index.split(local)
                    if inner is not None:
                        found |= inner[0].packages()
        return frozenset(found)

    @property
    def tests(self) -> dict[int, list[Event]]:
        """What is tested, by line."""
        return self.once("tests", self._find_tests)

    def _find_tests(self) -> dict[int, list[Event]]:
        found: dict[int, list[Event]] = {}
        for event in self.facts.events:
            if event.kind == "test":
                found.setdefault(event.span.line, []).append(event)
        return found

    def tests_around(self, event: Event, name: str) -> list[Event]:
        """The tests of a kind (``not``, ``assert`` …) that begin in the line of a place and hold it."""
        at = event.at[:2]
        return [
            test
            for test in self.tests.get(at[0], ())
            if test.name == name and test.at[:2] <= at <= test.at[2:]
        ]

    @property
    def events_at(self) -> dict[int, list[Event]]:
        """Attributes that are read or set, by line."""
        return self.once("events_at", self._find_events_at)

    def _find_events_at(self) -> dict[int, list[Event]]:
        found: dict[int, list[Event]] = {}
        for event in self.facts.events:
            if event.kind == "attr":
                found.setdefault(event.at[0], []).append(event)
        return found

    @property
    def calls_at(self) -> dict[int, list[Event]]:
        """Calls with arguments, by line."""
        return self.once("calls_at", self._find_calls_at)

    def _find_calls_at(self) -> dict[int, list[Event]]:
        found: dict[int, list[Event]] = {}
        for event in self.facts.events:
            if event.args or event.kwargs:
                found.setdefault(event.at[0], []).append(event)
        return found

    @property
    def choices_at(self) -> dict[int, list[Any]]:
        """Conditional expressions, by line."""
        return self.once("choices_at", self._find_choices_at)

    def _find_choices_at(self) -> dict[int, list[Any]]:
        found: dict[int, list[Any]] = {}
        for event in self.facts.events:
            if event.kind == "ifexp" and event.value is not None:
                found.setdefault(event.at[0], []).append(event.value)
        return found

    @property
    def is_test(self) -> bool:
        """Whether the module belongs to the tests of a project."""
        return role_of_path(self.facts.path) is Role.TEST

    @property
    def made_for_xla(self) -> bool:
        """Whether the module hands inputs to models that a library of that path runs, which pads or
        buckets them. Who traces a model himself has to do so too."""
        return self.once("made for xla", self._find_made_for_xla)

    def _find_made_for_xla(self) -> bool:
        found = [e.name for e in self.facts.events if e.kind == "import"]
        return any(map(_XLA_LIBRARIES.match, found)) and not any(
            e.kind == "use" and e.name in _TRACES for e in self.facts.events
        )

    @property
    def guards_at(self) -> dict[int, list[int]]:
        """Conditions by the line of their test; indices into ``ModuleFacts.guards``."""
        return self.once("guards_at", self._find_guards_at)

    def _find_guards_at(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for i, guard in enumerate(self.facts.guards):
            found.setdefault(guard.line, []).append(i)
        return found

    @property
    def choosing(self) -> frozenset[int]:
        """The guards under which a device is chosen."""
        return self.once("choosing", self._find_choosing)

    @property
    def launching(self) -> frozenset[int]:
        """The guards under which a kernel of CUDA's is called."""
        return self.once("launching", lambda: decided.launching(self.facts))

    def _find_choosing(self) -> frozenset[int]:
        return decided.choosing(self.facts)

    def hot(self, event: Event) -> str:
        """Why the place of an event runs every step; empty: it does not, as far as is known."""
        reason = self._reasons.get(event.ctx)
        if reason is None:
            ctx = self.ctx(event)
            reason = self._reasons[event.ctx] = self._hot.reason(ctx.scope, ctx.loops)
        return reason

    def hot_by(self, call: Call) -> str:
        """Why what a call comes to runs every step, likewise."""
        return self._hot.by(call)

    def skipping_guard(self, event: Event) -> Guard | None:
        """The guard for which the place of an event does not run on a Neuron host, if any."""
        if event.ctx not in self._skipping:
            self._skipping[event.ctx] = self._find_skipping(self.ctx(event))
        return self._skipping[event.ctx]

    def _find_skipping(self, ctx: Ctx) -> Guard | None:
        for i in ctx.guards:
            guard = self.facts.guards[i]
            if i not in self._skips:
                self._skips[i] = self.truth.skipped(self.summary, guard)
            if self._skips[i] and not self._turns_off(ctx.scope, guard.test):
                return guard
        return self._contradicted(ctx)

    def _turns_off(self, scope: int, test: Value) -> bool:
        """Whether a function asks for an attribute that it turns off itself, perhaps only later on."""
        while test is not None and test[0] == "not":
            test = test[1]
        if test is None or test[0] != "attr" or test[1] is None or test[1][0] != "self":
            return False
        name = f"self.{test[2]}"
        return any(
            d.name == name and d.scope == scope and d.value == ("const", False)
            for d in self.facts.definitions
        )

    def _contradicted(self, ctx: Ctx) -> Guard | None:
        """The condition that does not hold because another way is taken first on a Neuron host:
        ``if asked and not THERE: … elif asked:`` with what is not there."""
        for i in ctx.guards:
            guard = self.facts.guards[i]
            test = guard.test
            if guard.polarity or test is None or test[0] != "bool" or test[1] != "and":
                continue
            open_ = [part for part in test[2] if self.truth_of(part) is not True]
            if len(open_) == 1 and len(test[2]) > 1:
                for j in ctx.guards:
                    other = self.facts.guards[j]
                    if other.polarity and other.test is not None and other.test == open_[0]:
                        return other
        return None

    def runs(self, event: Event) -> bool:
        """Whether a Neuron host comes to a place, as far as is known."""
        return self.skipping_guard(event) is None and self.unreached(event) is None

    def unreached(self, event: Event) -> Related | None:
        """Why the program does not come to a place on a Neuron host although no condition around it
        says so: it is in a loop over no devices, or every caller in the tree asks for CUDA first, or
        whoever imports the module."""
        if event.ctx not in self._unreached:
            self._unreached[event.ctx] = self._find_unreached(self.ctx(event))
        return self._unreached[event.ctx]

    def _find_unreached(self, ctx: Ctx) -> Related | None:
        for i in ctx.loops:
            if i not in self._empty:
                loop = self.facts.loops[i]
                self._empty[i] = loop.kind != "while" and self.truth_of(loop.over) is False
            if self._empty[i]:
                line = self.facts.loops[i].line
                return Related(self.facts.path, line, "there is nothing to loop over without CUDA")
        if line := fixtures.skipped_before(ctx, self):
            return Related(self.facts.path, line, "what is run before skips the test without CUDA")
        return self._reached_by(ctx, self.callers)

    def _reached_by(self, ctx: Ctx, callers: Callers) -> Related | None:
        scope = ctx.scope
        while scope >= 0:
            info = self.facts.scopes[scope]
            owner = f"{self.facts.module}.{info.qualname}" if info.kind == "class" else info.owner
            refused = self._refusing.get(owner)
            made = not info.qualname.endswith(".__init__") or refused in ctx.guards
            if refused is not None and made:
                line = self.facts.guards[refused].line
                says = "where there is no CUDA, none of this class is made: others are for other devices"
                return Related(self.facts.path, line, says)
            if info.kind == "function":
                found = callers.unreached(f"{self.facts.module}.{info.qualname}")
                if found is not None:
                    return found
            scope = info.parent
        return callers.unreached(f"{self.facts.module}.{MODULE_BODY}")

    def ended(self, event: Event) -> Related | None:
        """Where the program ends without CUDA before it comes to a place, if it does: what follows
        has to be ported all the same, but does nothing of itself on Neuron."""
        if event.ctx not in self._ended:
            self._ended[event.ctx] = self._find_ended(self.ctx(event))
        return self._ended[event.ctx]

    def _find_ended(self, ctx: Ctx) -> Related | None:
        for i in ctx.guards:
            guard = self.facts.guards[i]
            if self.truth.ended(self.summary, guard):
                says = "the program ends there where there is no CUDA"
                return Related(self.facts.path, guard.line, says)
        return self._reached_by(ctx, self.ends)

    def asked_besides(self, event: Event) -> frozenset[str]:
        """The paths that another alternative of the ``or`` asks for in which an event stands, so that the
        whole is true there: ``cuda.is_available() or is_torch_xla_available()``."""
        if not self._alternatives:
            return frozenset()
        found: set[str] = set()
        line = event.at[0]
        for i in self.ctx(event).guards:
            guard = self.facts.guards[i]
            if guard.kind == "bool" and not guard.polarity and abs(guard.line - line) <= _MAX_LINES:
                found |= _asked_paths(guard.test)
        for at, test, paths in self._alternatives:
            if event.kind == "test":
                besides = test is not None and _has(event.value, test, 0)
            else:
                asked = test[4] if test is not None and test[0] == "call" else at
                besides = asked == line and _names_of(test, event.name, 0)
            if besides:
                found |= paths
        return frozenset(found)

    @property
    def _alternatives(self) -> list[tuple[int, Value, frozenset[str]]]:
        """What stands before a question for XLA or Neuron in an ``or``, and the paths it asks for."""
        return self.once("alternatives", self._find_alternatives)

    def _find_alternatives(self) -> list[tuple[int, Value, frozenset[str]]]:
        found: list[tuple[int, Value, frozenset[str]]] = []
        either = {i for i, g in enumerate(self.facts.guards) if g.kind == "bool" and not g.polarity}
        if not either:
            return found
        for i in either:
            # Asked first: what it stands before is asked about by its guards.
            paths = _asked_paths(self.facts.guards[i].test)
            if paths:
                found.append((self.facts.guards[i].line, None, paths))
        for event in self.facts.events:
            if event.kind != "test" or event.name != "bool":
                continue
            before = either.intersection(self.ctx(event).guards)
            paths = _asked_paths(event.value) if before else frozenset()
            for i in before if paths else ():
                guard = self.facts.guards[i]
                if abs(guard.line - event.at[0]) <= _MAX_LINES:
                    found.append((guard.line, guard.test, paths))
        return found

    def of_other_vendor(self, guard: Guard | None, unreached: Related | None) -> bool:
        """Whether what keeps a Neuron host from a place asks for an accelerator that is neither CUDA's
        nor Neuron's."""
        if guard is not None:
            return self.truth.of_other_vendor(self.summary, guard)
        return unreached is not None and unreached.says.endswith(OTHER_VENDOR)

    @property
    def _refusing(self) -> dict[str, int]:
        """The classes that are one of several, named for a device of CUDA's, and whose constructor
        raises where that is not; by the guard that stands for it."""
        return self.once("refusing", self._find_refusing)

    def _find_refusing(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for ctx in self.facts.contexts:
            if not ctx.guards:
                continue
            info = self.facts.scopes[ctx.scope]
            if not info.owner or not info.qualname.endswith(".__init__") or info.owner in found:
                continue
            if not decided.DEVICE_CLASS.search(info.owner.rpartition(".")[2]):
                continue
            if not any(name[:1] == "@" for name in self.index.ancestors(info.owner)[1:]):
                continue
            for i in ctx.guards:
                guard = self.facts.guards[i]
                if guard.kind == "raise" and self.truth_of(guard.test) is (not guard.polarity):
                    found[info.owner] = i
        return found

    def on_request(self, event: Event) -> bool:
        """Whether a place runs only where a switch is given that is off by itself: ``if cuda:`` of a
        parameter ``cuda=False``."""
        guards = self.ctx(event).guards
        if guards not in self._requested:
            found = (self.facts.guards[i] for i in guards)
            self._requested[guards] = any(
                g.polarity and g.kind in ("if", "ifexp", "bool") and self._is_switch(g.test)
                for g in found
            )
        return self._requested[guards]

    def unless_given(self, test: Value) -> bool | None:
        """What a condition is where a switch is not given that it asks for and that is off, or on, by
        itself; None: it asks for more, or for something else."""
        if test is not None and test[0] == "not":
            inner = self.unless_given(test[1])
            return None if inner is None else not inner
        if self._is_switch(test):
            return False
        if test is None or test[0] != "attr":
            return None
        literals = [
            a.value for a in self.follow(test) if a.value is not None and a.value[0] == "const"
        ]
        return True if literals and all(v == ("const", True) for v in literals) else None

    def _is_switch(self, test: Value) -> bool:
        if test is None or test[0] not in ("param", "attr"):
            return False
        if test[0] == "param":
            function = self.facts.functions.get(test[1])
            return function is not None and ("const", False) in (
                p[1] for p in function.params if p[0] == test[2]
            )
        values = self.resolver.attribute(test)
        if not values:
            # An option of the command line that is off unless it is given.
            held = [a.value for a in self.follow(test) if a.value is not None]
            literals = [value for value in held if value[0] == "const"]
            return bool(literals) and all(value == ("const", False) for value in literals)
        return all(
            owner.module == self.summary.module and self._is_given(value) for owner, value in values
        )

    def _is_given(self, value: Value) -> bool:
        if value is not None and value[0] == "v":
            value = self.facts.definitions[value[1]].value
        return value is not None and value[0] == "param" and self._is_switch(value)

    def compared(self, event: Event) -> bool:
        """Whether a name only stands in a comparison that is tested: ``backend == Backend.NCCL``."""
        name = ("ref", event.name)
        if any(
            d.line == event.at[0] and _compares(d.value, name, 0) for d in self.facts.definitions
        ):
            return True
        return any(
            _compares(test.value, name, 0)
            for line in range(event.at[0] - _MAX_LINES, event.at[0] + 1)
            for test in self.tests.get(line, ())
            if test.at[2] >= event.at[0]
        )

    def described(self, event: Event) -> bool:
        """Whether a dtype is only looked up (``torch.finfo``), or compared with in what a function
        returns."""
        name: Value = ("ref", event.name)
        for call in self.calls_at.get(event.at[0], ()):
            if call.name in ("torch.finfo", "torch.iinfo") and name in (call.args or ()):
                return True
        scope = self.facts.scopes[self.ctx(event).scope]
        function = self.facts.functions.get(f"{self.facts.module}.{scope.qualname}")
        return function is not None and any(_compares(v, name, 0) for v in function.returns)

    def import_is_guarded(self, event: Event, raises: Sequence[str] = ()) -> bool:
        """Whether a failing import at the event is caught; ``raises``: what it raises instead of an
        ImportError."""
        caught = self.ctx(event).tries
        if raises:
            return "*" in caught or not set(raises).isdisjoint(caught)
        return not _IMPORT_ERRORS.isdisjoint(caught)

    def after_failed_import(self, event: Event) -> int:
        """The line where an import fails before a place in the body of one ``try``, which catches that;
        0: none does."""
        if event.kind == "import" or _IMPORT_ERRORS.isdisjoint(self.ctx(event).tries):
            return 0
        ctx = self.ctx(event)
        line = event.at[0]
        before = (
            at
            for at, scope, tries in self._failing_imports
            if scope == ctx.scope and tries == ctx.tries and 0 < line - at <= _MAX_LINES
        )
        return next(before, 0)

    @property
    def _failing_imports(self) -> list[tuple[int, int, tuple[str, ...]]]:
        return self.once("failing imports", self._find_failing_imports)

    def _find_failing_imports(self) -> list[tuple[int, int, tuple[str, ...]]]:
        found: list[tuple[int, int, tuple[str, ...]]] = []
        for event in self.facts.events:
            if event.kind == "import" and self.missing(event.name):
                ctx = self.ctx(event)
                if not _IMPORT_ERRORS.isdisjoint(ctx.tries):
                    found.append((event.at[0], ctx.scope, ctx.tries))
        return found

    def for_xla(self, event: Event) -> bool:
        """Whether a place runs only where the program was asked whether PyTorch/XLA is there, and it
        is: ``if is_torch_xla_available():``."""
        return any(
            guard.polarity and guard.kind == "if" and _asked_paths(guard.test) == _XLA_ALONE
            for guard in self.guards(event)
        )

    def optional_import(self, dotted: str) -> int:
        """The line where the module imports the package of a name and catches that it is not there;
        0: it does not."""
        return self._optional.get(dotted.partition(".")[0], 0)

    @property
    def _optional(self) -> dict[str, int]:
        return self.once("optional imports", self._find_optional)

    def _find_optional(self) -> dict[str, int]:
        found: dict[str, int] = {}
        needed = {"torch"}
        for event in self.facts.events:
            if event.kind == "import":
                head = event.name.partition(".")[0]
                if self.import_is_guarded(event):
                    found.setdefault(head, event.at[0])
                else:
                    needed.add(head)
        return {head: line for head, line in found.items() if head not in needed}

    # ---- values -------------------------------------------------------------------------------

    def follow(self, value: Value) -> tuple[Atom, ...]:
        return self.resolver.follow(self.summary, value)

    def strings(self, value: Value) -> list[tuple[str, tuple[Related, ...]]]:
        """The texts ``value`` can be, with how they came there."""
        return [
            (text, chain)
            for text, chain in self.resolver.constants(self.summary, value)
            if isinstance(text, str)
        ]

    def only(self, value: Value, *texts: str) -> bool:
        """Whether ``value`` can be nothing but some of ``texts``; not where anything is unknown."""
        atoms = self.follow(value)
        return bool(atoms) and all(
            a.value is not None and a.value[0] == "const" and a.value[1] in texts for a in atoms
        )

    def constant(self, value: Value) -> tuple[bool, Any]:
        return self.resolver.constant(self.summary, value)

    def name(self, value: Value) -> str:
        """The canonical dotted name of a value that can only be that, else ''."""
        if value is not None and value[0] == "ref":
            return self.index.canonical(value[1], self.summary)
        refs = self.resolver.refs(self.summary, value)
        return refs[0] if len(refs) == 1 else ""

    def callee(self, value: Value) -> str:
        """The canonical name of what is called, with methods as ``.name``."""
        if value is None:
            return ""
        if value[0] == "attr":
            return f".{value[2]}"
        return self.name(value)

    def kind(self, value: Value) -> Known:
        return self.kinds.of(self.summary, value)

    def receiver(self, value: Value, *kinds: str) -> Confidence | None:
        """How surely ``value`` is one of ``kinds``; None: it is something else."""
        known = self.kind(value)
        if known.kind in kinds:
            return Confidence.CERTAIN if known.derived else Confidence.LIKELY
        if known.kind == UNKNOWN and self.imports("torch"):
            return Confidence.POSSIBLE
        return None

    def truth_of(self, value: Value) -> bool | None:
        """What a condition is on a Neuron host, or None."""
        return self.truth.of(self.summary, value)

    def text(self, value: Value, whole: bool = False) -> str:
        """A value in words, for messages; ``whole``: something is to be written behind it."""
        return _within(value, self.summary, -1, _WHOLE if whole else 0)

    @staticmethod
    def argument(event: Event, name: str, position: int | None = None) -> Value:
        """An argument of a call by keyword or position; None: not given."""
        for key, value in event.kwargs:
            if key == name:
                return value
        if position is not None and event.args is not None and position < len(event.args):
            value = event.args[position]
            if value is not None and value[0] == "starred":
                return None
            return value
        return None

    @staticmethod
    def given(event: Event, name: str, position: int | None = None) -> bool:
        """Whether an argument is written at the call."""
        if any(key == name for key, _ in event.kwargs):
            return True
        return position is not None and event.args is not None and position < len(event.args)


_XLA_ALONE = frozenset(("xla",))
_OF_DEVICES = {"xla": "xla", "neuron": "native"}
"""The types of devices of the paths."""
_ASKS_FOR = re.compile(r"(^|_)((?P<xla>xla|tpu)|neuronx?)(_|$)")


def _asked_paths(test: Value) -> frozenset[str]:
    """The paths for which a question is true by its name: ``is_torch_xla_available()``,
    ``device.type == "xla"``."""
    if test is not None and test[0] == "cmp" and test[2] == "==":
        types = (str(side[1]) for side in test[1::2] if side is not None and side[0] == "const")
        return frozenset(_OF_DEVICES[name] for name in types if name in _OF_DEVICES)
    if test is None or test[0] != "call" or test[1] is None or test[1][0] not in ("ref", "attr"):
        return frozenset()
    name = str(test[1][-1]).rpartition(".")[2]
    found = _ASKS_FOR.search(name)
    if found is None or "not" in name.split("_"):
        return frozenset()
    return frozenset(("xla",) if found["xla"] else ("native", "xla"))


def _has(value: Any, part: Value, depth: int) -> bool:
    """Whether a test is made of another."""
    if not isinstance(value, tuple) or not value or depth > 4:
        return False
    return value == part or any(_has(inner, part, depth + 1) for inner in value)


def _names_of(value: Any, name: str, depth: int) -> bool:
    """Whether a value is made by something of a name."""
    if not isinstance(value, tuple) or not value or depth > 4:
        return False
    return (
        value[-1] == name
        or value == ("ref", name)
        or any(_names_of(part, name, depth + 1) for part in value)
    )


def _compares(test: Value, name: Value, depth: int) -> bool:
    if test is None or depth > 4:
        return False
    if test[0] == "cmp":
        sides = (test[1], test[3])
        if ("const", None) in sides:
            return False  # whether it is there at all
        return name in sides or any(
            side is not None and side[0] in ("list", "tuple", "set") and name in side[1]
            for side in sides
        )
    if test[0] == "bool":
        return any(_compares(part, name, depth + 1) for part in test[2])
    return test[0] == "not" and _compares(test[1], name, depth + 1)


def describe(value: Value, module: Summary, depth: int = 0) -> str:
    """A value in words as close to the source as its facts allow; for messages only."""
    return _described(value, module, depth)[0]


_BINDS = {
    "or": 1,
    "and": 2,
    "not": 3,
    "|": 5,
    "^": 6,
    "&": 7,
    "<<": 8,
    ">>": 8,
    "+": 9,
    "-": 9,
    "*": 10,
    "/": 10,
    "//": 10,
    "%": 10,
    "@": 10,
    "**": 12,
}
"""How closely Python's operators bind."""
_COMPARED = 4
_SIGNED = 11
_WHOLE = 14
"""Of names, literals, calls and what is in brackets."""


def _described(value: Value, module: Summary, depth: int) -> tuple[str, int]:
    """Likewise, and how closely the operator binds that holds it together."""
    if value is None or depth > 6:
        return "…", _WHOLE
    tag = value[0]
    if tag == "v":
        return module.definitions[value[1]].name or "…", _WHOLE
    if tag == "any":
        return _described(value[1][0], module, depth + 1)
    if tag == "item":
        base = _within(value[1], module, depth, _WHOLE)
        return f"{base}[{_index(value[2], module, depth + 1)}]", _WHOLE
    if tag == "const":
        text = repr(value[1])
        return text, _SIGNED if text[:1] == "-" else _WHOLE
    if tag == "ref":
        name = str(value[1]).removeprefix("builtins.")
        return name.rpartition(".")[2] if name[:1] == "@" else name, _WHOLE
    if tag == "param":
        return str(value[2]), _WHOLE
    if tag == "self":
        return "self", _WHOLE
    if tag == "attr":
        return f"{_within(value[1], module, depth, _WHOLE)}.{value[2]}", _WHOLE
    if tag == "call":
        called = _within(value[1], module, depth, _WHOLE)
        return f"{called}({_few(value[2], module, depth, value[3])})", _WHOLE
    if tag == "tried":
        return _described(value[2], module, depth + 1)
    if tag == "not":
        return f"not {_within(value[1], module, depth, _BINDS['not'])}", _BINDS["not"]
    if tag in ("neg", "invert"):
        sign = "-" if tag == "neg" else "~"
        return f"{sign}{_within(value[1], module, depth, _SIGNED)}", _SIGNED
    if tag == "bool":
        binds = _BINDS[value[1]]
        parts = (_within(v, module, depth, binds + 1) for v in value[2])
        return f" {value[1]} ".join(parts), binds
    if tag == "cmp":
        left = _within(value[1], module, depth, _COMPARED + 1)
        right = _within(value[3], module, depth, _COMPARED + 1)
        return f"{left} {value[2]} {right}", _COMPARED
    if tag == "bin":
        binds = _BINDS.get(value[1], _WHOLE)
        power = value[1] == "**"
        left = _within(value[2], module, depth, binds + power)
        right = _within(value[3], module, depth, _SIGNED if power else binds + 1)
        return f"{left} {value[1]} {right}", binds
    if tag in _BRACKETS:
        first, last = _BRACKETS[tag]
        one = "," if tag == "tuple" and len(value[1]) == 1 else ""
        return f"{first}{_few(value[1], module, depth)}{one}{last}", _WHOLE
    return "…", _WHOLE


_BRACKETS = {"list": ("[", "]"), "tuple": ("(", ")"), "set": ("{", "}")}


def _within(value: Value, module: Summary, depth: int, binds: int) -> str:
    """Part of something that binds so closely: in parentheses where it would fall apart."""
    text, own = _described(value, module, depth + 1)
    return f"({text})" if own < binds else text


def _index(value: Value, module: Summary, depth: int) -> str:
    """What stands in the brackets of a subscript."""
    if value is not None and value[0] == "tuple" and value[1]:
        shown = ", ".join(_slice(v, module, depth + 1) for v in value[1][:_MAX_AXES])
        more = ", …" if len(value[1]) > _MAX_AXES else "," if len(value[1]) == 1 else ""
        return shown + more
    return _slice(value, module, depth)


_MAX_AXES = 5


def _slice(value: Value, module: Summary, depth: int) -> str:
    if value is None or value[0] != "slice":
        return "..." if value == ("const", ...) else describe(value, module, depth)
    lower, upper, step = (
        "" if part == ("const", None) else describe(part, module, depth + 1) for part in value[1:]
    )
    return f"{lower}:{upper}" + (f":{step}" if step else "")


def _few(
    values: Sequence[Value],
    module: Summary,
    depth: int,
    named: Sequence[tuple[str | None, Value]] = (),
) -> str:
    """The first three of some items, or arguments; not what an argument says in words."""
    named = [(n, v) for n, v in named if v is None or not isinstance(v[-1], str)]
    shown = [describe(v, module, depth + 1) for v in values[:3]]
    for name, value in named[: 3 - len(shown)]:
        shown.append(f"{f'{name}=' if name else '**'}{describe(value, module, depth + 1)}")
    return ", ".join(shown) + (", …" if len(values) + len(named) > 3 else "")
