"""What detectors of tensor code share: calls as functions and as methods, masks, data-dependent
sizes, tensors that never leave the host, and how much a place matters."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, cast

from neuronport.findings import CONFIDENCE_ORDER, Confidence, Role, weakest
from neuronport.readers.python.facts import (
    MODULE_BODY,
    SET_DEFAULTS,
    Definition,
    Event,
    Function,
    Value,
)
from neuronport.source.hot import SELDOM
from neuronport.source.index import MOST_CALLERS, TreeIndex
from neuronport.source.index import Call as CallOf
from neuronport.source.summary import Summary
from neuronport.source.view import ModuleView
from neuronport.workspace.roles import role_of_path

CERTAIN, LIKELY, POSSIBLE = Confidence.CERTAIN, Confidence.LIKELY, Confidence.POSSIBLE
_MAX_DEPTH = 6
_MAX_HOST_DEPTH = 48
_MAX_HOST_STEPS = 200


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
    r"|_metrics?(?![a-z])|quantiz(?!ed)|calibrat|save|init_weights|reset_parameters|__init__|__repr__|(^|\.)test_",
    re.I,
)
_PREPARING_PATH = re.compile(
    r"(^|/)(\w+_)?(data|datasets?|transforms?|dataloaders?|dataio|prepare|preprocess\w*|augment\w*|plot\w*"
    r"|metric\w*)"
    r"(_utils)?(\.py$|/)",
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


_READS_DATA = re.compile(r"(^|\.)__getitem__$|(^|[._])collat\w*$|(^|[._])augment\w*$|tokeniz", re.I)
_OF_DATA = re.compile(r"Dataset$|Sampler$|Collat\w+$|DataModule$|Augment\w*$|Transform$|Tokenizer")
"""What classes are called, but modules of a model, that handle data on the host."""
_MOST_ASKED = 40


def for_data(event: Event, view: ModuleView) -> bool:
    """Whether a place is in a function that is called, as far as the tree shows, from data sets, what
    collates them and transforms alone: it runs on the host."""
    scope = view.facts.scopes[view.ctx(event).scope]
    if scope.kind != "function":
        return False
    dotted = f"{view.facts.module}.{scope.qualname}"
    return view.index.answer("for data", dotted, lambda name: _only_for_data(view.index, name))


def _only_for_data(index: TreeIndex, dotted: str) -> bool:
    seen = {dotted}
    pending = [dotted]
    while pending:
        name = pending.pop()
        calls = index.callers(name)
        if not calls or len(seen) > _MOST_ASKED or len(calls) >= MOST_CALLERS:
            return False
        for call in calls:
            if call.caller not in seen and not _handles_data(index, call):
                seen.add(call.caller)
                pending.append(call.caller)
    return True


def _handles_data(index: TreeIndex, call: CallOf) -> bool:
    module = index.module(call.module)
    if _READS_DATA.search(call.caller):
        return True
    if module is None or call.caller.endswith(MODULE_BODY):
        return False
    if _PREPARING_PATH.search(module.path):
        return True
    owner = call.caller.rpartition(".")[0]
    if index.class_(owner) is None:
        return False
    bases = index.ancestors(owner)
    if any(base.startswith("torch.utils.data.") for base in bases):
        return True
    return bool(_OF_DATA.search(owner)) and "torch.nn.Module" not in bases


def placed(event: Event, view: ModuleView, sure: Confidence) -> Confidence:
    """A confidence with the place taken into account: certain only where it runs every step."""
    hot = view.hot(event)
    if hot:
        return POSSIBLE if hot.endswith(SELDOM) or for_data(event, view) else sure
    host = prepares(event, view) or for_data(event, view)
    return weakest(sure, POSSIBLE if host else LIKELY)


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


_PLACED = frozenset(("cuda", "xpu", "npu"))
_OF_HOST = (
    "cpu",
    "torch.FloatTensor",
    "torch.DoubleTensor",
    "torch.HalfTensor",
    "torch.BFloat16Tensor",
)
"""What a default device or tensor type is called that leaves tensors on the host."""
_PARTS_OF = frozenset(("T", "mT", "H", "data", "values", "indices", "real", "imag", "grad"))
"""Attributes of a tensor that lie where it lies."""
_RUNS = frozenset(("forward", "training_step", "validation_step", "test_step"))
"""Methods of a model whose tensors are where the model is."""
_ABSENT = "absent"
"""Instead of a place: there is no tensor."""
_NEW, _ASKED = "new", "asked"
"""Instead of a place: it was not asked for yet; it is being asked for."""


def on_host(view: ModuleView, value: Value) -> bool | None:
    """Whether a tensor lies in host memory: True, False, or None where it cannot be told."""
    placed = _lies(view, view.summary, value, 0)
    return placed if isinstance(placed, bool) else None


class _Places:
    """Where values lie, as far as was asked for; what is None only because it was being asked for
    already, or too deep, is asked again."""

    __slots__ = ("known", "left", "unsettled")

    def __init__(self) -> None:
        self.known: dict[tuple[str, Value], bool | str | None] = {}
        self.unsettled = 0
        self.left = 0


def _lies(view: ModuleView, module: Summary, value: Value, depth: int) -> bool | str | None:
    if value is None:
        return None
    if value[0] == "const":
        return _ABSENT if value[1] is None else None
    places = view.once("on host", _Places)
    if depth == 0:
        places.left = _MAX_HOST_STEPS
    # Looked up as seldom as can be: the hash of a value is that of all that is in it.
    key = (module.module, value)
    found = places.known.get(key, _NEW)
    if found is not _NEW and found is not _ASKED:
        return found
    if found is _ASKED or depth > _MAX_HOST_DEPTH or not places.left:
        places.unsettled += 1
        return None
    before = places.unsettled
    places.known[key] = _ASKED
    places.left -= 1
    found = _placed(view, module, value, depth)
    if found is not None or places.unsettled == before or depth == 0:
        places.known[key] = found
    else:
        del places.known[key]
    return found


def _agreed(places: Iterable[bool | str | None]) -> bool | str | None:
    """Where something is that came by one of several ways."""
    found = set(places)
    if len(found) > 1:
        found.discard(_ABSENT)
    return found.pop() if len(found) == 1 else None


def _joined(places: Iterable[bool | str | None]) -> bool | None:
    """Where the result of an operation is: what it takes is all in one place."""
    found = set(places)
    return False if False in found else True if True in found else None


def _placed(view: ModuleView, module: Summary, value: Any, depth: int) -> bool | str | None:
    tag = value[0]
    if tag == "v":
        return _lies(view, module, module.definitions[value[1]].value, depth + 1)
    if tag in ("any", "bool", "if"):
        items = value[1] if tag == "any" else value[2:] if tag == "if" else value[2]
        return _agreed(_lies(view, module, item, depth + 1) for item in items)
    if tag in ("bin", "cmp"):
        sides = (value[2], value[3]) if tag == "bin" else (value[1], value[3])
        return _joined(
            _lies(view, module, side, depth + 1)
            for side in sides
            if not _single(view, module, side)
        )
    if tag in ("neg", "invert"):
        return _lies(view, module, value[1], depth + 1)
    if tag in ("item", "unpack", "elem"):
        return _part(view, module, value, depth)
    if tag == "attr":
        if value[2] in _PARTS_OF:
            return _lies(view, module, value[1], depth + 1)
        return _attribute(view, module, value, depth)
    if tag == "param":
        return _parameter(view, module, value, depth)
    if tag == "call" and value[1] is not None:
        return _result(view, module, value, depth)
    return None


def _followed(view: ModuleView, module: Summary, value: Any, depth: int) -> bool | str | None:
    """By what a value is in the functions of the tree that it comes from."""
    atoms = view.resolver.follow(module, value)
    if not atoms or any(a.value is None or a.value == value for a in atoms):
        return None
    return _agreed(_lies(view, atom.module, atom.value, depth + 1) for atom in atoms)


def _part(view: ModuleView, module: Summary, value: Any, depth: int) -> bool | str | None:
    """Where one of several lies: what a function of the tree returns several of is told apart."""
    counted = _gone_through(value)
    if counted is not None:
        return _lies(view, module, counted, depth + 1)
    whole = view.resolver.follow(module, value[1])
    if value[0] == "unpack":
        known = [a for a in whole if a.value is not None and a.value[0] in ("list", "tuple")]
        if known:
            if len(known) < len(whole):
                return None
            items = [(a.module, a.value[1]) for a in known if a.value is not None]
            return _agreed(
                _lies(view, owner, parts[value[2]], depth + 1) if value[2] < len(parts) else None
                for owner, parts in items
            )
    found = _followed(view, module, value, depth) if len(whole) == 1 else None
    return _lies(view, module, value[1], depth + 1) if found is None else found


def _gone_through(value: Any) -> Value:
    """What a loop goes through that counts its rounds: ``for i, x in enumerate(xs)``."""
    counted = _enumerated(value, 1)
    return cast(Value, counted[2][0]) if counted is not None and counted[2] else None


_DEVICE = ("ref", "torch.device")


def _attribute(view: ModuleView, module: Summary, value: Any, depth: int) -> bool | None:
    """Parameters of a model are where it is."""
    found = view.resolver.attribute(value)
    if not found or any(not _is_parameter(item, owner) for owner, item in found):
        return None
    return False


def _is_parameter(value: Value, module: Summary) -> bool:
    value = _held(module, value)
    return (
        value is not None
        and value[0] == "call"
        and value[1] is not None
        and str(value[1][-1]).endswith("Parameter")
    )


def _parameter(view: ModuleView, module: Summary, value: Any, depth: int) -> bool | str | None:
    function = module.functions.get(value[1])
    if function is None:
        return None
    if (
        function.owner
        and value[1].rpartition(".")[2] in _RUNS
        and view.kinds.is_module_class(function.owner)
    ):
        return _run_with(view, module, function, value, depth)
    tested = role_of_path(module.path) is Role.TEST
    places: set[bool | str | None] = set()
    for call, passed in view.resolver.passed(function, value):
        caller = view.index.module(call.module)
        if caller is not None and role_of_path(caller.path) is Role.TEST and not tested:
            continue  # a test is on the host; what it tests need not be
        if passed is None or caller is None:
            if not _has_default(function, value[2]):
                return None
            places.add(_ABSENT)
        else:
            places.add(_lies(view, caller, passed, depth + 1))
        if None in places:
            return None
    return _agreed(places)


def _run_with(
    view: ModuleView, module: Summary, function: Function, value: Any, depth: int
) -> bool:
    """Where what a model is run with lies: where the model is, unless whoever holds it in the same file
    hands on what it moved to the host: ``self.conv(x, lengths.cpu())``."""
    if module != view.summary:
        return False
    held = view.once("held models", lambda: _held_models(view)).get(function.owner)
    if not held:
        return False
    at = view.resolver.position(function, value[2])
    given: list[Value] = []
    for args, kwargs in held:
        named = next((v for k, v in kwargs if k == value[2]), None)
        given.append(args[at] if 0 <= at < len(args) else named)
    return all(v is not None and _lies(view, module, v, depth + 1) is True for v in given)


_Given: TypeAlias = "tuple[tuple[Value, ...], tuple[tuple[str | None, Value], ...]]"


def _held_models(view: ModuleView) -> dict[str, list[_Given]]:
    """What the attributes are run with that a class holds one model of this file in, by its class."""
    found: dict[str, list[_Given]] = {}
    for calls in view.facts.calls.values():
        for callee, args, kwargs, *_ in calls:
            if callee is None or callee[0] != "attr" or callee[1] is None or callee[1][0] != "self":
                continue
            cls = view.facts.classes.get(callee[1][1])
            values = cls.attributes.get(callee[2], ()) if cls is not None else ()
            made = _held(view.summary, values[0]) if len(values) == 1 else None
            if (
                made is not None
                and made[0] == "call"
                and made[1] is not None
                and made[1][0] == "ref"
            ):
                found.setdefault(made[1][1], []).append((args, kwargs))
    return found


def _has_default(function: Function, name: str) -> bool:
    return any(p[0] == name and p[1] == ("const", None) for p in function.params)


def _single(view: ModuleView, module: Summary, value: Value) -> bool:
    """Whether something is a number, or may be a tensor of one: it goes with tensors anywhere."""
    value = _held(module, value)
    if value is None or value[0] != "call" or value[1] is None or value[1][0] != "ref":
        return value is not None and value[0] == "const"
    name = view.index.canonical(value[1][1], module)
    if name not in ("torch.tensor", "torch.as_tensor", "torch.Tensor") or not value[2]:
        return False
    first = _held(module, value[2][0])
    while first is not None and first[0] == "bin":
        first = _held(module, first[2])  # ``[0, 0] * 2``
    return first is None or first[0] not in ("list", "tuple", "comp")


def _held(module: Summary, value: Value) -> Value:
    """What a variable holds."""
    for _ in range(_MAX_DEPTH):
        if value is None or value[0] != "v":
            break
        value = module.definitions[value[1]].value
    return value


def _to(view: ModuleView, module: Summary, call: Any, depth: int) -> bool | str | None:
    """Where ``x.to(…)`` lies."""
    for item in (*call[2], *(v for k, v in call[3] if k == "device")):
        device = _device(view, module, item, depth)
        if device is not None:
            return device
    first = call[2][0] if call[2] else None
    kind = view.kinds.of(module, first).kind if first is not None else ""
    if kind == "dtype" or (not call[2] and all(k == "dtype" for k, _ in call[3])):
        return _lies(view, module, call[1][1], depth + 1)
    if kind == "tensor":
        return _lies(view, module, first, depth + 1)
    return None


def _device(view: ModuleView, module: Summary, value: Value, depth: int) -> bool | None:
    """Whether a device is the host; of ``x.device``: whether ``x`` lies there."""
    held = _held(module, value)
    if (
        held is not None
        and held[0] == "attr"
        and held[2] == "device"
        and held[1] is not None
        and held[1][0] != "self"
    ):
        found = _lies(view, module, held[1], depth + 1)
        return found if isinstance(found, bool) else None
    if held is not None and held[:2] == ("call", _DEVICE) and len(held[2]) == 1:
        return _device(view, module, held[2][0], depth)
    atoms = view.resolver.follow(module, value)
    texts = [a.value[1] for a in atoms if a.value is not None and a.value[0] == "const"]
    if any(isinstance(text, str) for text in texts):
        return len(texts) == len(atoms) and all(text == "cpu" for text in texts)
    return False if view.kinds.of(module, value).kind == "device" else None


def _factories_elsewhere(view: ModuleView) -> bool:
    """Whether the tree sets a default device or tensor type that may not be the CPU's."""
    return view.once("factories elsewhere", lambda: _sets_default(view))


def _sets_default(view: ModuleView) -> bool:
    for name in sorted(SET_DEFAULTS):
        for call in view.index.callers(name):
            given = (*call.args, *(v for _, v in call.kwargs))
            value = given[0] if given else None
            while value is not None and value[0] == "call" and value[2]:
                value = value[2][0]  # ``torch.device("cpu")``
            if value is None or value[-1] not in _OF_HOST:
                return True
    return False


def _result(view: ModuleView, module: Summary, value: Any, depth: int) -> bool | str | None:
    """Where what a call gives lies."""
    func = value[1]
    if func[0] == "attr":
        name = func[2]
        if name in ("cpu", "numpy", "tolist"):
            return True
        if name in _PLACED:
            return False
        if name == "to":
            return _to(view, module, value, depth)
        if func[1] is not None and func[1][0] == "self":
            if view.resolver.callee(module, func) is not None:
                return _followed(view, module, value, depth)
            return False if view.kinds.of(module, func).kind == "module" else None
        if view.kinds.of(module, func[1]).kind == "module":
            if _model_on_host(view, module, func[1], depth):
                return True
            return False if name in ("forward", "__call__") else None
        if view.kinds.of(module, func).kind == "module":
            return False
        return _lies(view, module, func[1], depth + 1)
    if func[0] != "ref":
        # What a model gives is where the model is.
        if view.kinds.of(module, func).kind != "module":
            return None
        return _model_on_host(view, module, func, depth)
    name = view.index.canonical(func[1], module)
    if name in _FACTORIES:
        device = next((v for k, v in value[3] if k == "device"), None)
        if device is None or device == ("const", None):
            unknown = any(k is None for k, _ in value[3]) or _factories_elsewhere(view)
            return None if unknown else True
        return _device(view, module, device, depth)
    if name in _LISTS and value[2]:
        inner = value[2][0]
        if inner is not None and inner[0] in ("list", "tuple") and inner[1]:
            return _joined(_lies(view, module, item, depth + 1) for item in inner[1][:3])
        return None
    if name[:1] == "@":
        return _followed(view, module, value, depth)
    if name.startswith("torch."):
        return _joined(_lies(view, module, item, depth + 1) for item in value[2][:3])
    return None


def _model_on_host(view: ModuleView, module: Summary, value: Value, depth: int) -> bool:
    """Whether a model was moved to the host where it was bound to its name, and nowhere else."""
    value = _held(module, value)
    if value is None or value[0] != "call" or value[1] is None or value[1][0] != "attr":
        return False
    if value[1][2] in ("eval", "train", "float"):
        return _model_on_host(view, module, value[1][1], depth)
    return value[1][2] in ("cpu", "to") and _lies(view, module, value, depth + 1) is True


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


_FILLED = frozenset(("arange", "eye", "full", "ones", "zeros", "tril_indices", "triu_indices"))
_NEW_FILLED = frozenset(("new_full", "new_ones", "new_zeros"))
_FIXED_ARGUMENTS = ("const", "neg")


def filled(view: ModuleView, value: Value, depth: int = 0) -> bool:
    """Whether the values of a tensor follow from its shape: ``~torch.eye(n).bool()``,
    ``x.new_ones(n, n).tril(-1)``. How many of them are true is the same for the same shapes."""
    if value is None or depth > _MAX_DEPTH:
        return False
    tag = value[0]
    if tag == "v":
        return filled(view, view.summary.definitions[value[1]].value, depth + 1)
    if tag in ("invert", "neg", "not"):
        return filled(view, value[1], depth + 1)
    if tag in ("cmp", "bin"):
        sides = (value[1], value[3]) if tag == "cmp" else value[2:]
        return all(filled(view, v, depth + 1) or integer(view, v) for v in sides)
    if tag != "call" or value[1] is None:
        return False
    func = value[1]
    if func[0] == "attr":
        if func[2] in _NEW_FILLED:
            return True
        fixed = all(v is not None and v[0] in _FIXED_ARGUMENTS for v in value[2])
        return (fixed or func[2] == "to") and filled(view, func[1], depth + 1)
    if func[0] == "ref":
        name = view.index.canonical(func[1], view.summary)
        if name in ("torch.tril", "torch.triu", "torch.logical_not") and value[2]:
            return filled(view, value[2][0], depth + 1)
        return name.startswith("torch.") and name[6:] in _FILLED
    return False


COUNTING = frozenset(("nonzero", "argwhere", "masked_select", "unique", "unique_consecutive"))
"""Operations whose result has as many elements as the data says."""


class Counted(NamedTuple):
    """What decides how long a value is: the call that made it, or a subscript by a mask."""

    made: Value
    listed: bool = False
    """Whether the value is the list of such, one for each dimension, that ``where`` gives."""

    @property
    def gives_places(self) -> bool:
        """Whether it is a list of places, each of which occurs once."""
        if self.made is None or self.made[0] != "call":
            return False
        return str(self.made[1][-1]).rpartition(".")[2] in ("nonzero", "argwhere", "where")

    def says(self, view: ModuleView) -> str:
        """In words, as it is written."""
        assert self.made is not None
        if self.made[0] == "item":
            return f"{view.text(self.made)}, read by a mask"
        return view.text(self.made)


def counted(view: ModuleView, value: Value, depth: int = 0) -> Counted | None:
    """By what the data decides how long a value is; None: it does not, as far as is known."""
    if value is None or depth > _MAX_DEPTH:
        return None
    tag = value[0]
    if tag == "v":
        return counted(view, view.summary.definitions[value[1]].value, depth + 1)
    if tag == "any":
        found = (counted(view, item, depth + 1) for item in value[1])
        return next((c for c in found if c is not None), None)
    if tag == "unpack":
        if value[2] == 1 and _with_inverse(view, value[1]):
            return None
        base = counted(view, value[1], depth + 1)
        # The rows of a list of places have one length, the columns of each another.
        return None if base is None else base._replace(listed=False)
    if tag == "neg":
        return counted(view, value[1], depth + 1)
    if tag == "item":
        return _counted_part(view, value, depth)
    if tag == "call" and value[1] is not None:
        func = value[1]
        if func[0] == "attr":
            if func[2] in COUNTING and view.receiver(func[1], "tensor") is not None:
                if filled(view, func[1]):
                    return None
                return Counted(value, _as_tuple(view, value))
            if func[2] in _KEEPING or func[2] in ("long", "int", "sort", "flip", "add", "sub"):
                return counted(view, func[1], depth + 1)
            return None
        if func[0] == "ref":
            name = view.index.canonical(func[1], view.summary)
            last = name.rpartition(".")[2]
            if value[2] and filled(view, value[2][-1 if last == "masked_select" else 0]):
                return None
            if name == f"torch.{last}" and last in COUNTING:
                return Counted(value, _as_tuple(view, value))
            if name == "torch.where" and len(value[2]) == 1 and not value[3]:
                return Counted(value, True)
    return None


def _counted_part(view: ModuleView, value: tuple[Any, ...], depth: int) -> Counted | None:
    """Of a subscript: ``where(…)[0]`` and a slice are still as long as the data says, one element
    is not, and what a list of indices picks is as long as that list."""
    base, index = counted(view, value[1], depth + 1), value[2]
    if base is None:
        return Counted(value) if mask(view, index, depth + 1) in (CERTAIN, LIKELY) else None
    if base.listed:
        return base._replace(listed=False)
    first = index[1][0] if index is not None and index[0] == "tuple" and index[1] else index
    if first is None or integer(view, first):
        return None
    if first[0] in ("slice", "const"):
        return base
    return counted(view, first, depth + 1) or (
        Counted(value) if mask(view, first, depth + 1) in (CERTAIN, LIKELY) else None
    )


def integer(view: ModuleView, value: Value, depth: int = 0) -> bool:
    """Whether a value is a number of the host: a literal, a counter of a loop, a length."""
    if value is None or depth > _MAX_DEPTH:
        return False
    tag = value[0]
    if tag == "const":
        return isinstance(value[1], int)
    if tag == "v":
        return integer(view, view.summary.definitions[value[1]].value, depth + 1)
    if tag in ("neg", "bin"):
        parts = value[2:] if tag == "bin" else value[1:]
        return all(integer(view, part, depth + 1) for part in parts)
    if tag == "elem":
        return _is_call_of(value[1], "builtins.range")
    if tag == "unpack":
        return _enumerated(value, 0) is not None
    return view.kind(value).kind == "number"


def _enumerated(value: Any, at: int) -> Value:
    """The call that a loop goes through whose number (0) or element (1) a value is:
    ``for i, x in enumerate(xs)``; None: it is neither."""
    if value[0] != "unpack" or value[2] != at or value[1] is None or value[1][0] != "elem":
        return None
    over = value[1][1]
    return cast(Value, over) if _is_call_of(over, "builtins.enumerate") else None


def _is_call_of(value: Value, name: str) -> bool:
    return value is not None and value[0] == "call" and value[1] == ("ref", name)


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
