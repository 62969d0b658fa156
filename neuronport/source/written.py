"""Where the tensors are that the programs of a tree save: a checkpoint read on a host without CUDA
raises for those that were on CUDA."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from neuronport.readers.python.facts import ON_CPU, SAVE, Value
from neuronport.source.index import Call, TreeIndex
from neuronport.source.kinds import Kinds
from neuronport.source.summary import Summary
from neuronport.source.values import Resolver

_MAX_DEPTH = 8
_KEPT = frozenset(("detach", "clone", "contiguous", "half", "float", "bfloat16", "data", "eval"))
"""What leaves a tensor or a module where it is."""
_STATES = frozenset(("state_dict", "parameters", "named_parameters", "buffers", "named_buffers"))
_NUMBERS = ("sched", "scaler", "loader", "sampler", "tokeni", "config", "metric", "meter", "logger")
"""In what something is called: its state is no tensors of a model."""


class Where(IntEnum):
    NOTHING = 0
    """Nothing is saved, as far as is known."""
    CPU = 1
    UNCLEAR = 2
    DEVICE = 3
    """What a model or an optimizer holds, wherever that is."""


def written(index: TreeIndex, names: frozenset[str] = frozenset()) -> Where:
    """Where what ``torch.save`` writes in a tree is, at worst. Of ``names`` of files alone, where
    files of these names are written."""
    if names:
        found = index.answer(
            f"written as {sorted(names)}", SAVE, lambda _: _Writers(index).worst(names)
        )
        if found is not Where.NOTHING:
            return found
    return index.answer("written", SAVE, lambda _: _Writers(index).worst())


def moved_before(index: TreeIndex, module: str, line: int) -> bool:
    """Whether what is saved in a line was moved to the CPU before, all of it."""
    return any(
        call.module == module and call.line == line and _Writers(index).of_call(call) is Where.CPU
        for call in index.callers(SAVE)
    )


def file_name(module: Summary, value: Value, depth: int = 0) -> str:
    """The end of a path as it is written, without its folders: ``"last.pt"`` of
    ``os.path.join(folder, "last.pt")``; '' where it does not end in a literal."""
    if value is None or depth > _MAX_DEPTH:
        return ""
    tag = value[0]
    if tag == "v":
        return file_name(module, module.definitions[value[1]].value, depth + 1)
    if tag == "const":
        text = value[1] if isinstance(value[1], str) else ""
        return text.replace("\\", "/").rpartition("/")[2]
    if tag == "fstr" and value[1]:
        last = value[1][-1]
        literal = last is not None and last[0] == "const" and isinstance(last[1], str)
        # Only what stands behind a folder: the end of a name may be that of many.
        return last[1].rpartition("/")[2] if literal and "/" in last[1] else ""
    if tag == "bin" and value[1] in ("/", "+"):
        name = file_name(module, value[3], depth + 1)
        literal = value[3] is not None and value[3][0] == "const"
        return name if value[1] == "/" or (literal and "/" in str(value[3][1])) else ""
    if tag == "call" and value[1] is not None and value[2]:
        func = value[1]
        joins = func[0] == "ref" and func[1] in _PATHS
        joins = joins or (func[0] == "attr" and func[2] == "joinpath")
        return file_name(module, value[2][-1], depth + 1) if joins else ""
    return ""


_PATHS = ("os.path.join", "pathlib.Path", "builtins.str", "os.fspath", "os.path.abspath")


class _Writers:
    # With a memory of its own: what one answer rests on is written down while it is looked for.
    def __init__(self, index: TreeIndex) -> None:
        self.index = index
        self.resolver = Resolver(index)
        self.kinds = Kinds(self.resolver)

    def worst(self, names: frozenset[str] = frozenset()) -> Where:
        worst = Where.NOTHING
        for call in self.index.callers(SAVE):
            module = self.index.module(call.module)
            if names and (module is None or not self._is_called(module, call, names)):
                continue
            worst = max(worst, self.of_call(call))
            if worst is Where.DEVICE:
                break
        return worst

    def of_call(self, call: Call) -> Where:
        """Where what a call saves is, at worst."""
        module = self.index.module(call.module)
        if module is None:
            return Where.NOTHING
        named = dict(call.kwargs)
        value = call.args[0] if call.args else named.get("obj")
        moved = named.get(ON_CPU)
        on_cpu = frozenset(moved[1]) if moved is not None else frozenset()
        return self._of(module, value, on_cpu, 0)

    def _is_called(self, module: Summary, call: Call, names: frozenset[str]) -> bool:
        """Whether a file is written under one of some names."""
        path = call.args[1] if len(call.args) > 1 else dict(call.kwargs).get("f")
        return any(
            file_name(atom.module, atom.value) in names
            for atom in self.resolver.follow(module, path)
        )

    def _of(self, module: Summary, value: Value, on_cpu: frozenset[Value], depth: int) -> Where:
        if value is None or depth > _MAX_DEPTH:
            return Where.UNCLEAR
        if value in on_cpu:
            return Where.CPU
        tag = value[0]
        if tag == "const":
            return Where.NOTHING
        if tag == "dict":
            if not value[1]:
                return Where.DEVICE  # filled later, with what is mostly a model's
            return self._worst(module, [item for _, item in value[1]], on_cpu, depth)
        if tag in ("list", "tuple"):
            return self._worst(module, value[1], on_cpu, depth)
        if tag == "comp":
            each = self._of(module, value[2], on_cpu, depth + 1)
            return each if each is Where.CPU else self._of(module, value[3], on_cpu, depth + 1)
        if tag == "call" and value[1] is not None and value[1][0] == "attr":
            return self._method(module, value, on_cpu, depth)
        if tag == "call" and "cpu" in _last(value[1]).lower():
            return Where.CPU  # ``state_to_cpu(model)``
        if tag in ("v", "any", "if", "bool", "param", "call", "ref"):
            return self._followed(module, value, on_cpu, depth)
        return self._by_kind(module, value)

    def _method(self, module: Summary, call: Any, on_cpu: frozenset[Value], depth: int) -> Where:
        _, (_, base, name), args, kwargs, *_ = call
        if name == "cpu" or (name == "to" and _names_cpu(args, kwargs)) or "cpu" in name.lower():
            return Where.CPU
        if name in _STATES:
            held = _last(base).lower()
            if any(word in held for word in _NUMBERS):
                return Where.NOTHING
            where = self._of(module, base, on_cpu, depth + 1)
            return where if where is Where.CPU else Where.DEVICE
        if name in ("items", "values", "copy") or name in _KEPT:
            return self._of(module, base, on_cpu, depth + 1)
        return self._followed(module, call, on_cpu, depth)

    def _followed(
        self, module: Summary, value: Value, on_cpu: frozenset[Value], depth: int
    ) -> Where:
        worst = Where.NOTHING
        atoms = self.resolver.follow(module, value)
        for atom in atoms:
            # Variables of another module are others by the same number.
            there = on_cpu if atom.module == module else frozenset()
            if atom.value is None or atom.value == value or atom.value[0] in ("v", "param", "ref"):
                where = self._by_kind(atom.module, atom.value)
            elif (
                atom.value[0] == "call" and atom.value[1] is not None and atom.value[1][0] == "ref"
            ):
                made = _last(atom.value[1]).lower()
                where = Where.CPU if "cpu" in made else self._by_kind(atom.module, atom.value)
            else:
                where = self._of(atom.module, atom.value, there, depth + 1)
            worst = max(worst, where)
        return worst if atoms else Where.UNCLEAR

    def _by_kind(self, module: Summary, value: Value) -> Where:
        if value is None:
            return Where.UNCLEAR
        kind = self.kinds.of(module, value).kind
        return Where.DEVICE if kind in ("module", "optimizer") else Where.UNCLEAR

    def _worst(self, module: Summary, values: Any, on_cpu: frozenset[Value], depth: int) -> Where:
        found = [self._of(module, item, on_cpu, depth + 1) for item in values]
        # Beside what is known to be a model's, what is not known is mostly a number.
        known = [where for where in found if where is not Where.UNCLEAR]
        if Where.DEVICE in known or (known and max(known) is Where.CPU):
            return max(known)
        return max(found, default=Where.UNCLEAR)


def _names_cpu(args: Any, kwargs: Any) -> bool:
    given = (*args[:1], *(value for key, value in kwargs if key == "device"))
    return any(
        value == ("const", "cpu")
        or (value is not None and value[0] == "call" and value[2][:1] == (("const", "cpu"),))
        for value in given
    )


def _last(value: Value) -> str:
    """The last part of what something is called."""
    if value is None:
        return ""
    if value[0] in ("ref", "attr", "param"):
        return str(value[-1]).rpartition(".")[2]
    return ""
