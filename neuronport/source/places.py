"""Where a call could run on the device: what detectors of slow and unsupported things ask first."""

from __future__ import annotations

import re
import sys
from typing import Any

from neuronport.readers.python.facts import Event, Guard, Value
from neuronport.source.decided import is_storage
from neuronport.source.once import first_time, kept
from neuronport.source.summary import periodic_exits
from neuronport.source.view import ModuleView

_MAX_STEPS = 8
_HOST = frozenset(
    ("__init__", "__getitem__", "__len__", "__repr__", "__str__", "collate_fn", "collate", "main")
)
_OFTEN_OFF = (
    "debug",
    "verbose",
    "log",
    "print",
    "plot",
    "vis",
    "profil",
    "check",
    "sanity",
    "dump",
)
"""What switches are called that are on when somebody looks, not in every run."""
_DEBUGS = re.compile(r"(^|_)debug(?!ged|gable)", re.I)
_BROKEN = ("isnan", "isinf")
_MAX_DEPTH = 5
_BARE = re.compile(
    r"(?!AdaptiveLogSoftmax)\w+Loss|(Leaky)?ReLU6?|GELU|SiLU|Mish|S?ELU|CELU|GLU|(Log)?Sigmoid|Tanh|"
    r"(Log)?Softmax(2d)?|Soft(plus|sign|min)|Hard(tanh|swish|sigmoid)|(Feature)?(Alpha)?Dropout[123]?d?|"
    r"Identity|(Unf|F)latten|Upsample|(Adaptive)?(Max|Avg)Pool[123]d|Pixel(Uns|S)huffle|"
    r"CosineSimilarity|PairwiseDistance|(Zero|Reflection|Replication|Constant)Pad[123]d"
)
"""Modules of PyTorch's without parameters and buffers."""
_PLACING = frozenset(("to", "cuda", "xpu", "npu", "to_empty", "prepare", "device", "half"))
_DEVICES = frozenset(("cuda", "xla", "neuron", "auto", "xpu", "gpu"))
_DEVICE_KEYS = frozenset(("device", "device_map", "map_location", "accelerator"))
_PLACERS = re.compile(
    r"Trainer|Accelerator|[Pp]ipeline|[Dd]evice|^torch\.cuda\.|^torch_xla|Parallel"
)
_WITHOUT_DEVICES = sys.stdlib_module_names | frozenset(
    [
        "torch",
        "torchvision",
        "transformers",
        "tokenizers",
        "datasets",
        "numpy",
        "pandas",
        "PIL",
        "matplotlib",
        "tqdm",
        "requests",
        "sklearn",
    ]
)
"""Packages that leave a model where it was made unless told otherwise."""
_FILLS = re.compile(r"init(?!ial_|ted)|(normal|uniform|trunc\w*)_$|reset_param|reset_weight", re.I)
"""What functions are called that fill parameters."""


def entry(event: Event, view: ModuleView) -> str:
    """Why a place may run every step although nothing in the tree says so: it stands in a function
    of its own that somebody outside calls. Empty: no such place."""
    facts = view.facts
    scope = facts.scopes[view.ctx(event).scope]
    if scope.kind != "function" or scope.owner or "." in scope.qualname or scope.qualname in _HOST:
        return ""
    if view.index.callers(f"{facts.module}.{scope.qualname}", 1):
        return ""
    return f"in {scope.qualname}, of which no caller was found in the tree"


def nothing_placed(event: Event, view: ModuleView) -> bool:
    """Whether a script runs where PyTorch puts things by itself: in the file nothing is moved, no
    device is named, and nothing of the tree or of a library that places models has a hand in it."""
    scope = view.facts.scopes[view.ctx(event).scope]
    if scope.kind == "function" and (
        scope.owner
        or scope.qualname != "main"
        or any(
            c.module != view.facts.module for c in view.index.callers(f"{view.facts.module}.main")
        )
    ):
        return False
    return view.once("nothing placed", lambda: not any(map(_may_place, view.facts.events)))


def _may_place(event: Event) -> bool:
    if event.kind in ("method", "attr"):
        return event.name in _PLACING
    if event.kind == "import":
        return event.name.partition(".")[0] not in _WITHOUT_DEVICES
    if event.kind == "str":
        return event.name.partition(":")[0] in _DEVICES
    if any(key is None or key in _DEVICE_KEYS for key, _ in event.kwargs):
        return True
    return event.kind == "use" and bool(_PLACERS.search(event.name))


def placed_otherwise(event: Event, guard: Guard, view: ModuleView) -> bool:
    """Whether the other branch of a condition moves the same thing to a device that is not the CPU:
    ``model.cuda() if device.type == "cuda" else model.to(device)``."""
    if event.kind != "method" or event.name != "cuda":
        return False
    if is_storage(event.value):
        return True  # the other branch reads the checkpoint as well
    moved = view.text(event.value)
    return any(
        other.kind == "method"
        and other.name == "to"
        and other.args
        and other.args[0] != ("const", "cpu")
        and view.text(other.value) == moved
        and any(
            g.line == guard.line and g.polarity is not guard.polarity and g.test == guard.test
            for g in view.guards(other)
        )
        for other in view.facts.events
    )


def holds_nothing(value: Value, view: ModuleView) -> str:
    """The class of a module of PyTorch's that has neither parameters nor buffers, if the value can be
    nothing else: to move it anywhere does nothing."""
    last = ""
    for atom in view.follow(value):
        call = atom.value
        if call is None or call[0] != "call" or call[1] is None or call[1][0] != "ref":
            return ""
        package, _, last = call[1][1].rpartition(".")
        if not package.startswith("torch.nn") or not _BARE.fullmatch(last):
            return ""
        given = {name for name, held in call[3] if held != ("const", None)}
        if not given.isdisjoint((None, "weight", "pos_weight")):
            return ""
        if call[2] and last.endswith("Loss"):
            return ""  # mostly a weight for each class
    return last


def on_device(value: Value, view: ModuleView) -> bool:
    """Whether a value was moved to, or made on, something other than the CPU, as far as written."""
    seen = 0
    pending = [value]
    while pending and seen < _MAX_STEPS:
        seen += 1
        current = pending.pop()
        for atom in view.follow(current):
            inner = atom.value
            if inner is None or atom.module != view.summary:
                continue
            if inner[0] == "call" and inner[1] is not None:
                if _moves(inner, view):
                    return True
                if inner[1][0] == "attr":
                    pending.append(inner[1][1])
            elif inner[0] in ("item", "unpack", "elem"):
                pending.append(inner[1])
            elif inner[0] == "bin":
                pending += [inner[2], inner[3]]
    return False


def _moves(call: tuple[Any, ...], view: ModuleView) -> bool:
    _, func, args, kwargs = call[:4]
    device = next((value for key, value in kwargs if key == "device"), None)
    if func[0] == "attr":
        if func[2] == "cuda":
            return True
        if func[2] == "to" and args and device is None:
            device = args[0]
            if view.kind(device).kind not in ("device", "string"):
                return False
    if device is None:
        return False
    return not any(text.partition(":")[0] in ("cpu", "meta") for text, _ in view.strings(device))


def fills_parameters(event: Event, view: ModuleView) -> bool:
    """Whether a place gives parameters their first values: once, and before they are moved."""
    return bool(_FILLS.search(view.scope(event).rpartition(".")[2]))


def seldom(event: Event, view: ModuleView) -> bool:
    """Whether a condition lets the place run only every so many steps, the first time, or when
    somebody asks."""
    ends = view.once("ends by raising", lambda: _ends_by_raising(view))
    for i in view.ctx(event).guards:
        guard = view.facts.guards[i]
        if guard.kind == "except":
            return True
        if guard.kind == "if" and guard.test in ends.get((guard.line, guard.polarity), ()):
            return True
        if guard.kind != "raise" and _rare(guard.test, view, guard.polarity, 0):
            return True
        if first_time(i, guard, view.once("kept", lambda: kept(view.facts))):
            return True
    return _after_round(event, view)


def for_debugging(event: Event, view: ModuleView) -> bool:
    """Whether a place runs only where somebody looks for an error: ``if self.debug:``."""
    return any(
        guard.kind in ("if", "ifexp", "bool", "early", "skip")
        and _debugs(guard.test, guard.polarity, view, 0)
        for guard in view.guards(event)
    )


def _debugs(test: Value, holds: bool, view: ModuleView, depth: int) -> bool:
    if test is None or depth > _MAX_DEPTH:
        return False
    tag = test[0]
    if tag == "not":
        return _debugs(test[1], not holds, view, depth + 1)
    if tag == "bool":
        asked = [_debugs(part, holds, view, depth + 1) for part in test[2]]
        # One of several is enough where all have to hold.
        return any(asked) if (test[1] == "and") is holds else all(asked)
    if tag == "cmp":
        if test[3] != ("const", None) or test[2] not in ("is", "is not"):
            return False
        return _debugs(test[1], holds is (test[2] == "is not"), view, depth + 1)
    if tag == "any":
        return all(_debugs(part, holds, view, depth + 1) for part in test[1])
    if not holds or tag not in ("param", "attr", "v"):
        return False
    name = view.facts.definitions[test[1]].name if tag == "v" else str(test[2])
    return _DEBUGS.search(name) is not None


def _ends_by_raising(view: ModuleView) -> dict[tuple[int, bool], list[Value]]:
    """The tests of the branches that end by raising, by place: what stands there runs once, if ever."""
    found: dict[tuple[int, bool], list[Value]] = {}
    for guard in view.facts.guards:
        if guard.kind == "raise":
            found.setdefault((guard.line, not guard.polarity), []).append(guard.test)
    return found


def _after_round(event: Event, view: ModuleView) -> bool:
    """Whether a function has left before, in some branch, by a remainder: what follows runs every so
    many steps, whichever way leads to it."""
    lines = view.once("left by a remainder", lambda: periodic_exits(view.facts.guards))
    if not lines:
        return False
    ctx = view.ctx(event)
    scope, line = view.facts.scopes[ctx.scope], event.span.line
    if scope.kind != "function":
        return False
    inner = [s.line for s in view.facts.scopes if s.kind == "function" and s.line > scope.line]
    for left in lines:
        if not scope.line < left < line or any(scope.line < s <= left for s in inner):
            continue
        around = {
            i for i, loop in enumerate(view.facts.loops) if loop.line <= left <= loop.end_line
        }
        if around <= set(ctx.loops):
            return True
    return False


def _rare(test: Value, view: ModuleView, wanted: bool, depth: int) -> bool:
    """Whether ``test`` is seldom ``wanted``; what runs without ``profile`` runs in every step."""
    if test is None or depth > _MAX_DEPTH:
        return False
    tag = test[0]
    if tag == "bin" and test[1] == "%":
        return True
    if tag in ("v", "param", "attr", "self"):
        name = view.text(test).rpartition(".")[2].lower()
        if any(word in name for word in _OFTEN_OFF):
            return wanted
        if tag == "v":
            return _rare(view.facts.definitions[test[1]].value, view, wanted, depth + 1)
        return False
    if tag == "cmp":
        return any(_rare(side, view, wanted, depth + 1) for side in (test[1], test[3]))
    if tag == "not":
        return _rare(test[1], view, not wanted, depth + 1)
    if tag == "call" and test[1] is not None and str(test[1][-1]).endswith(_BROKEN):
        return wanted  # numbers that are none: something went wrong
    if tag == "call" and _divides(test[1], view):
        return wanted  # ``if divisible_by(step, every):``
    if tag == "call" and test[1] is not None and test[1][0] == "attr":
        return _rare(test[1][1], view, wanted, depth + 1) or any(
            _rare(item, view, wanted, depth + 1) for item in test[2]
        )
    if tag == "bin":
        return any(_rare(side, view, wanted, depth + 1) for side in test[2:])
    if tag in ("bool", "call"):
        return any(_rare(item, view, wanted, depth + 1) for item in test[2])
    return False


def _divides(func: Value, view: ModuleView) -> bool:
    """Whether a function of the tree answers by a remainder."""
    found = view.resolver.callee(view.summary, func)
    return found is not None and any(map(_has_remainder, found[1].returns))


def _has_remainder(value: Value) -> bool:
    if value is None:
        return False
    if value[0] in ("cmp", "bin"):
        if value[:2] == ("bin", "%"):
            return True
        return any(_has_remainder(v) for v in value[1:] if isinstance(v, tuple))
    if value[0] == "bool":
        return any(map(_has_remainder, value[2]))
    return value[0] == "not" and _has_remainder(value[1])
