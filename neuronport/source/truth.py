"""What a condition evaluates to on a Neuron host: True, False or not known (None).

There is no CUDA there, so ``torch.cuda.is_available()`` is False, a device type is never
``"cuda"``, and a ``try`` that imports a CUDA-only package takes its ``except``. What is known is
data (``rules/understanding/conditions.toml``), except for the logic of Python itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from neuronport.readers.python.facts import Function, Guard, Value
from neuronport.source.index import Call
from neuronport.source.processes import processes
from neuronport.source.summary import Summary
from neuronport.source.understanding import understanding
from neuronport.source.values import MAX_CALLERS, Atom, Resolver

_MAX_DEPTH = 10
_MAX_STORED = 4
"""An option may be stored from itself: ``args.cuda = args.cuda and is_available()``."""
_OF_ZERO: Mapping[str, Callable[[float], bool]] = {
    ">": lambda n: n < 0,
    ">=": lambda n: n <= 0,
    "<": lambda n: n > 0,
    "==": lambda n: n == 0,
    "!=": lambda n: n != 0,
    "<=": lambda n: n >= 0,
}
"""What comparing 0 with a number gives."""
_VENDORS = ("cuda", "xpu", "mps", "npu", "hpu", "musa", "mlu")
_DEVICE = re.compile(rf"^({'|'.join(_VENDORS)}|cpu|neuron|xla)(:\d+)?$")
_OTHER_DEVICE = re.compile(rf"^({'|'.join(_VENDORS)})(:\d+)?$")
_CUDA_TYPE = re.compile(r"^torch\.cuda\.(sparse\.)?\w*Tensor$")
"""What ``x.type()`` answers of a tensor on CUDA, and of no other."""


DEVICE_WORD = re.compile(
    r"(^|[^a-z])(dev|devs|device|devices|accelerator|map_location|location)([^a-z]|$)|device", re.I
)
"""In a name: it holds a device."""
_OTHER_WORD = re.compile(r"(?<![a-z])(xpu|ipex|mps|npu|mlu|musa|hpu|hip|rocm)(?![a-z])", re.I)
_CUDA_WORD = re.compile(r"(?<![a-z])(cuda|nvidia|gpus?)(?![a-z])", re.I)
_NEVER = frozenset(
    ("is_cuda", "is_xpu", "is_mps", "is_quantized", "is_mkldnn", "is_sparse", "is_sparse_csr")
)
"""What no tensor on a Neuron device is: of another device, or of a layout without a kernel there."""
_ONE_AT_MOST = frozenset(("n_gpu", "_n_gpu"))
"""What Hugging Face's training arguments, and the scripts that came before them, count CUDA devices
in: 0 without CUDA, 1 for a process of several."""
_LAYOUTS = ("torch.sparse_", "torch._mkldnn")


def _is_other(texts: list[Any] | None) -> bool:
    """Whether a text can only be the device of another vendor."""
    return bool(texts) and all(isinstance(t, str) and _OTHER_DEVICE.match(t) for t in texts or ())


def _is_bool(value: Value) -> bool:
    """Whether a value is True or False and nothing else that counts as one."""
    if value is None:
        return False
    return value[0] in ("not", "cmp") or (value[0] == "attr" and value[2] in _NEVER)


def _is_off(value: Value | None) -> bool:
    """Whether this is a literal ``False`` or ``None``."""
    return value is not None and value[0] == "const" and value[1] in (False, None)


def _is_cuda_type(left: Value, right: Value) -> bool:
    """``x.type() == "torch.cuda.HalfTensor"``"""
    return bool(
        left is not None
        and left[0] == "call"
        and left[1] is not None
        and left[1][0] == "attr"
        and left[1][2] == "type"
        and not left[2]
        and right is not None
        and right[0] == "const"
        and isinstance(right[1], str)
        and _CUDA_TYPE.match(right[1])
    )


def _is_layout(left: Value, right: Value) -> bool:
    """``x.layout == torch.sparse_coo``"""
    return bool(
        left is not None
        and left[0] == "attr"
        and left[2] == "layout"
        and right is not None
        and right[0] == "ref"
        and right[1].startswith(_LAYOUTS)
    )


def _words(module: Summary, value: Any, depth: int) -> Iterator[str]:
    """The names and texts in a condition."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple) and value and depth < _MAX_DEPTH:
        if value[0] == "v" and len(value) == 2:
            yield module.definitions[value[1]].name
            yield from _words(module, module.definitions[value[1]].value, depth + 1)
            return
        for part in value[1:] if isinstance(value[0], str) else value:
            yield from _words(module, part, depth + 1)


_ASKS_FOR_PACKAGE = re.compile(
    r"(^|[._])(is_)?(package|module|library|lib)_(available|installed|exists)$|(^|[._])has_(package|module)$"
)
"""Functions that are asked for a package by its name."""
_FROM_HERE = (("const", 0), ("const", 1))
_OF_EACH = frozenset(("builtins.all", "builtins.any"))
_OF_WHAT_IS_GIVEN = _OF_EACH | frozenset(("builtins.bool", "builtins.len"))
_SIZED = frozenset(
    f"builtins.{name}" for name in ("range", "min", "max", "int", "list", "tuple", "enumerate")
)
"""Calls whose result is empty, or 0, by what they are given."""


@cache
def conditions() -> Mapping[str, frozenset[str]]:
    return {key: frozenset(names) for key, names in understanding("conditions").items()}


_SETS_UP = re.compile(r"init|set_?up|start|prepare|begin|configure|build", re.I)
"""What methods are called that run before those that work."""


class Truth:
    """Evaluates conditions; ``missing`` tells whether an import cannot work on the target."""

    def __init__(self, resolver: Resolver, missing: Callable[[str], bool]) -> None:
        self.resolver = resolver
        self.missing = missing
        self._memo: dict[tuple[str, Value], bool | None] = {}
        self._answers: dict[tuple[str, int], bool | None] = {}
        """Of functions, by module and line."""
        self._asked: set[tuple[str, int]] = set()
        self._unsettled = 0
        """How often nothing more was asked because it was being asked, or too deep."""

    def of(self, module: Summary, value: Value) -> bool | None:
        key = (module.module, value)
        before = len(self._memo)
        known = self._memo.setdefault(key, None)
        if len(self._memo) != before:
            known = self._memo[key] = self._of(module, value, 0)
        return known

    def skipped(self, module: Summary, guard: Guard) -> bool:
        """True when the guarded place does not run on a Neuron host."""
        if guard.kind == "raise":
            # The program ends there instead: what follows has to be ported all the same.
            return False
        if guard.kind == "except":
            return False
        if guard.kind == "decorator":
            return self.skips(module, guard.test)
        truth = self.of(module, guard.test)
        return truth is not None and truth is not guard.polarity

    def ended(self, module: Summary, guard: Guard) -> bool:
        """True when a Neuron host does not come to the guarded place because the program ends before."""
        return guard.kind == "raise" and self.of(module, guard.test) is (not guard.polarity)

    def of_other_vendor(self, module: Summary, guard: Guard) -> bool:
        """Whether a condition asks for an accelerator that is neither NVIDIA's nor Neuron's, told by
        the names in it."""
        words = " ".join(_words(module, guard.test, 0))
        return bool(_OTHER_WORD.search(words)) and not _CUDA_WORD.search(words)

    def skips(self, module: Summary, value: Value) -> bool:
        """Whether a mark, or one of several, skips a test on a Neuron host."""
        if value is None:
            return False
        if value[0] in ("list", "tuple"):
            return any(self.skips(module, item) for item in value[1])
        data = conditions()
        call = value[0] == "call"
        func = value[1] if call else value
        if func is None or func[0] not in ("ref", "attr", "v"):
            return False
        name = func[2] if func[0] == "attr" else func[1] if func[0] == "ref" else ""
        if str(name).rpartition(".")[2] in data["skips"]:
            return True
        if func[0] in ("ref", "v"):
            names = self.resolver.refs(module, func)
            if any(n.rpartition(".")[2] in data["skips"] for n in names):
                return True
            if call and any(
                key in data["skip_keywords"]
                and given is not None
                and given[0] == "const"
                and given[1]
                for key, given in value[3]
            ):
                return True
            if call and value[2]:
                if any(n in data["skip_if"] for n in names):
                    return self.of(module, value[2][0]) is True
                if any(n in data["skip_unless"] for n in names):
                    return self.of(module, value[2][0]) is False
            # ``requires_gpu = pytest.mark.skipif(not torch.cuda.is_available())``
            if not call:
                for atom in self.resolver.follow(module, func):
                    if atom.value is not None and atom.value[0] in ("call", "list", "tuple"):
                        return self.skips(atom.module, atom.value)
        return False

    def _of(self, module: Summary, value: Value, depth: int) -> bool | None:
        if value is None:
            return None
        if depth > _MAX_DEPTH:
            self._unsettled += 1
            return None
        tag = value[0]
        if tag == "const":
            return bool(value[1])
        if tag == "not":
            inner = self._of(module, value[1], depth + 1)
            return None if inner is None else not inner
        if tag == "bool":
            decides = value[1] == "or"
            known: bool | None = not decides
            for part in value[2]:
                truth = self._of(module, part, depth + 1)
                if truth is decides:
                    return decides
                if truth is None:
                    known = None
            return known
        if tag == "cmp":
            return self._compare(module, value, depth)
        if tag == "if":
            test = self._of(module, value[1], depth + 1)
            if test is not None:
                return self._of(module, value[2] if test else value[3], depth + 1)
            return self._agree([self._of(module, v, depth + 1) for v in value[2:]])
        if tag == "any":
            return self._any(module, value[1], depth)
        if tag == "tried":
            chosen = value[3] if any(self.missing(name) for name in value[1]) else None
            if chosen is not None:
                # What a failing import leaves behind is no setting.
                for _ in range(_MAX_DEPTH):
                    if chosen is None or chosen[0] != "v":
                        break
                    chosen = module.definitions[chosen[1]].value
                return self._of(module, chosen, depth + 1)
            return self._agree([self._of(module, v, depth + 1) for v in value[2:]])
        if tag == "v":
            held = module.definitions[value[1]].value
            if held is not None and held[0] == "const" and isinstance(held[1], bool):
                # ``compile = False`` is a setting of the project: it says nothing of the host.
                return None
            return self._of(module, held, depth + 1)
        if tag in ("call", "ref"):
            return self._name(module, value, depth)
        if tag == "param":
            return self._param(module, value, depth)
        if tag == "attr":
            values = self.resolver.attribute(value)
            if value[2] in _NEVER and not values:
                return False
            if values:
                if len(values) > 1 and self._is_turned_off(value, values, depth):
                    return False
                return self._agree([self._of(owner, v, depth + 1) for owner, v in values])
            stored = self.resolver.stored(module, value) if depth < _MAX_STORED else None
            if stored is not None:
                return self._any(*stored, depth + 1)
            atoms = self.resolver.follow(module, value)
            if any(a.value is None or a.value == value or a.value[0] == "const" for a in atoms):
                # A literal there is a setting of the project.
                return None
            return self._agree([self._of(a.module, a.value, depth + 1) for a in atoms])
        return None

    def _is_turned_off(self, value: Value, values: list[tuple[Summary, Value]], depth: int) -> bool:
        """Whether an attribute that is on from the start is turned off while an object is set up where
        there is no CUDA, and never turned on again: ``if not is_available(): self.enabled = False``."""
        off = False
        for owner, item in values:
            if item is None or item[0] != "v":
                return False
            definition = owner.definitions[item[1]]
            held = definition.value
            if held is None or held[0] != "const" or not isinstance(held[1], bool):
                return False
            method = owner.scopes[definition.scope].qualname.rpartition(".")[2]
            if held[1]:
                if method != "__init__" or definition.guards:
                    return False
            elif not off and definition.guards and _SETS_UP.search(method):
                guards = (owner.guards[i] for i in definition.guards)
                asked = [g for g in guards if g.test != value and g.test != ("not", value)]
                off = bool(asked) and all(
                    g.kind in ("if", "early") and self._of(owner, g.test, depth + 1) is g.polarity
                    for g in asked
                )
        return off

    def _any(self, module: Summary, values: tuple[Value, ...], depth: int) -> bool | None:
        """After branches: a literal beside what is computed stands where the question cannot be asked
        (``except: HAS_XPU = False``), or is what is left where a Neuron host does not come to the
        other."""
        parts: list[bool | None] = []
        literals: list[bool] = []
        dead = False
        for value in values:
            held = module.definitions[value[1]].value if value and value[0] == "v" else value
            if held is None or held[0] != "const" or not isinstance(held[1], bool):
                parts.append(self._of(module, value, depth + 1))
            elif self._dead(module, value):
                dead = True
            else:
                literals.append(held[1])
        if parts:
            answer = self._agree(parts)
        else:
            answer = literals[0] if dead and literals else None
        return answer if all(literal is answer for literal in literals) else None

    @staticmethod
    def _agree(parts: list[bool | None]) -> bool | None:
        return parts[0] if parts and all(p is parts[0] for p in parts) else None

    def _param(self, module: Summary, value: Any, depth: int) -> bool | None:
        """What every call in the tree passes, computed: a literal is a choice others may make anew."""
        function = module.functions.get(value[1])
        if function is None:
            return None
        parts: list[bool | None] = []
        calls = list(self.resolver.passed(function, value))
        if len(calls) >= MAX_CALLERS:
            # There may be more, which were not asked.
            return None
        if any(passed is not None and passed[0] == "const" for _, passed in calls):
            return self._switched_off(function, value, calls)
        if any(passed is None for _, passed in calls):
            return None
        for call, passed in calls:
            caller = self.resolver.index.module(call.module)
            if caller is None:
                return None
            given = passed
            if given is not None and given[0] == "v":
                given = caller.definitions[given[1]].value
            if given is None or given[0] == "const":
                return None
            parts.append(self._of(caller, passed, depth + 1))
        return self._agree(parts)

    def _switched_off(
        self, function: Function, value: Any, calls: list[tuple[Call, Value]]
    ) -> bool | None:
        """False for a switch that is off unless given, and is given as on only where CUDA was asked
        for: ``if torch.cuda.is_available(): self.check(cuda=True)``."""
        default = next((p[1] for p in function.params if p[0] == value[2]), None)
        if not _is_off(default):
            return None
        asked = False
        for call, passed in calls:
            if _is_off(passed):
                continue
            if passed is None:
                starred = any(a is not None and a[0] == "starred" for a in call.args)
                if starred or any(key is None for key, _ in call.kwargs):
                    return None
                continue
            caller = self.resolver.index.module(call.module)
            if caller is None or passed != ("const", True):
                return None
            if not any(self.skipped(caller, caller.guards[i]) for i in call.guards):
                return None
            asked = True
        return False if asked else None

    def _name(self, module: Summary, value: Any, depth: int) -> bool | None:
        func = value[1] if value[0] == "call" else value
        if func is None:
            return None
        if func[0] == "ref":
            dotted = self.resolver.index.canonical(func[1], module)
            data = conditions()
            if dotted in data["false"]:
                return False
            if dotted in data["true"]:
                return True
            if dotted in _OF_WHAT_IS_GIVEN and value[0] == "call" and value[2]:
                given = value[2][0]
                if given is not None and given[0] == "comp":
                    if dotted not in _OF_EACH:
                        return None
                    given = given[2]  # what is asked of each: there is one at least
                elif dotted == "builtins.any":
                    return None
                return self._of(module, given, depth + 1)
            if dotted in _SIZED and value[0] == "call" and value[2]:
                return self._size(module, dotted, value[2], depth)
            if dotted == "builtins.hasattr" and value[0] == "call" and len(value[2]) == 2:
                return self._has(module, value[2])
            if dotted == "importlib.util.find_spec" and value[0] == "call" and value[2]:
                known, name = self.resolver.constant(module, value[2][0])
                if known and isinstance(name, str) and self.missing(name):
                    return False
                return None
            if dotted in processes()["finders"] and value[0] == "call" and value[2]:
                known, name = self.resolver.constant(module, value[2][0])
                return False if known and self.missing(f"command:{name}") else None
            if dotted == "typing.TYPE_CHECKING":
                return False
            if value[0] == "call" and value[2] and _ASKS_FOR_PACKAGE.search(dotted):
                known, name = self.resolver.constant(module, value[2][0])
                if known and isinstance(name, str) and name in data["needs_cuda"]:
                    return False
            found = self.resolver.index.function(dotted)
            if found is not None and value[0] == "call":
                return self._returned(*found, depth)
            split = self.resolver.index.split(dotted)
            if split is not None:
                owner, rest = split
                inner = owner.exports.get(rest)
                if inner is not None and inner[0] != "ref":
                    return self._of(owner, inner, depth + 1)
            return None
        if func[0] == "attr" and value[0] == "call":
            # ``str(device).startswith("cuda")``, ``device.startswith("cuda")``
            if func[2] == "startswith" and value[2]:
                known, text = self.resolver.constant(module, value[2][0])
                if known and text == "cuda":
                    return False
            target = self.resolver.callee(module, func)
            if target is not None:
                return self._returned(*target, depth)
        return None

    def _has(self, module: Summary, args: tuple[Value, ...]) -> bool | None:
        """Whether PyTorch has a name, which it has on every host since long ago."""
        known, name = self.resolver.constant(module, args[1])
        if not known or args[0] is None or args[0][0] != "ref":
            return None
        owner = self.resolver.index.canonical(args[0][1], module)
        return True if f"{owner}.{name}" in conditions()["there"] else None

    def _returned(self, module: Summary, function: Function, depth: int) -> bool | None:
        """What a function of the tree answers, by those of its ways that a Neuron host takes."""
        key = (module.module, function.line)
        if key in self._answers:
            return self._answers[key]
        if key in self._asked:
            self._unsettled += 1
            return None
        before = self._unsettled
        self._asked.add(key)
        answer = None if function.yields else self._answer(module, function, depth)
        self._asked.discard(key)
        if self._unsettled == before:
            self._answers[key] = answer
        return answer

    def _answer(self, module: Summary, function: Function, depth: int) -> bool | None:
        if not function.conditions:
            return self._agree([self._of(module, v, depth + 1) for v in function.returns])
        answer: bool | None = None
        for value, condition in zip(function.returns, function.conditions, strict=True):
            holds = self._of(module, condition, depth + 1)
            if holds is False:
                continue
            returned = self._of(module, value, depth + 1)
            if returned is None or (answer is not None and returned is not answer):
                return None
            answer = returned
            if holds:
                break  # it does not come to the others
        return answer

    def _left(self, module: Summary, function: Function, depth: int) -> list[Value]:
        """What a function can return on a Neuron host."""
        if not function.conditions:
            return list(function.returns)
        live: list[Value] = []
        for value, condition in zip(function.returns, function.conditions, strict=True):
            holds = self._of(module, condition, depth + 1)
            if holds is not False:
                live.append(value)
            if holds:
                break
        return live

    def _size(self, module: Summary, dotted: str, args: Any, depth: int) -> bool | None:
        """Nothing is in a range up to 0, and nothing is less than no devices."""
        if dotted == "builtins.range":
            # From another number it counts down, or starts below.
            if len(args) > 1 and (len(args) > 2 or args[0] not in _FROM_HERE):
                return None
            return False if self._of(module, args[-1], depth + 1) is False else None
        parts = [self._of(module, a, depth + 1) for a in args]
        if dotted == "builtins.min":
            return False if False in parts else None
        return self._agree(parts)

    def choices(self, module: Summary, value: Value, depth: int = 0) -> list[Any] | None:
        """Every literal a value can be on a Neuron host, or None when that is not known."""
        if value is None or depth > _MAX_DEPTH:
            return None
        tag = value[0]
        if tag == "const":
            return [value[1]]
        if tag == "v":
            definition = module.definitions[value[1]]
            return self.choices(module, definition.value, depth + 1)
        if tag == "any":
            live = [v for v in value[1] if not self._dead(module, v)]
            return self._union(module, live or list(value[1]), depth)
        if tag == "if":
            test = self._of(module, value[1], depth + 1)
            branches = value[2:] if test is None else [value[2] if test else value[3]]
            return self._union(module, list(branches), depth)
        if tag == "call":
            func = value[1]
            if func is not None and func[0] == "ref":
                if func[1] in ("torch.device", "builtins.str") and value[2]:
                    return self.choices(module, value[2][0], depth + 1)
                found = self.resolver.index.function(self.resolver.index.canonical(func[1], module))
                if found is not None and not found[1].params and found[1].returns:
                    return self._union(found[0], self._left(*found, depth), depth)
        if tag == "attr" and value[2] == "type":
            inner = self.choices(module, value[1], depth + 1)
            if inner is not None and all(isinstance(i, str) for i in inner):
                return [i.partition(":")[0] for i in inner]
            return None
        if tag in ("attr", "ref"):
            atoms = self.resolver.follow(module, value)
            if not atoms or any(
                a.value is None or a.value[0] in ("attr", "ref") or self._is_setting(tag, a)
                for a in atoms
            ):
                return None
            parts = [self.choices(a.module, a.value, depth + 1) for a in atoms]
            return None if None in parts else [i for part in parts for i in part or ()]
        return None

    @staticmethod
    def _is_setting(tag: str, atom: Atom) -> bool:
        """Whether a literal is one that the project, or whoever uses it, may choose otherwise; the
        name of a device is what the program chose."""
        if atom.value is None or atom.value[0] != "const":
            return False
        if isinstance(atom.value[1], str) and _DEVICE.match(atom.value[1]):
            return False
        return tag == "attr" or atom.chosen

    def _union(self, module: Summary, values: list[Value], depth: int) -> list[Any] | None:
        result: list[Any] = []
        for value in values:
            part = self.choices(module, value, depth + 1)
            if part is None:
                return None
            result += [i for i in part if i not in result]
        return result

    def _is_literal(self, module: Summary, value: Value) -> bool:
        """Whether a value is written down once and for all, wherever the program runs, and names no
        device: to compare two of these says how the project is set, not where it runs."""
        for _ in range(_MAX_DEPTH):
            if value is None:
                return False
            if value[0] == "const":
                return not (isinstance(value[1], str) and _DEVICE.match(value[1]))
            if value[0] == "ref":
                atoms = self.resolver.follow(module, value)
                value = atoms[0].value if len(atoms) == 1 else None
            elif value[0] == "v":
                definition = module.definitions[value[1]]
                if definition.guards:
                    return False
                value = definition.value
            else:
                return False
        return False

    def _dead(self, module: Summary, value: Value) -> bool:
        """Whether a variable is assigned only where a Neuron host does not come."""
        if value is None or value[0] != "v":
            return False
        return any(
            self.skipped(module, module.guards[i]) for i in module.definitions[value[1]].guards
        )

    def _is_device(self, module: Summary, value: Value) -> bool:
        """Whether a value names a device: its type, or something called device."""
        if value is None:
            return False
        if value[0] == "attr" and (value[2] == "type" or DEVICE_WORD.search(value[2])):
            return True
        if value[0] in ("any", "if"):
            return any(
                self._is_device(module, v) for v in (value[1] if value[0] == "any" else value[2:])
            )
        if value[0] == "call" and value[1] is not None and value[1][0] == "ref":
            name = value[1][1]
            return name == "builtins.str" or "device" in name.rpartition(".")[2].lower()
        if value[0] == "param":
            return "dev" in value[2]
        if value[0] == "v":
            definition = module.definitions[value[1]]
            return "dev" in definition.name or (
                definition.value != value and self._is_device(module, definition.value)
            )
        if value[0] == "ref":
            return "device" in value[1].rpartition(".")[2].lower()
        return False

    def _compare(self, module: Summary, value: Any, depth: int) -> bool | None:
        _, left, op, right = value
        if op in ("is", "is not") and right == ("const", None):
            return self._is_none(module, left, op, depth)
        if op in ("==", "!=", "is", "is not") and _is_layout(left, right):
            return op in ("!=", "is not")
        if op in ("==", "!=") and (_is_cuda_type(left, right) or _is_cuda_type(right, left)):
            return bool(op == "!=")
        if op in ("==", "!="):
            lefts, rights = self.choices(module, left), self.choices(module, right)
            if lefts is not None and rights is not None:
                if self._is_literal(module, left) and self._is_literal(module, right):
                    return None
                return self._agree([(a == b) is (op == "==") for a in lefts for b in rights])
            for text, other in ((rights, left), (lefts, right)):
                if self._is_device(module, other):
                    if _is_other(text):
                        return bool(op == "!=")
                    if text == ["neuron"]:
                        return bool(op == "==")
            if _is_bool(left) and _is_bool(right):
                asked = [self._of(module, side, depth + 1) for side in (left, right)]
                return None if None in asked else (asked[0] is asked[1]) is (op == "==")
            return self._of_count(module, left, op, right, depth)
        if op in ("in", "not in"):
            lefts, rights = self.choices(module, left), self.choices(module, right)
            if lefts is not None and rights is not None:
                try:
                    return self._agree([(a in b) is (op == "in") for a in lefts for b in rights])
                except TypeError:
                    return None
            if _is_other(lefts) and right is not None and right[0] not in ("list", "tuple", "set"):
                return bool(op == "not in") if self._is_device(module, right) else None
            if right is not None and right[0] in ("list", "tuple", "set"):
                items = [i[1] for i in right[1] if i is not None and i[0] == "const"]
                if len(items) < len(right[1]):
                    return None
                if lefts is not None:
                    return self._agree([(a in items) is (op == "in") for a in lefts])
                named = [i for i in items if i != "meta"]  # no tensors are computed there
                if named and all(i in _VENDORS for i in named) and self._is_device(module, left):
                    return bool(op == "not in")
            return None
        return self._of_count(module, left, op, right, depth)

    def _of_count(
        self, module: Summary, left: Value, op: str, right: Value, depth: int
    ) -> bool | None:
        """A count of CUDA devices is 0."""
        if op not in _OF_ZERO or right is None or right[0] != "const":
            return None
        counts = left is not None and left[0] == "attr" and left[2] in _ONE_AT_MOST
        if counts and op == ">" and right == ("const", 1):
            return False
        if not isinstance(right[1], int | float) or self._of(module, left, depth + 1) is not False:
            return None
        return _OF_ZERO[op](right[1])

    def _only_none(self, module: Summary, value: Value, depth: int) -> bool:
        """Whether nothing else is left on a Neuron host, where it is computed:
        ``torch.cuda.get_rng_state() if torch.cuda.is_available() else None``."""
        if value is None or depth > _MAX_DEPTH:
            return False
        if value[0] == "v":
            return self._only_none(module, module.definitions[value[1]].value, depth + 1)
        if value[0] == "any":
            live = [v for v in value[1] if not self._dead(module, v)]
            return bool(live) and all(self._only_none(module, v, depth + 1) for v in live)
        if value[0] == "if":
            test = self._of(module, value[1], depth + 1)
            return test is not None and self._only_none(
                module, value[2] if test else value[3], depth + 1
            )
        return bool(value == ("const", None))

    def _is_none(self, module: Summary, left: Value, op: str, depth: int) -> bool | None:
        if left is None:
            return None
        if left[0] in ("any", "if"):
            return (op == "is") if self._only_none(module, left, depth + 1) else None
        if left[0] == "call":
            truth = self._of(module, left, depth + 1)
            return (op == "is") if truth is False else None
        if left[0] == "tried":
            if any(self.missing(name) for name in left[1]):
                instead = left[3]
                if instead is not None and instead[0] == "v":
                    instead = module.definitions[instead[1]].value
                return self._is_none(module, instead, op, depth + 1)
            return None
        if left[0] == "v":
            held = module.definitions[left[1]].value
            if held is not None and held[0] == "const":
                return None  # what a variable begins with need not be what it holds
            return self._is_none(module, held, op, depth + 1)
        if left[0] == "const":
            return (left[1] is None) is (op == "is")
        if left[0] == "ref":
            dotted = self.resolver.index.canonical(left[1], module)
            if dotted in conditions()["false"]:
                return op == "is"
            split = self.resolver.index.split(dotted)
            if split is not None and depth < _MAX_DEPTH:
                inner = split[0].exports.get(split[1])
                if inner is not None and inner[0] != "ref":
                    return self._is_none(split[0], inner, op, depth + 1)
        return None
