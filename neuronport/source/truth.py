"""What a condition evaluates to on a Neuron host: True, False or not known (None).

There is no CUDA there, so ``torch.cuda.is_available()`` is False, a device type is never
``"cuda"``, and a ``try`` that imports a CUDA-only package takes its ``except``. What is known is
data (``rules/understanding/conditions.toml``), except for the logic of Python itself.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from neuronport.data import data_folder
from neuronport.readers.python.facts import Guard, Value
from neuronport.source.index import Summary
from neuronport.source.values import Resolver

_MAX_DEPTH = 10
_OF_ZERO: Mapping[str, Callable[[float], bool]] = {
    ">": lambda n: n < 0,
    ">=": lambda n: n <= 0,
    "<": lambda n: n > 0,
    "<=": lambda n: n >= 0,
}
"""What comparing 0 with a number gives."""
_CUDA_DEVICE = re.compile(r"^cuda(:\d+)?$")


@cache
def conditions() -> Mapping[str, frozenset[str]]:
    with (data_folder("rules") / "understanding" / "conditions.toml").open("rb") as file:
        return {key: frozenset(names) for key, names in tomllib.load(file).items()}


class Truth:
    """Evaluates conditions; ``missing`` tells whether an import cannot work on the target."""

    def __init__(self, resolver: Resolver, missing: Callable[[str], bool]) -> None:
        self.resolver = resolver
        self.missing = missing
        self._memo: dict[tuple[str, Value], bool | None] = {}

    def of(self, module: Summary, value: Value) -> bool | None:
        key = (module.module, value)
        if key not in self._memo:
            self._memo[key] = None
            self._memo[key] = self._of(module, value, 0)
        return self._memo[key]

    def skipped(self, module: Summary, guard: Guard) -> bool:
        """True when the guarded place does not run on a Neuron host."""
        if guard.kind == "raise":
            # The program ends there instead: what follows has to be ported all the same.
            return False
        if guard.kind == "except":
            return False
        if guard.kind == "decorator":
            return self._skips(module, guard.test)
        truth = self.of(module, guard.test)
        return truth is not None and truth is not guard.polarity

    def _skips(self, module: Summary, value: Value) -> bool:
        if value is None:
            return False
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
            if call and value[2]:
                if any(n in data["skip_if"] for n in names):
                    return self.of(module, value[2][0]) is True
                if any(n in data["skip_unless"] for n in names):
                    return self.of(module, value[2][0]) is False
            # ``requires_gpu = pytest.mark.skipif(not torch.cuda.is_available())``
            if not call:
                for atom in self.resolver.follow(module, func):
                    if atom.value is not None and atom.value[0] == "call":
                        return self._skips(atom.module, atom.value)
        return False

    def _of(self, module: Summary, value: Value, depth: int) -> bool | None:
        if value is None or depth > _MAX_DEPTH:
            return None
        tag = value[0]
        if tag == "const":
            return bool(value[1])
        if tag == "not":
            inner = self._of(module, value[1], depth + 1)
            return None if inner is None else not inner
        if tag == "bool":
            parts = [self._of(module, v, depth + 1) for v in value[2]]
            if value[1] == "and":
                if False in parts:
                    return False
                return True if all(p is True for p in parts) else None
            if True in parts:
                return True
            return False if all(p is False for p in parts) else None
        if tag == "cmp":
            return self._compare(module, value, depth)
        if tag == "if":
            test = self._of(module, value[1], depth + 1)
            if test is not None:
                return self._of(module, value[2] if test else value[3], depth + 1)
            return self._agree([self._of(module, v, depth + 1) for v in value[2:]])
        if tag == "any":
            return self._agree([self._of(module, v, depth + 1) for v in value[1]])
        if tag == "tried":
            chosen = value[3] if any(self.missing(name) for name in value[1]) else None
            if chosen is not None:
                return self._of(module, chosen, depth + 1)
            return self._agree([self._of(module, v, depth + 1) for v in value[2:]])
        if tag == "v":
            return self._of(module, module.definitions[value[1]].value, depth + 1)
        if tag in ("call", "ref"):
            return self._name(module, value, depth)
        if tag == "attr":
            if value[2] == "is_cuda":
                return False
            atoms = self.resolver.follow(module, value)
            if any(a.value is None or a.value == value for a in atoms):
                return None
            return self._agree([self._of(a.module, a.value, depth + 1) for a in atoms])
        return None

    @staticmethod
    def _agree(parts: list[bool | None]) -> bool | None:
        return parts[0] if parts and all(p is parts[0] for p in parts) else None

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
            if dotted in ("builtins.bool", "builtins.all") and value[0] == "call" and value[2]:
                return self._of(module, value[2][0], depth + 1)
            if dotted == "importlib.util.find_spec" and value[0] == "call" and value[2]:
                known, name = self.resolver.constant(module, value[2][0])
                if known and isinstance(name, str) and self.missing(name):
                    return False
                return None
            if dotted == "typing.TYPE_CHECKING":
                return False
            found = self.resolver.index.function(dotted)
            if found is not None and value[0] == "call":
                summary, function = found
                if len(function.returns) == 1:
                    return self._of(summary, function.returns[0], depth + 1)
                return self._agree([self._of(summary, v, depth + 1) for v in function.returns])
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
            if target is not None and len(target[1].returns) == 1:
                return self._of(target[0], target[1].returns[0], depth + 1)
        return None

    def _is_device(self, module: Summary, value: Value) -> bool:
        """Whether a value names a device: its type, or something called device."""
        if value is None:
            return False
        if value[0] == "attr" and value[2] in ("type", "device_type", "device"):
            return True
        if value[0] == "call" and value[1] == ("ref", "builtins.str"):
            return True
        if value[0] == "param":
            return "dev" in value[2]
        if value[0] == "v":
            return "dev" in module.definitions[value[1]].name
        if value[0] == "ref":
            return "device" in value[1].rpartition(".")[2].lower()
        return False

    def _compare(self, module: Summary, value: Any, depth: int) -> bool | None:
        _, left, op, right = value
        if op in ("is", "is not") and right == ("const", None):
            return self._is_none(module, left, op, depth)
        if op in ("==", "!="):
            for one, other in ((left, right), (right, left)):
                known, text = self.resolver.constant(module, one)
                if (
                    known
                    and isinstance(text, str)
                    and _CUDA_DEVICE.match(text)
                    and self._is_device(module, other)
                ):
                    return bool(op == "!=")
            a_known, a = self.resolver.constant(module, left)
            b_known, b = self.resolver.constant(module, right)
            if a_known and b_known:
                return (a == b) is (op == "==")
            return None
        if op in ("in", "not in"):
            known, text = self.resolver.constant(module, left)
            if known and text == "cuda" and right is not None and right[0] not in ("list", "tuple"):
                return bool(op == "not in") if self._is_device(module, right) else None
            if right is not None and right[0] in ("list", "tuple", "set"):
                items = [i[1] for i in right[1] if i is not None and i[0] == "const"]
                gpus = ("cuda", "xpu", "mps", "npu", "hpu", "musa", "mlu")
                if items and len(items) == len(right[1]) and all(i in gpus for i in items):
                    return bool(op == "not in")
            return None
        if (
            op in _OF_ZERO
            and right is not None
            and right[0] == "const"
            and isinstance(right[1], int | float)
            and self._of(module, left, depth + 1) is False
        ):
            # A count of CUDA devices is 0.
            return _OF_ZERO[op](right[1])
        return None

    def _is_none(self, module: Summary, left: Value, op: str, depth: int) -> bool | None:
        if left is None:
            return None
        if left[0] == "call":
            truth = self._of(module, left, depth + 1)
            return (op == "is") if truth is False else None
        if left[0] == "tried":
            if any(self.missing(name) for name in left[1]) and left[3] == ("const", None):
                return op == "is"
            return None
        if left[0] == "v":
            return self._is_none(module, module.definitions[left[1]].value, op, depth + 1)
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
