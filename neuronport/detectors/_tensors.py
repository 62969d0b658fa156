"""What detectors of tensor code share: calls as functions and as methods, masks, data-dependent
sizes, tensors that never leave the host, and how much a place matters."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import Any, NamedTuple

from neuronport.findings import CONFIDENCE_ORDER, Confidence, weakest
from neuronport.readers.python.facts import Definition, Event, Value
from neuronport.source.hot import SELDOM
from neuronport.source.view import ModuleView

CERTAIN, LIKELY, POSSIBLE = Confidence.CERTAIN, Confidence.LIKELY, Confidence.POSSIBLE
_MAX_DEPTH = 6
_MAX_HOST_DEPTH = 12


class Call(NamedTuple):
    """A call of a tensor operation, written as a function or as a method."""

    name: str
    tensor: Value
    args: tuple[Value, ...]
    """Without the tensor."""
    kwargs: tuple[tuple[str | None, Value], ...]
    confidence: Confidence

    def argument(self, name: str, position: int | None = None) -> Value:
        """An argument by keyword or position; None: not given, or not known."""
        for key, value in self.kwargs:
            if key == name:
                return value
        if position is not None and position < len(self.args):
            value = self.args[position]
            return None if value is not None and value[0] == "starred" else value
        return None

    def given(self, name: str, position: int | None = None) -> bool:
        if any(key in (name, None) for key, _ in self.kwargs):
            return True
        if any(value is not None and value[0] == "starred" for value in self.args):
            return True
        return position is not None and position < len(self.args)


def uses_torch(view: ModuleView) -> bool:
    """Whether a module imports PyTorch: elsewhere a value of unknown kind is hardly a tensor."""
    return view.once("uses torch", lambda: _uses_torch(view))


def _uses_torch(view: ModuleView) -> bool:
    return any(
        e.kind == "import" and e.name.partition(".")[0] in ("torch", "torch_xla", "einops")
        for e in view.facts.events
    )


def uses_arrays(view: ModuleView) -> bool:
    """Whether a module also handles NumPy arrays or data frames, which index alike."""
    return view.once("uses arrays", lambda: _uses_arrays(view))


def _uses_arrays(view: ModuleView) -> bool:
    return any(
        value is not None
        and value[0] == "ref"
        and value[1].partition(".")[0] in ("numpy", "pandas", "scipy")
        for value in view.facts.exports.values()
    )


def torch_call(event: Event, view: ModuleView) -> str:
    """The dotted name of the PyTorch function called at an event, or ''."""
    if event.kind != "use" or event.role != "call":
        return ""
    name = event.name
    if name[:1] == "@":
        name = view.index.canonical(name, view.summary)
    return name if name.startswith("torch.") else ""


def called(event: Event, view: ModuleView, names: Collection[str]) -> Call | None:
    """The call of ``torch.NAME(tensor, …)`` or ``tensor.NAME(…)`` at an event, if it is one."""
    if event.kind == "method":
        if event.name not in names or not uses_torch(view):
            return None
        sure = view.receiver(event.value, "tensor")
        if sure is None:
            return None
        return Call(event.name, event.value, event.args or (), event.kwargs, sure)
    name = torch_call(event, view)
    last = name.rpartition(".")[2]
    if not name or last not in names or name not in (f"torch.{last}", f"torch.Tensor.{last}"):
        return None
    args = event.args or ()
    if args:
        return Call(last, args[0], args[1:], event.kwargs, CERTAIN)
    return Call(last, view.argument(event, "input"), (), event.kwargs, CERTAIN)


# ---- how much a place matters --------------------------------------------------------------------

_PREPARING = re.compile(
    r"dataset|datamodule|dataio|_pipeline|__getitem__|__len__|collate|(?<![a-z])transforms?(?!er)|augment"
    r"|preprocess|prepare_data|tokeniz|vocab|download|convert|export|plot|visuali|draw|confusion"
    r"|_metrics?(?![a-z])|save|init_weights|reset_parameters|__init__|__repr__|(^|\.)test_",
    re.I,
)
_PREPARING_PATH = re.compile(
    r"(^|/)(data|datasets?|transforms?|dataloaders?|dataio|preprocess\w*|augment\w*|plot\w*|metric\w*)(\.py$|/)",
    re.I,
)


def prepares(event: Event, view: ModuleView) -> bool:
    """Whether a place prepares data, sets up or reports: it runs on the host, or once."""
    scope = view.scope(event)
    return not scope or _is_preparing(scope) or prepares_data(event, view)


@lru_cache(maxsize=1 << 14)
def _is_preparing(scope: str) -> bool:
    return _PREPARING.search(scope) is not None


def prepares_data(event: Event, view: ModuleView) -> bool:
    """Whether a place stands in a file of data sets or transforms: even a module runs on the host
    there."""
    return view.once("prepares data", lambda: _PREPARING_PATH.search(view.facts.path) is not None)


def placed(event: Event, view: ModuleView, sure: Confidence) -> Confidence:
    """A confidence with the place taken into account: certain only where it runs every step."""
    hot = view.hot(event)
    if hot:
        return POSSIBLE if hot.endswith(SELDOM) else sure
    return weakest(sure, POSSIBLE if prepares(event, view) else LIKELY)


# ---- where a tensor lies -------------------------------------------------------------------------

_FACTORIES = frozenset(
    f"torch.{name}"
    for name in [
        "tensor",
        "as_tensor",
        "from_numpy",
        "zeros",
        "ones",
        "full",
        "empty",
        "rand",
        "randn",
        "randint",
        "randperm",
        "arange",
        "linspace",
        "logspace",
        "eye",
        "tril_indices",
        "triu_indices",
        "hann_window",
        "ByteTensor",
        "FloatTensor",
        "IntTensor",
        "LongTensor",
        "Tensor",
    ]
)
_LISTS = frozenset(("torch.cat", "torch.stack", "torch.concat", "torch.hstack", "torch.vstack"))


def on_host(view: ModuleView, value: Value, depth: int = 0) -> bool | None:
    """Whether a tensor lies in host memory: True, False, or None where it cannot be told."""
    if value is None or depth > _MAX_HOST_DEPTH:
        return None
    tag = value[0]
    if tag == "v":
        known: dict[int, bool | None] = view.once("on host", dict)
        if value[1] not in known:
            known[value[1]] = None
            inner = view.summary.definitions[value[1]].value
            known[value[1]] = on_host(view, inner, depth + 1)
        return known[value[1]]
    if tag in ("any", "bool"):
        items = value[1] if tag == "any" else value[2]
        answers = {on_host(view, item, depth + 1) for item in items}
        return answers.pop() if len(answers) == 1 else None
    if tag in ("bin", "cmp"):
        sides = (value[2], value[3]) if tag == "bin" else (value[1], value[3])
        answers = {on_host(view, side, depth + 1) for side in sides}
        return True if True in answers else False if False in answers else None
    if tag in ("item", "neg", "invert", "unpack", "elem"):
        return on_host(view, value[1], depth + 1)
    if tag != "call" or value[1] is None:
        return None
    func = value[1]
    keys = {key for key, _ in value[3]}
    if func[0] == "attr":
        name = func[2]
        if name in ("cpu", "numpy", "tolist"):
            return True
        if name in ("cuda", "xpu"):
            return False
        if name == "to":
            for item in (*value[2], *(v for k, v in value[3] if k == "device")):
                texts = [text for text, _ in view.strings(item)]
                if texts:
                    return view.only(item, "cpu")
                if view.kind(item).kind == "device":
                    return False
            if value[2] and view.kind(value[2][0]).kind == "dtype":
                return on_host(view, func[1], depth + 1)
            return None
        return on_host(view, func[1], depth + 1)
    if func[0] == "ref":
        name = view.index.canonical(func[1], view.summary)
        if name in _FACTORIES:
            if "device" in keys:
                return any(k == "device" and view.only(v, "cpu") for k, v in value[3])
            return True
        if name in _LISTS and value[2]:
            inner = value[2][0]
            if inner is not None and inner[0] in ("list", "tuple") and inner[1]:
                return on_host(view, inner[1][0], depth + 1)
            return None
        if name.startswith("torch."):
            answers = {on_host(view, item, depth + 1) for item in value[2][:3]}
            return True if True in answers else False if False in answers else None
    return None


# ---- masks and sizes that depend on data ---------------------------------------------------------

_MASKING = frozenset(
    [
        "eq",
        "ne",
        "gt",
        "ge",
        "lt",
        "le",
        "isnan",
        "isinf",
        "isfinite",
        "logical_and",
        "logical_or",
        "logical_not",
        "logical_xor",
        "isclose",
        "isin",
        "bool",
        "greater",
        "less",
        "greater_equal",
        "less_equal",
        "not_equal",
        "is_nonzero",
    ]
)
_KEEPING = frozenset(
    [
        "flatten",
        "reshape",
        "view",
        "squeeze",
        "unsqueeze",
        "clone",
        "contiguous",
        "detach",
        "cpu",
        "cuda",
        "to",
        "permute",
        "transpose",
        "t",
        "expand",
        "expand_as",
        "repeat",
        "logical_not",
        "byte",
    ]
)
MASK_NAME = re.compile(
    r"(^|_)(mask|masks|keep|valid|ignore|pad|padding|flip|drop|missing|selected|active|inactive"
    r"|finished|unfinished|positive|negative|inds?_bool|non_?pad|is_[a-z]+)(_|$)|mask$",
    re.I,
)
_NOT_A_TENSOR = re.compile(r"^(df|dataframe|frame|table|dic|dict|d)(_|$)|_(df|dict|map)$", re.I)


def local_name(view: ModuleView, value: Value) -> str:
    """The name a value is written as: a variable, a parameter, an attribute."""
    if value is None:
        return ""
    if value[0] == "v":
        return view.summary.definitions[value[1]].name
    if value[0] in ("param", "attr"):
        return str(value[2])
    if value[0] == "any":
        return local_name(view, value[1][0])
    return ""


def mask(view: ModuleView, value: Value, depth: int = 0) -> Confidence | None:
    """How surely a value is a tensor of truth values; None: it is not, as far as is known."""
    if value is None or depth > _MAX_DEPTH:
        return None
    tag = value[0]
    if tag == "v":
        return mask(view, view.summary.definitions[value[1]].value, depth + 1)
    if tag == "any":
        found = [mask(view, item, depth + 1) for item in value[1]]
        sure = [c for c in found if c is not None]
        if not sure:
            return None
        return weakest(*sure) if len(sure) == len(found) else weakest(LIKELY, *sure)
    if tag == "cmp":
        if value[2] in ("is", "is not", "in", "not in"):
            return None
        kinds = [view.kind(value[1]), view.kind(value[3])]
        if any(k.kind in ("array", "string", "dtype", "device", "class") for k in kinds):
            return None
        tensors = [k for k in kinds if k.kind == "tensor"]
        if tensors:
            return CERTAIN if any(k.derived for k in tensors) else LIKELY
        return POSSIBLE if any(k.kind == "unknown" for k in kinds) else None
    if tag == "invert":
        return mask(view, value[1], depth + 1)
    if tag == "bin" and value[1] in ("&", "|", "^"):
        sides = [c for c in (mask(view, side, depth + 1) for side in value[2:]) if c is not None]
        return min(sides, key=CONFIDENCE_ORDER.__getitem__) if sides else None
    if tag == "item":
        # A slice of a mask is a mask; what a mask or an index picks from one is one too.
        return mask(view, value[1], depth + 1)
    if tag == "call" and value[1] is not None:
        func = value[1]
        if func[0] == "attr":
            name = func[2]
            if name in _MASKING:
                known = view.kind(func[1])
                if known.kind == "tensor":
                    return CERTAIN if known.derived else LIKELY
                return POSSIBLE if known.kind == "unknown" else None
            if name in ("to", "type") and _is_bool(view, [*value[2], *(v for _, v in value[3])]):
                return view.receiver(func[1], "tensor")
            if name in _KEEPING:
                return mask(view, func[1], depth + 1)
            return None
        if func[0] == "ref":
            name = view.index.canonical(func[1], view.summary)
            last = name.rpartition(".")[2]
            if not name.startswith("torch."):
                return None
            if last in _MASKING:
                return CERTAIN
            if _is_bool(view, [v for k, v in value[3] if k == "dtype"]):
                return CERTAIN
    return None


def _is_bool(view: ModuleView, values: Collection[Value]) -> bool:
    return any(
        v is not None and v[0] == "ref" and v[1] in ("torch.bool", "torch.BoolTensor")
        for v in values
    )


COUNTING = frozenset(("nonzero", "argwhere", "masked_select", "unique", "unique_consecutive"))
"""Operations whose result has as many elements as the data says."""


def counted(view: ModuleView, value: Value, depth: int = 0) -> str:
    """The operation by which the data decides how long a value is; '': none known."""
    if value is None or depth > _MAX_DEPTH:
        return ""
    tag = value[0]
    if tag == "v":
        return counted(view, view.summary.definitions[value[1]].value, depth + 1)
    if tag == "any":
        for item in value[1]:
            found = counted(view, item, depth + 1)
            if found:
                return found
        return ""
    if tag == "unpack" and value[2] == 1 and _with_inverse(view, value[1]):
        return ""
    if tag in ("unpack", "neg"):
        return counted(view, value[1], depth + 1)
    if tag == "item":
        index = value[2]
        base = counted(view, value[1], depth + 1)
        if base:
            # ``where(…)[0]`` is still as long as the data says, ``nonzero()[0][0]`` is one element:
            # only an index into the tuple or a slice keeps the length.
            if index is not None and index[0] == "const" and not base.endswith("()"):
                return f"{base}()" if base == "where" else ""
            if index is not None and view.kind(index).kind == "number":
                return ""
            return base
        sure = mask(view, index, depth + 1)
        return "a mask" if sure in (CERTAIN, LIKELY) else ""
    if tag == "call" and value[1] is not None:
        func = value[1]
        if func[0] == "attr":
            if func[2] in COUNTING and view.receiver(func[1], "tensor") is not None:
                return str(func[2]) if not _as_tuple(view, value) else "where"
            if func[2] in _KEEPING or func[2] in ("long", "int", "sort", "flip", "add", "sub"):
                return counted(view, func[1], depth + 1)
            return ""
        if func[0] == "ref":
            name = view.index.canonical(func[1], view.summary)
            last = name.rpartition(".")[2]
            if name == f"torch.{last}" and last in COUNTING:
                return last if not _as_tuple(view, value) else "where"
            if name == "torch.where" and len(value[2]) == 1 and not value[3]:
                return "where"
    return ""


def _with_inverse(view: ModuleView, value: Value) -> bool:
    """Whether the second result is ``unique``'s inverse, which is as long as the input."""
    return (
        value is not None
        and value[0] == "call"
        and any(k == "return_inverse" and view.constant(v) != (True, False) for k, v in value[3])
    )


def _as_tuple(view: ModuleView, call: Any) -> bool:
    return any(k == "as_tuple" and view.constant(v) == (True, True) for k, v in call[3])


# ---- small things --------------------------------------------------------------------------------


def names(view: ModuleView, value: Value) -> list[str]:
    """The dotted names a value can be."""
    return view.resolver.refs(view.summary, value)


def same_scope(view: ModuleView, event: Event) -> list[tuple[int, Definition]]:
    """The assignments of the function an event stands in, with their numbers."""
    scopes = view.once("assignments by scope", lambda: _by_scope(view))
    return scopes.get(view.ctx(event).scope, [])


def _by_scope(view: ModuleView) -> dict[int, list[tuple[int, Definition]]]:
    scopes: dict[int, list[tuple[int, Definition]]] = {}
    for i, definition in enumerate(view.summary.definitions):
        scopes.setdefault(definition.scope, []).append((i, definition))
    return scopes


def call_value(event: Event) -> Value:
    """The value that the call at an event gives, but for its line."""
    func = ("attr", event.value, event.name) if event.kind == "method" else ("ref", event.name)
    return ("call", func, event.args or (), event.kwargs, event.span.line)


def mentions(value: Value, wanted: Collection[int], depth: int = 0) -> bool:
    """Whether a value is made from one of the assignments with these numbers."""
    if value is None or depth > _MAX_DEPTH:
        return False
    if value[0] == "v":
        return value[1] in wanted
    return any(
        isinstance(part, tuple)
        and (
            mentions(part, wanted, depth + 1)
            if part and isinstance(part[0], str)
            else any(isinstance(p, tuple) and mentions(p, wanted, depth + 1) for p in part)
        )
        for part in value[1:]
    )
