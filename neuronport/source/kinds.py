"""What a receiver is: tensor, module, optimizer, array … (``rules/understanding/kinds.toml``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

from neuronport.readers.python.facts import Value
from neuronport.source.summary import Summary
from neuronport.source.understanding import understanding
from neuronport.source.values import Atom, Resolver

UNKNOWN = "unknown"
_MAX_DEPTH = 8


class Known(NamedTuple):
    """A kind, and whether it was derived (True) or guessed from a name (False)."""

    kind: str
    derived: bool


_NOT_KNOWN = Known(UNKNOWN, True)


@cache
def table() -> Mapping[str, Any]:
    """The parsed kinds table, with prefixes sorted out."""
    raw = understanding("kinds")
    exact: dict[str, str] = {}
    prefixes: list[tuple[str, str]] = []
    for kind, names in raw["constructs"].items():
        for name in names:
            if name.endswith(".*"):
                prefixes.append((name[:-1], kind))
            else:
                exact[name] = kind
    prefixes.sort(key=lambda p: -len(p[0]))
    return {
        **raw,
        "exact": exact,
        "prefixes": prefixes,
        "by_name": {name: kind for kind, names in raw["names"].items() for name in names},
    }


@lru_cache(maxsize=1 << 16)
def constructed(dotted: str) -> str:
    """The kind that calling ``dotted`` gives."""
    data = table()
    kind = data["exact"].get(dotted)
    if kind is not None:
        return str(kind)
    if _ASKING.match(dotted.rpartition(".")[2]) and dotted.startswith("torch."):
        return "number"
    for prefix, kind in data["prefixes"]:
        if dotted.startswith(prefix):
            return str(kind)
    if dotted.endswith(".from_pretrained") and "Tokenizer" not in dotted:
        return "module"
    return UNKNOWN


_SEVERAL = frozenset(("var", "varkw"))


def _several(known: Known) -> Known:
    """What ``*args`` holds, each of which is of a kind."""
    return (
        Known("batch", known.derived) if known.kind in ("tensor", "batch") else Known("other", True)
    )


class Kinds:
    """Tells what values are; one per resolver, with its memory."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self.tensor_params: frozenset[tuple[str, str]] = frozenset()
        """Parameters that are used as tensors: ``source.usage``."""
        self._memo: dict[tuple[str, Value], Known] = {}

    def of(self, module: Summary, value: Value) -> Known:
        """The kind of a value; ``unknown`` when it cannot be told, or when branches differ."""
        return self._of(module, value, 0)

    def _of(self, module: Summary, value: Value, depth: int) -> Known:
        key = (module.module, value)
        before = len(self._memo)
        # Where a value rests on itself, and beyond the depth, nothing is known.
        known = self._memo.setdefault(key, _NOT_KNOWN)
        if len(self._memo) != before:
            if depth <= _MAX_DEPTH:
                known = self._memo[key] = self._derive(module, value, depth)
            else:
                del self._memo[key]
        return known

    def _derive(self, module: Summary, value: Value, depth: int) -> Known:
        if value is not None and value[0] == "param":
            # What is written of a parameter holds, whatever the callers are thought to pass.
            written = self._written(module, value, depth)
            if written.kind not in (UNKNOWN, "none"):
                return written
        kinds: dict[str, bool] = {}
        for atom in self.resolver.follow(module, value):
            known = self._atom(atom, depth)
            if known.kind == "none":
                continue
            kinds[known.kind] = kinds.get(known.kind, False) or known.derived
        derived = {k for k, d in kinds.items() if d and k != UNKNOWN}
        if len(derived) == 1:
            return Known(derived.pop(), True)
        guessed = {k for k in kinds if k != UNKNOWN}
        if not derived and len(guessed) == 1:
            return Known(guessed.pop(), False)
        return _NOT_KNOWN

    def _atom(self, atom: Atom, depth: int) -> Known:
        value = atom.value
        if value is None:
            return _NOT_KNOWN
        tag = value[0]
        if tag == "const":
            literal = value[1]
            if literal is None:
                return Known("none", True)
            return Known("string" if isinstance(literal, str) else "number", True)
        if tag == "fstr":
            return Known("string", True)
        if tag in ("list", "tuple", "dict", "set", "comp", "lambda"):
            return Known("other", True)
        if tag == "cmp":
            left = self._of(atom.module, value[1], depth + 1)
            right = self._of(atom.module, value[3], depth + 1)
            if value[2] in ("is", "is not", "in", "not in"):
                return Known("number", True)
            for side in (left, right):
                if side.kind in ("tensor", "array"):
                    return side
            return Known("number", True) if left.kind == right.kind == "number" else _NOT_KNOWN
        if tag in ("bin", "neg", "invert"):
            sides = value[2:] if tag == "bin" else value[1:]
            found = [self._of(atom.module, side, depth + 1) for side in sides]
            for side in found:
                if side.kind in ("tensor", "array"):
                    return side
            if found and all(side.kind == "number" for side in found):
                return Known("number", True)
            if any(side.kind == "string" for side in found):
                return Known("string", True)
            return _NOT_KNOWN
        if tag == "self":
            return Known(self._class_kind(value[1]), True)
        if tag == "annotated":
            return self._annotation(atom.module, value[1], depth)
        if tag == "param":
            return self._param(atom.module, value, depth)
        if tag == "call":
            return self._call(atom.module, value, depth)
        if tag == "attr":
            return self._attribute(atom.module, value, depth)
        if tag == "item":
            base = self._of(atom.module, value[1], depth + 1)
            if base.kind in ("tensor", "array", "string"):
                if not base.derived and keeps_place(value[2]):
                    return (
                        _NOT_KNOWN  # what is passed is a mapping, with a number of the host in it
                    )
                return base
            if base.kind == "batch":
                return Known("tensor", False)
            return _NOT_KNOWN
        if tag in ("elem", "unpack"):
            base = self._of(atom.module, value[1], depth + 1)
            if tag == "unpack" and base.kind in ("tensor", "batch"):
                return Known("tensor", base.kind == "tensor" and base.derived)
            kind = table()["elements"].get(base.kind)
            return Known(kind, base.derived) if kind else _NOT_KNOWN
        if tag == "with":
            return self._of(atom.module, value[1], depth + 1)
        if tag == "ref":
            if self.resolver.index.class_(value[1]) is not None:
                return Known("class", True)
            if value[1].startswith("torch.") and value[1].rpartition(".")[2] in _DTYPES:
                return Known("dtype", True)
            return Known("name", True)
        return _NOT_KNOWN

    def is_module_class(self, dotted: str) -> bool:
        """Whether a class of the tree is a ``torch.nn.Module``, as far as its bases are known."""
        if self._class_kind(dotted) == "module":
            return True
        last = self.resolver.index.ancestors(dotted)[-1]
        return last[:1] != "@" and last.endswith(("Module", "Model", "Layer", "Block"))

    def _class_kind(self, dotted: str) -> str:
        for name in self.resolver.index.ancestors(dotted):
            if name in ("torch.nn.Module", "torch.nn.modules.module.Module") or name.endswith(
                (".LightningModule", ".PreTrainedModel", ".ModelMixin")
            ):
                return "module"
            if name == "torch.optim.Optimizer" or name.startswith("torch.optim."):
                return "optimizer"
            if name == "torch.Tensor":
                return "tensor"
            if name.startswith("torch.nn."):
                return "module"
        return "other"

    def _annotation(self, module: Summary, value: Value, depth: int) -> Known:
        if value is None:
            return _NOT_KNOWN
        if value[0] == "bin":
            parts = [self._annotation(module, v, depth + 1) for v in value[2:]]
            named = [p for p in parts if p.kind not in (UNKNOWN, "none")]
            return named[0] if len(named) == 1 else _NOT_KNOWN
        if value[0] == "const":
            return Known("none", True) if value[1] is None else _NOT_KNOWN
        if value[0] == "item":
            base = value[1]
            if base is not None and base[0] == "ref":
                if base[1] in ("typing.Optional", "typing.Annotated", "typing.Final"):
                    inner = value[2]
                    if inner is not None and inner[0] == "tuple" and inner[1]:
                        inner = inner[1][0]
                    return self._annotation(module, inner, depth + 1)
                if base[1] == "typing.Union":
                    inner = value[2]
                    if inner is not None and inner[0] == "tuple":
                        parts = [self._annotation(module, v, depth + 1) for v in inner[1]]
                        named = [p for p in parts if p.kind not in (UNKNOWN, "none")]
                        return named[0] if len({p.kind for p in named}) == 1 else _NOT_KNOWN
                if base[1].partition(".")[0] in ("typing", "builtins", "collections"):
                    return Known("other", True)
                if base[1].startswith("jaxtyping."):
                    return Known("tensor", True)
            return _NOT_KNOWN
        if value[0] in ("ref", "v"):
            for ref in self.resolver.refs(module, value):
                kind = table()["annotations"].get(ref)
                if kind is not None:
                    return Known(kind, True)
                if self.resolver.index.class_(ref) is not None:
                    return Known(self._class_kind(ref), True)
                if ref.startswith("torch.nn."):
                    return Known("module", True)
                if ref.startswith("torch.optim."):
                    return Known("optimizer", True)
                if ref.startswith(("numpy.", "builtins.", "pathlib.", "argparse.", "typing.")):
                    return Known("other", True)
        return _NOT_KNOWN

    def _written(self, module: Summary, value: Any, depth: int) -> Known:
        """The kind that the annotation of a parameter says."""
        function = module.functions.get(value[1])
        for name, _default, annotation, kind in function.params if function is not None else ():
            if name == value[2]:
                known = self._annotation(module, annotation, depth + 1)
                return _several(known) if kind in _SEVERAL and known.kind != UNKNOWN else known
        return _NOT_KNOWN

    def _param(self, module: Summary, value: Any, depth: int) -> Known:
        known = self._one_param(module, value, depth)
        function = module.functions.get(value[1])
        if function is not None and any(
            p[0] == value[2] and p[3] in _SEVERAL for p in function.params
        ):
            return _several(known)
        return known

    def _one_param(self, module: Summary, value: Any, depth: int) -> Known:
        function = module.functions.get(value[1])
        name = value[2]
        if function is not None:
            for param, default, annotation, _kind in function.params:
                if param == name:
                    known = self._annotation(module, annotation, depth + 1)
                    if known.kind != UNKNOWN:
                        return known
                    if default is not None and default[0] == "const":
                        if isinstance(default[1], bool | int | float):
                            return Known("number", False)
                        if isinstance(default[1], str):
                            return Known("string", False)
            if (
                function.owner
                and value[1].rpartition(".")[2] in ("forward", "__call__")
                and self._class_kind(function.owner) == "module"
            ):
                # What a module's forward is given is tensors, nearly always.
                return Known(UNKNOWN if _NO_TENSOR.search(name) else "tensor", False)
        if (value[1], name) in self.tensor_params and not _NO_TENSOR.search(name):
            return Known("tensor", False)
        kind = table()["by_name"].get(name)
        return Known(kind, False) if kind else _NOT_KNOWN

    def _call(self, module: Summary, value: Any, depth: int) -> Known:
        func = value[1]
        if func is not None and func[0] == "star":
            home = self.resolver.index.starred(module, func[1])
            named = self.resolver.refs(module, ("ref", f"{home}.{func[1]}")) if home else []
            func = ("ref", named[0]) if len(named) == 1 else None
        if func is None:
            return _NOT_KNOWN
        if func[0] == "ref":
            dotted = func[1]
            if self.resolver.index.class_(dotted) is not None:
                return Known(self._class_kind(dotted), True)
            found = self.resolver.index.function(dotted)
            if found is not None:
                return self._annotation(found[0], found[1].return_annotation, depth + 1)
            kind = constructed(dotted)
            return Known(kind if kind != "not-tensor" else "other", True)
        if func[0] == "attr":
            base = self._of(module, func[1], depth + 1)
            methods = table()["methods"].get(base.kind)
            if methods is not None:
                result: str | None = methods.get(func[2], methods.get("*"))
                if result == "same":
                    return base
                if result is not None:
                    return Known(result, base.derived)
            target = self.resolver.callee(module, func)
            if target is not None:
                return self._annotation(target[0], target[1].return_annotation, depth + 1)
            if base.kind == "module" and func[2] not in ("parameters",):
                return _NOT_KNOWN
            return _NOT_KNOWN
        # Calling a value: a module gives tensors.
        base = self._of(module, func, depth + 1)
        if base.kind == "module":
            return Known("tensor", False)
        if base.kind == "class":
            return _NOT_KNOWN
        return _NOT_KNOWN

    def _attribute(self, module: Summary, value: Any, depth: int) -> Known:
        base = self._of(module, value[1], depth + 1)
        attributes = table()["attributes"].get(base.kind)
        if attributes is not None and value[2] in attributes:
            return Known(attributes[value[2]], base.derived)
        kind = table()["by_name"].get(value[2])
        if kind:
            return Known(kind, False)
        return _NOT_KNOWN


def key_of(index: Value) -> str:
    """The string that something is looked up by; empty: it is no literal string."""
    literal = index is not None and index[0] == "const" and isinstance(index[1], str)
    return str(index[1]) if index is not None and literal else ""


def keeps_place(index: Value) -> bool:
    """Whether what is looked up is by its key a place or a length: ``cache["offset"]``."""
    return bool(_PLACE.search(key_of(index)))


_PLACE = re.compile(r"(^|_)(offset|step|pos|position|seq_?len(gth)?|length|index|idx)$", re.I)
_ASKING = re.compile(r"(is|are|has|can|get_num)_(?!close$)|\w+_enabled$")
"""Functions of PyTorch that answer yes or no: ``torch.are_deterministic_algorithms_enabled``."""
_NO_TENSOR = re.compile(
    r"(^|_)(size|sizes|shape|shapes|h|w|height|width|metas?|metainfo|cfg|config|mode|flag|mems|names?"
    r"|nums?|n|dims?|scale_factor|kwargs|args|opts?|options|stride|strides|level|levels|rate)$"
    r"|^(num|n|is|use|return|output|with|do|should|max|min|img_meta|batch_size)_",
    re.I,
)
"""What parameters are called that hold sizes, settings and descriptions."""
_DTYPES = frozenset(
    [
        "float32",
        "float",
        "float64",
        "double",
        "float16",
        "half",
        "bfloat16",
        "int8",
        "uint8",
        "int16",
        "short",
        "int32",
        "int",
        "int64",
        "long",
        "bool",
        "complex32",
        "complex64",
        "cfloat",
        "complex128",
        "cdouble",
        "float8_e4m3fn",
        "float8_e5m2",
        "float8_e4m3fnuz",
        "float8_e5m2fnuz",
    ]
)
