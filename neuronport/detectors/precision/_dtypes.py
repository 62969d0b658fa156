"""Which number format a value has or is turned into."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors._tensors import uses_torch
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

_NAMES = {
    "torch.float16": "float16",
    "torch.half": "float16",
    "torch.HalfTensor": "float16",
    "torch.cuda.HalfTensor": "float16",
    "torch.bfloat16": "bfloat16",
    "torch.BFloat16Tensor": "bfloat16",
    "torch.float32": "float32",
    "torch.float": "float32",
    "torch.FloatTensor": "float32",
    "torch.cuda.FloatTensor": "float32",
    "torch.float64": "float64",
    "torch.double": "float64",
    "torch.DoubleTensor": "float64",
    "torch.cuda.DoubleTensor": "float64",
    "torch.complex32": "complex",
    "torch.chalf": "complex",
    "torch.complex64": "complex",
    "torch.cfloat": "complex",
    "torch.complex128": "complex",
    "torch.cdouble": "complex",
    "torch.int64": "int64",
    "torch.long": "int64",
    "torch.LongTensor": "int64",
    "torch.cuda.LongTensor": "int64",
    "torch.int32": "int32",
    "torch.int": "int32",
    "torch.IntTensor": "int32",
    "torch.int16": "int16",
    "torch.short": "int16",
    "torch.int8": "int8",
    "torch.uint8": "uint8",
    "torch.bool": "bool",
    "builtins.bool": "bool",
}
_STRINGS = {"float16": "float16", "torch.float16": "float16", "half": "float16", "fp16": "float16"}
CASTS = {
    "half": "float16",
    "double": "float64",
    "float": "float32",
    "bfloat16": "bfloat16",
    "long": "int64",
    "int": "int32",
    "bool": "bool",
    "short": "int16",
    "byte": "uint8",
    "char": "int8",
    "cfloat": "complex",
    "cdouble": "complex",
}
METHODS: tuple[str, ...] = (
    "to",
    "type",
    "half",
    "double",
    "new_tensor",
    "new_zeros",
    "new_ones",
    "new_full",
)
KEYWORDS: tuple[str, ...] = ("dtype", "torch_dtype")


def formats(view: ModuleView, value: Value) -> list[str]:
    """The number formats a dtype argument can be; '' among them: something else."""
    if value is None:
        return []
    if value[0] == "ref":
        return [_NAMES.get(value[1], "")] if value[1][:1] != "@" else _followed(view, value)
    if value[0] in ("const", "call", "list", "tuple", "dict", "bin", "cmp", "fstr"):
        return []
    return _followed(view, value)


def _followed(view: ModuleView, value: Value) -> list[str]:
    found = []
    for atom in view.follow(value):
        inner = atom.value
        if inner is not None and inner[0] == "ref":
            found.append(_NAMES.get(inner[1], ""))
        elif inner is None or inner != ("const", None):
            found.append("")
    return found


def made(event: Event, view: ModuleView, wanted: str) -> Iterator[tuple[str, Confidence]]:
    """How an event makes values of a format: in words, and how surely."""
    if event.kind == "method":
        if not uses_torch(view):
            return
        if CASTS.get(event.name) == wanted and not event.args and not event.kwargs:
            known = view.kind(event.value)
            if known.kind in ("tensor", "module"):
                yield (
                    f".{event.name}()",
                    (Confidence.CERTAIN if known.derived else Confidence.LIKELY),
                )
            elif known.kind in ("unknown", "batch", "params"):
                yield f".{event.name}()", Confidence.LIKELY
            return
        if event.name in ("to", "type"):
            for value in event.args or ():
                sure = _surely(formats(view, value), wanted)
                if sure is not None:
                    yield f".{event.name}({_word(wanted, view, value)})", sure
                    return
    if event.kind in ("use", "method", "callkw"):
        for key, value in event.kwargs:
            if key not in KEYWORDS:
                continue
            sure = _surely(formats(view, value), wanted)
            if sure is None and key == "torch_dtype" and value is not None:
                literals = {_STRINGS.get(text, text) for text, _ in view.strings(value)}
                if wanted in literals:
                    sure = Confidence.CERTAIN if len(literals) == 1 else Confidence.POSSIBLE
            if sure is not None:
                yield f"{key}={_word(wanted, view, value)}", sure
                return


def _word(wanted: str, view: ModuleView, value: Value) -> str:
    return view.text(value) if wanted == "complex" else wanted


def _surely(found: list[str], wanted: str) -> Confidence | None:
    if wanted not in found:
        return None
    if len(found) == 1:
        return Confidence.CERTAIN
    return Confidence.LIKELY if set(found) == {wanted} else Confidence.POSSIBLE


_MAX_DEPTH = 7
_INTEGRAL = frozenset(
    ("argmax", "argmin", "argsort", "bincount", "nonzero", "numel", "long", "int")
)
_SHAPING = frozenset(
    [
        "reshape",
        "view",
        "flatten",
        "squeeze",
        "unsqueeze",
        "clone",
        "detach",
        "contiguous",
        "transpose",
        "permute",
        "t",
        "expand",
        "repeat",
        "cpu",
        "cuda",
        "to",
        "copy",
        "ravel",
        "T",
        "item",
        "abs",
        "sum",
        "cumsum",
        "clamp",
        "max",
        "min",
    ]
)


def integral(view: ModuleView, value: Value, depth: int = 0) -> bool | None:
    """Whether a tensor holds integers; None: it cannot be told."""
    if value is None or depth > _MAX_DEPTH:
        return None
    tag = value[0]
    if tag == "v":
        return integral(view, view.summary.definitions[value[1]].value, depth + 1)
    if tag in ("item", "neg"):
        return integral(view, value[1], depth + 1)
    if tag == "bin":
        if value[1] == "/":
            return False
        sides = [integral(view, side, depth + 1) for side in value[2:]]
        return False if False in sides else True if sides == [True, True] else None
    if tag == "const":
        number = value[1]
        return isinstance(number, int) if isinstance(number, bool | int | float) else None
    if tag in ("list", "tuple"):
        answers = {integral(view, item, depth + 1) for item in value[1]}
        return False if False in answers else True if answers == {True} else None
    if tag != "call" or value[1] is None:
        return None
    func = value[1]
    given = [f for k, v in value[3] if k == "dtype" for f in formats(view, v)]
    if given:
        return _answer(given[0]) if len(given) == 1 else None
    if func[0] == "attr":
        name = func[2]
        if name in CASTS:
            return _answer(CASTS[name])
        if name in ("to", "type"):
            for item in value[2]:
                found = formats(view, item)
                if len(found) == 1 and found[0]:
                    return _answer(found[0])
        if name in _INTEGRAL:
            return True
        if name == "sum" and _truths(view, func[1]):
            return True
        if name in _SHAPING:
            return integral(view, func[1], depth + 1)
        return None
    if func[0] == "ref":
        name = view.index.canonical(func[1], view.summary)
        if name in ("builtins.len", "builtins.int"):
            return True
        if name == "builtins.float":
            return False
        if name in ("torch.tensor", "torch.as_tensor", "torch.full"):
            position = 1 if name == "torch.full" else 0
            return (
                integral(view, value[2][position], depth + 1) if len(value[2]) > position else None
            )
        if name in ("torch.zeros", "torch.ones", "torch.rand", "torch.randn", "torch.empty"):
            return False
        if name in ("torch.randint", "torch.randperm", "torch.argmax", "torch.argsort"):
            return True
        if name == "torch.arange":
            answers = {integral(view, item, depth + 1) for item in value[2]}
            return False if False in answers else True if answers == {True} else None
        if name in ("torch.LongTensor", "torch.IntTensor", "torch.bincount"):
            return True
        if name == "torch.sum" and value[2] and _truths(view, value[2][0]):
            return True
    return None


def _truths(view: ModuleView, value: Value) -> bool:
    while value is not None and value[0] == "v":
        value = view.summary.definitions[value[1]].value
    if value is None:
        return False
    if value[0] == "cmp":
        return True
    return value[0] == "call" and value[1] is not None and value[1][-1] in ("eq", "torch.eq", "ne")


def _answer(name: str) -> bool | None:
    return name.startswith(("int", "uint")) if name else None
