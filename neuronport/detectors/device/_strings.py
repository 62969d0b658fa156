"""Device strings and the places they stand in, shared by the rules of this area."""

from __future__ import annotations

import re
from typing import Any

from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event, Guard, Value
from neuronport.source.truth import DEVICE_WORD as DEVICE_WORD
from neuronport.source.view import ModuleView

STRINGS = r"^\s*cuda(:(\d+|\{\}|%[dsi])?)?\s*$"
"""``cuda``, ``cuda:0``, ``f"cuda:{n}"``, ``"cuda:%d"``, ``"cuda:" + …``."""
DEVICE = re.compile(STRINGS)
OTHER_DEVICES = frozenset(
    [
        "cpu",
        "xpu",
        "mps",
        "npu",
        "hpu",
        "mlu",
        "musa",
        "xla",
        "ipu",
        "meta",
        "hip",
        "vulkan",
        "opencl",
        "privateuseone",
        "neuron",
        "tpu",
        "gaudi",
        "dml",
        "directml",
        "sdaa",
    ]
)
_TEXT_FUNCTIONS = frozenset(
    ["print", "len", "repr", "format", "input", "open", "isinstance", "hash", "ord"]
)
_LOGGING = frozenset(
    ["debug", "info", "warning", "warn", "error", "critical", "exception", "log", "print", "write"]
)
_TEXT_METHODS = frozenset(
    [
        "replace",
        "split",
        "rsplit",
        "partition",
        "rpartition",
        "join",
        "strip",
        "lstrip",
        "rstrip",
        "removeprefix",
        "removesuffix",
        "count",
        "find",
        "index",
        "append",
        "extend",
        "add",
        "remove",
        "discard",
        "pop",
        "setdefault",
        "update",
        "encode",
        "endswith",
        "match",
        "search",
        "sub",
        "fullmatch",
        "findall",
        "compile",
        "glob",
        "import_module",
    ]
)
_ARGUMENT_METHODS = frozenset(
    ("add_argument", "option", "Option", "add_option", "Argument", "DEFINE_string")
)
_PLACING_METHODS = frozenset(
    ("to", "type", "cuda", "new_zeros", "new_ones", "new_full", "new_empty", "to_empty")
)


def unwrap(role: Any) -> tuple[Any, bool, bool]:
    """A role without the list and conditional expression around it: ``(role, in list, in branch)``."""
    listed = branched = False
    while role and role[0] in ("elem", "branch"):
        listed = listed or role[0] == "elem"
        branched = branched or role[0] == "branch"
        role = role[1]
    return role, listed, branched


def finds_none(guard: Guard, view: ModuleView, answer: bool) -> bool:
    """Whether a condition speaks of CUDA, and this is its answer on a Neuron host."""
    return "cuda" in view.text(guard.test).lower() and view.truth_of(guard.test) is answer


def is_compared(role: Any) -> bool:
    return bool(role) and role[0] == "compare"


def is_option(role: Any, view: ModuleView) -> bool:
    """Whether a role is an argument of a declaration of a command line option."""
    if role[0] == "method":
        return role[2] in _ARGUMENT_METHODS
    if role[0] == "arg":
        return callee_name(role[1], view) in _ARGUMENT_METHODS
    return False


def is_device(value: Value, view: ModuleView) -> bool:
    """Whether a value is a device, its type or its name, by where it comes from or is called."""
    if value is None:
        return False
    if value[0] == "attr":
        return value[2] == "type" or bool(DEVICE_WORD.search(value[2]))
    if value[0] == "call":
        if value[1] is not None and value[1][0] == "attr" and is_device(value[1][1], view):
            return True
        return any(is_device(a, view) for a in value[2])
    if value[0] == "param":
        return bool(DEVICE_WORD.search(value[2]))
    if value[0] == "v":
        definition = view.summary.definitions[value[1]]
        return bool(DEVICE_WORD.search(definition.name)) or is_device(definition.value, view)
    if value[0] in ("any", "if"):
        return any(is_device(v, view) for v in (value[1] if value[0] == "any" else value[2:]))
    if value[0] == "ref":
        return bool(DEVICE_WORD.search(value[1].rpartition(".")[2]))
    return view.kind(value).kind == "device"


def asks_given(test: Value, view: ModuleView, depth: int = 0) -> bool:
    """Whether a test asks which device something has, or was chosen elsewhere, and nothing of the
    host: ``device.type == "cuda"``, not ``torch.cuda.is_available()``."""
    if test is None or depth > 4:
        return False
    tag = test[0]
    if tag == "not":
        return asks_given(test[1], view, depth + 1)
    if tag == "bool":
        asks = [asks_given(part, view, depth + 1) for part in test[2]]
        return any(asks) and all(
            asked or view.truth_of(part) is None for asked, part in zip(asks, test[2], strict=True)
        )
    if tag == "attr":
        return bool(test[2] == "is_cuda")
    if tag == "cmp" and test[2] in ("==", "!="):
        return (_is_cuda(test[3]) and is_device(test[1], view)) or (
            _is_cuda(test[1]) and is_device(test[3], view)
        )
    if tag == "cmp" and test[2] == "in":
        return _is_cuda(test[1]) and is_device(test[3], view)
    if tag == "call" and test[1] is not None and test[1][0] == "attr" and test[2]:
        _, base, name = test[1]
        return name == "startswith" and _is_cuda(test[2][0]) and is_device(base, view)
    return False


def _is_cuda(value: Value) -> bool:
    return (
        value is not None
        and value[0] == "const"
        and isinstance(value[1], str)
        and bool(DEVICE.search(value[1]))
    )


def builds_for(event: Event, view: ModuleView) -> bool:
    """Whether the option that a text is the default of chooses what a compiler builds for."""
    line = event.at[0]
    return any(d.line == line and d.name.lstrip("-") == "target" for d in view.facts.definitions)


def callee_name(func: Value, view: ModuleView) -> str:
    """The last part of what is called."""
    if func is None:
        return ""
    if func[0] == "attr":
        return str(func[2])
    if func[0] == "ref":
        return str(func[1]).rpartition(".")[2]
    return view.name(func).rpartition(".")[2]


def place(event: Event, view: ModuleView) -> tuple[Confidence, str] | None:
    """How surely a device string at its place means a device, and the place in words.

    None: the string is no device there (a log message, a text operation …).
    """
    role, _, _ = unwrap(event.role)
    kind = role[0]
    if kind == "arg":
        return _argument(role[1], role[2], view)
    if kind == "method":
        return _method(role[2], role[3], role[1], view)
    if kind in ("assign", "attr", "field"):
        name = str(role[-1])
        if DEVICE_WORD.search(name) or "cuda" in name.lower():
            return Confidence.CERTAIN, f"assigned to {name}"
        if re.search(
            r"name|key|label|prefix|suffix|title|extra|backend|mode|kind|path|dir|target",
            name,
            re.I,
        ):
            return Confidence.POSSIBLE, f"assigned to {name}"
        return Confidence.LIKELY, f"assigned to {name}"
    if kind == "default":
        name = str(role[2])
        sure = Confidence.CERTAIN if DEVICE_WORD.search(name) else Confidence.POSSIBLE
        return sure, f"default of parameter {name}"
    if kind == "value":
        key = role[1]
        if isinstance(key, str) and DEVICE_WORD.search(key):
            return Confidence.CERTAIN, f"value of {key!r}"
        return Confidence.LIKELY if key is not None else Confidence.POSSIBLE, "value in a dict"
    if kind == "return":
        return Confidence.LIKELY, "returned"
    if kind in ("index", "key", "raise", "test", "annotation"):
        return None
    if kind == "compare":
        return Confidence.CERTAIN, "compared"
    # A statement of its own, or part of an expression such as ``"cuda:" + str(rank)``.
    return Confidence.LIKELY, "in an expression"


def _argument(func: Value, key: Any, view: ModuleView) -> tuple[Confidence, str] | None:
    name = view.name(func)
    last = callee_name(func, view)
    if isinstance(key, str):
        if DEVICE_WORD.search(key) or key == "cuda":
            return Confidence.CERTAIN, f"argument {key} of {last}"
        if key in ("help", "description", "name", "msg", "message", "reason", "id", "ids", "extra"):
            return None
        if key in ("default", "value", "const"):
            return Confidence.LIKELY, f"{key} of {last}"
        return Confidence.POSSIBLE, f"argument {key} of {last}"
    if name.startswith("builtins.") and last in _TEXT_FUNCTIONS:
        return None
    if name in ("builtins.getattr", "builtins.hasattr", "builtins.setattr", "builtins.delattr"):
        return None
    if last in _LOGGING or name.startswith(
        ("logging.", "warnings.", "re.", "os.", "sys.", "importlib.")
    ):
        return None
    if last.endswith(("Error", "Exception", "Warning")):
        return None
    if name.startswith("torch.cuda."):
        return None  # a question about a CUDA device: the row of what is called says so
    if name in ("torch.autocast", "torch.amp.autocast"):
        return None  # it switches itself off; its own row says so
    if name in (
        "torch.device",
        "torch.set_default_device",
        "torch.get_device_module",
        "torch.Generator",
        "torch.amp.GradScaler",
    ):
        return Confidence.CERTAIN, f"given to {last}"
    if name.startswith("torch."):
        return Confidence.LIKELY, f"given to {last}"
    if DEVICE_WORD.search(last):
        return Confidence.LIKELY, f"given to {last}"
    if name.endswith("parametrize") or last in ("param",):
        return Confidence.LIKELY, "a test parameter"
    if not last:
        return Confidence.POSSIBLE, "given to a call"
    target = view.resolver.callee(view.summary, func)
    if target is not None and isinstance(key, int):
        params = view.resolver.positional(target[1])
        if key < len(params):
            sure = Confidence.CERTAIN if DEVICE_WORD.search(params[key]) else Confidence.POSSIBLE
            return sure, f"parameter {params[key]} of {last}"
    return Confidence.POSSIBLE, f"given to {last}"


def _method(
    name: str, key: Any, receiver: Value, view: ModuleView
) -> tuple[Confidence, str] | None:
    if name in _LOGGING or name in _TEXT_METHODS:
        return None
    if isinstance(key, str):
        if DEVICE_WORD.search(key):
            return Confidence.CERTAIN, f"argument {key} of .{name}()"
        if key in ("help", "description", "name", "msg", "message", "metavar"):
            return None
        if key == "default":
            return Confidence.LIKELY, f"default of .{name}()"
        return Confidence.POSSIBLE, f"argument {key} of .{name}()"
    if name in _PLACING_METHODS:
        known = view.kind(receiver).kind
        if known in ("string", "array"):
            return None
        return Confidence.CERTAIN, f"given to .{name}()"
    if name in ("get", "getattr", "getenv") and key == 1:
        return Confidence.LIKELY, f"default of .{name}()"
    if name == "startswith":
        return Confidence.CERTAIN, "compared"
    if DEVICE_WORD.search(name):
        return Confidence.LIKELY, f"given to .{name}()"
    return Confidence.POSSIBLE, f"given to .{name}()"


def row_of(event: Event, view: ModuleView) -> tuple[Value, ...] | None:
    """What the innermost list around a text holds; None: it was not found."""
    role, line = event.role, event.span[0]
    while role[0] in ("elem", "branch"):
        role = role[1]
    text = ("const", event.name)
    if role[0] == "assign":
        before = [d for d in view.facts.definitions if d.name == role[1] and d.line <= line]
        return _innermost(before[-1].value, text, 0) if before else None
    for other in view.facts.events:
        if other.kind in ("str", "import") or not other.span[0] <= line <= other.span[2]:
            continue
        for value in (other.value, *(other.args or ()), *(v for _, v in other.kwargs)):
            found = _innermost(value, text, 0)
            if found is not None:
                return found
    return None


def _innermost(value: Value, text: Value, depth: int) -> tuple[Value, ...] | None:
    if value is None or depth > 6:
        return None
    inner: tuple[Value, ...] = ()
    if value[0] in ("list", "tuple", "set"):
        if text in value[1]:
            return tuple(value[1])
        inner = value[1]
    elif value[0] == "call":
        inner = (*value[2], *(v for _, v in value[3]))
    elif value[0] == "bin":
        inner = value[2:]
    found = (_innermost(part, text, depth + 1) for part in inner)
    return next((part for part in found if part is not None), None)


def names_device(value: Value) -> bool:
    """Whether an item of a list is a device: its name, a ``torch.device``, or no device."""
    if value is None or value[0] == "call":
        return True
    if value[0] != "const":
        return value[0] not in ("dict", "list", "tuple")
    if value[1] is None:
        return True
    word = value[1].partition(":")[0].strip().lower() if isinstance(value[1], str) else ""
    return word in ("cuda", "gpu", "auto", "all") or word in OTHER_DEVICES


def has_neuron(event: Event, view: ModuleView) -> bool:
    """Whether a list that the line has names Neuron too."""
    line = event.span[0]
    for other in view.facts.events:
        if other.kind in ("str", "import") or not other.span[0] <= line <= other.span[2]:
            continue
        values = (other.value, *(other.args or ()), *(v for _, v in other.kwargs))
        if any(_names_neuron(v) for v in values):
            return True
    return any(_names_neuron(d.value) for d in view.facts.definitions if d.line == line)


def _names_neuron(value: Value, depth: int = 0) -> bool:
    if value is None or depth > 5:
        return False
    if value[0] in ("list", "tuple", "set"):
        if ("const", "neuron") in value[1]:
            return True
        return any(_names_neuron(v, depth + 1) for v in value[1])
    if value[0] == "call":
        return any(_names_neuron(v, depth + 1) for v in (*value[2], *(v for _, v in value[3])))
    if value[0] == "cmp":
        return _names_neuron(value[1], depth + 1) or _names_neuron(value[3], depth + 1)
    if value[0] == "bool":
        return any(_names_neuron(v, depth + 1) for v in value[2])
    if value[0] == "not":
        return _names_neuron(value[1], depth + 1)
    return False
