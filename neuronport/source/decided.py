"""What the answer of a question about the host decides: ``torch.cuda.is_available()`` in a test may
choose the device of the whole program, or whether a line is logged. Only the first leaves a chip
idle."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from neuronport.readers.python.facts import SET_OPTIONS, Event, Guard, ModuleFacts, Value

if TYPE_CHECKING:
    from neuronport.source.summary import Summary
    from neuronport.source.view import ModuleView

_WORDS = frozenset(("cuda", "cpu", "gpu", "xpu", "mps", "npu", "hpu", "mlu", "musa"))
_MOVES = frozenset(("cuda", "to", "cpu", "xpu", "npu"))
_PLACES = (
    "torch.device",
    "torch.set_default_",
    "torch.distributed.init_process_group",
    "torch.multiprocessing.",
)
_PLACES_LAST = frozenset(
    ("set_device", "current_device", "device_count", "LongTensor", "FloatTensor", "ByteTensor")
)
_OF_DEVICES = re.compile(r"cuda|gpu|cpu|device|accel|backend|n_?proc|world_size", re.I)
"""In a name: what is kept there chooses where the program runs."""
_PINS = re.compile(r"pin(s|ned|ning)?_?mem", re.I)
"""In a name: memory of the host is pinned, which places nothing."""
_LOADS = ("torch.load", "torch.jit.load")
_STORES = ("storage", "storages", "s", "store")
_DESCRIBES = re.compile(
    r"device_?(name|count|info|prop|cap|mem|stat|util|version|model)|(num|n|count|total)_?\w*devices?$",
    re.I,
)
"""In a name: what is kept there tells of a device, and chooses none."""
_REPORTS = re.compile(
    r"collect_?env|env(ironment)?_?info|(sys(tem)?|hard_?ware|machine|host|gpu)_?(info|desc|summary)"
    r"|(print|log|show|dump|report)_\w*(info|env|version|system|hardware|gpu|cuda)"
    r"|get_\w*(versions?|_info)$",
    re.I,
)
"""Names of functions that tell what a host has."""
DEVICE_CLASS = re.compile(r"CUDA|Cuda|GPU|Gpu|CPU|Cpu(?![a-z])")
"""In the name of a class: the device it is for."""
_NAMES_ONLY = frozenset(("compare", "key", "index"))
"""Roles of strings that name a device, and place nothing there."""
_SWITCHES = frozenset(("autocast", "GradScaler", "is_autocast_enabled", "is_autocast_available"))
_CUDAS_OWN = re.compile(
    r"^torch\.backends\.(cuda|cudnn)\.|tf32|^(pynvml|nvidia_smi|py3nvml)\.", re.I
)
"""Dotted names that stand for nothing on any other device."""
_RIGHT_FOR_CUDA = re.compile(
    r"^torch\.(cuda|xpu|npu|mps|mlu|musa|hpu)\.(set_device|manual_seed(_all)?|seed(_all)?|empty_cache|ipc_collect|init"
    r"|random\.\w*seed\w*)$|cudagraph|^torch\.backends\.(cuda|cudnn)\."
)
"""Calls that belong to CUDA alone, or that nothing has to stand for on Neuron: one process has its
core, and ``torch.manual_seed`` seeds it."""
_SAYING = re.compile(
    r"(^|\.)(print|str|repr|format|debug|info|warning|warn|error|log|write|append|join)$"
)
_KERNELS = re.compile(r"^(?!torch\.)(.*\.)?(_C|_ext|_cuda|\w+_cuda|\w+_cuda_ext|triton|cupy)\.\w+$")
"""Dotted names of functions compiled for CUDA."""
_DTYPES = re.compile(r"dtype|^torch\.(b?float|half|double|int|long|uint|bool|complex)")
_EXTENSIONS = ("torch.utils.ffi", "torch.utils.cpp_extension")
_OF_A_BUILD = re.compile(
    r"sources?|headers?|defines?|macros|cuda|ext(ension)?(_|s?$)|flags|_args|includ|librar|^libs?$"
    r"|cmdclass|objects?$|nvcc|files?$",
    re.I,
)
"""Names of what an extension is built of."""
_OF_NUMBERS = frozenset(("builtins.range", "builtins.list", "builtins.int", "builtins.tuple"))
_DIVISIONS = ("%", "//", "/")
_STORED = "options."
"""Before names of options that the program stores itself, to tell them from attributes of ``self``."""
_MAX_DEPTH = 8
_MAX_LINES = 8
"""How far above a call the test that it is part of may begin."""


class Decided(StrEnum):
    DEVICE = "device"
    """Where something runs: the way not taken is the accelerator's."""
    STOPS = "stops"
    """Whether the program goes on: the answer of a Neuron host ends it."""
    STOPS_CUDA = "stops cuda"
    """Whether the program goes on where it was told to use CUDA."""
    SAYS = "says"
    """Nothing: the answer is printed, or kept as a fact about the host."""
    EMPTIES = "empties"
    """How often a loop runs: not once."""
    SKIPS = "skips"
    """Whether something else happens: a setting, a message, a kernel of CUDA's."""
    CUDAS_OWN = "cuda's own"
    """Whether something is asked, or set, that only CUDA has: no is the right answer elsewhere."""
    BUILDS = "builds"
    """Which sources of an extension are built."""
    MARKS = "marks"
    """Whether a test is skipped."""
    HANDED = "handed"
    """Not said where it is asked: a call is given the answer."""
    LISTS = "lists"
    """Which devices are in a list."""
    UNKNOWN = "unknown"
    """Not tested where it is asked."""


def of_question(event: Event, view: ModuleView) -> Decided:
    """What the answer at a call decides, by the test the call stands in."""

    def ours(test: Value) -> bool:
        return _asks(test, event.name, event.span.line, 0)

    if event.name.endswith(".device_count") and any(
        _is_least(value, ours, 0) for value in _handed(view, event.span.line)
    ):
        return Decided.SAYS
    decides = _of(view, event, ours)
    if decides in (Decided.DEVICE, Decided.UNKNOWN) and _REPORTS.search(view.scope(event)):
        return Decided.SAYS
    if decides is Decided.SAYS and any(
        call.name.rpartition(".")[2].lower().startswith("skip")
        for n in range(event.span.line, event.span.line - _MAX_LINES, -1)
        for call in view.calls_at.get(n, ())
        if call.args and _asks_within(("args", call.args[0]), ours)
    ):
        return Decided.MARKS
    if decides is Decided.DEVICE and _is_listed(event, view, ours):
        return Decided.LISTS
    if decides in (Decided.DEVICE, Decided.SKIPS, Decided.SAYS) and _builds(event, view, ours):
        return Decided.BUILDS
    if decides in (Decided.DEVICE, Decided.SKIPS) and _raises_else(event, view, ours):
        return Decided.STOPS
    if decides in (Decided.DEVICE, Decided.SKIPS) and _asks_for_cudas_own(event, view, ours):
        return Decided.CUDAS_OWN
    if decides in (Decided.DEVICE, Decided.SKIPS) and _does_cudas_own(event, view, ours):
        return Decided.CUDAS_OWN
    return decides


def _raises_else(event: Event, view: ModuleView, ours: Any) -> bool:
    """Whether what is not left early ends in an error: ``if device_count() > 0: return …`` and then
    nothing but ``raise``."""
    facts = view.facts
    guards = facts.contexts[event.ctx].guards
    left = [
        (*guards, i)
        for i in view.guards_at.get(event.span.line, ())
        if facts.guards[i].kind == "early"
        and ours(facts.guards[i].test)
        and view.truth_of(facts.guards[i].test) is facts.guards[i].polarity
    ]
    return bool(left) and any(
        other.kind == "use"
        and other.role == "call"
        and other.name.endswith(("Error", "Exception"))
        and 0 < other.at[0] - event.at[0] <= _MAX_LINES
        and facts.contexts[other.ctx].guards in left
        and facts.contexts[other.ctx].scope == facts.contexts[event.ctx].scope
        for other in facts.events
    )


def _is_least(value: Value, ours: Any, depth: int) -> bool:
    """``max(torch.cuda.device_count(), 4)``: there are some without any device."""
    if not isinstance(value, tuple) or not value or depth > _MAX_DEPTH:
        return False
    if value[0] == "call" and value[1] == ("ref", "builtins.max"):
        parts = value[2]
        return any(map(ours, parts)) and any(
            p is not None and p[0] == "const" and isinstance(p[1], int) and p[1] > 0 for p in parts
        )
    return any(_is_least(part, ours, depth + 1) for part in _parts(value))


def _is_listed(event: Event, view: ModuleView, ours: Any) -> bool:
    """``["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]``"""
    return any(
        ours(value[1])
        and any(branch is not None and branch[0] in ("list", "tuple") for branch in value[2:])
        for n in range(event.span.line, event.span.line - _MAX_LINES, -1)
        for value in view.choices_at.get(n, ())
    )


def is_aside(guard: Guard, view: ModuleView) -> bool:
    """Whether a test does something besides where there is CUDA, and nothing else without: neither is
    there another branch, nor goes anything on with what the branch has moved."""
    if guard.kind != "if":
        return False
    name = f"aside of {guard.line} {guard.polarity}"
    return view.once(name, lambda: _finds_aside(guard, view))


def _finds_aside(guard: Guard, view: ModuleView) -> bool:
    facts = view.facts
    inside = {
        i for i, g in enumerate(facts.guards) if g.line == guard.line and g.test == guard.test
    }
    if any(facts.guards[i].polarity is not guard.polarity for i in inside):
        return False
    kept = [d for d in facts.definitions if inside.isdisjoint(d.guards)]
    if any(
        not inside.isdisjoint(d.guards)
        and any(k.name == d.name and k.scope == d.scope for k in kept)
        for d in facts.definitions
    ):
        return False
    return not any(
        _moves_in_place(event, view, inside)
        for event in facts.events
        if not inside.isdisjoint(facts.contexts[event.ctx].guards)
    )


def _moves_in_place(event: Event, view: ModuleView, inside: set[int]) -> bool:
    """Whether something is changed that was there before: a module is moved, an attribute is set."""
    if event.role == "store" and event.kind in ("attr", "item"):
        return True
    if event.kind != "method" or event.name not in _MOVES or event.value is None:
        return False
    if event.value[0] == "v" and not inside.isdisjoint(
        view.facts.definitions[event.value[1]].guards
    ):
        return False
    return event.value[0] != "call" and view.kind(event.value).kind != "tensor"


def _asks_for_cudas_own(event: Event, view: ModuleView, ours: Any) -> bool:
    """``if torch.cuda.is_available() and torch.backends.cuda.matmul.allow_tf32:``"""
    return any(
        test is not None and test[0] == "bool" and test[1] == "and" and ours(test)
        for n in range(event.span.line, event.span.line - _MAX_LINES, -1)
        for i in view.guards_at.get(n, ())
        for test in (view.facts.guards[i].test,)
        if test is not None
        and test[0] == "bool"
        and any(_is_cudas_own(part, 0) for part in test[2] if not ours(part))
    )


def _does_cudas_own(event: Event, view: ModuleView, ours: Any) -> bool:
    """Whether nothing is done where CUDA is but what belongs to CUDA, and nothing where it is not:
    ``if torch.cuda.is_available(): torch.cuda.set_device(rank)``."""
    facts = view.facts
    found = {
        i
        for n in range(event.span.line, event.span.line - _MAX_LINES, -1)
        for i in view.guards_at.get(n, ())
        if facts.guards[i].kind == "if" and ours(facts.guards[i].test)
    }
    if not found or any(not found.isdisjoint(d.guards) for d in facts.definitions):
        return False
    done = [
        event.name
        for event in facts.events
        if event.kind in ("use", "method", "callkw")
        and not found.isdisjoint(facts.contexts[event.ctx].guards)
    ]
    return (
        bool(done)
        and all(map(_RIGHT_FOR_CUDA.search, done))
        and all(
            _RIGHT_FOR_CUDA.search(_called(callee))
            for calls in facts.calls.values()
            for callee, _args, _kwargs, _line, _loops, guards in calls
            if not found.isdisjoint(guards)
        )
    )


def is_build(view: ModuleView) -> bool:
    """Whether a module builds extensions: a ``setup.py``, a ``build.py``."""
    return any(
        e.kind == "import" and e.name.startswith(_EXTENSIONS) and not e.name.endswith("_HOME")
        for e in view.facts.events
    )


def _builds(event: Event, view: ModuleView, ours: Any) -> bool:
    """Whether a build only collects there what it is made of: ``sources += [...]; with_cuda = True``."""
    facts = view.facts
    if not is_build(view):
        return False
    found = {
        i
        for n in range(event.span.line, event.span.line - _MAX_LINES, -1)
        for i in view.guards_at.get(n, ())
        if facts.guards[i].kind == "if" and ours(facts.guards[i].test)
    }
    kept = [d.name for d in facts.definitions if not found.isdisjoint(d.guards)]
    return (
        bool(kept)
        and all(map(_OF_A_BUILD.search, kept))
        and not any(
            other.kind == "method" and other.name in _MOVES
            for other in facts.events
            if not found.isdisjoint(facts.contexts[other.ctx].guards)
        )
    )


def asks_tensor(test: Value, view: ModuleView) -> bool:
    """Whether a test asks where a tensor is that it was given: ``x.is_cuda``, ``x.device.type ==
    "cuda"``."""
    if test is None:
        return False
    if test[0] == "not":
        return asks_tensor(test[1], view)
    if test[0] == "bool":
        return any(asks_tensor(part, view) for part in test[2])
    if test[0] == "attr":
        return bool(test[2] == "is_cuda")
    if test[0] != "cmp" or test[2] not in ("==", "!="):
        return False
    asked = test[1]
    if asked is None or asked[0] != "attr" or test[3] is None or test[3][0] != "const":
        return False
    if asked[2] == "type":
        asked = asked[1]
        return asked is not None and asked[0] == "attr" and asked[2] == "device"
    return asked[2] == "device" and view.kind(asked[1]).kind == "tensor"


def compares_numbers(event: Event, view: ModuleView) -> bool:
    """Whether what a method answers of one is compared with what it answers of another:
    ``a.get_device() == b.get_device()``."""
    tests = (test.value for test in view.tests.get(event.at[0], ()))
    guards = (view.facts.guards[i].test for i in view.guards_at.get(event.at[0], ()))
    return any(_pairs(test, event.name) for test in (*tests, *guards))


def _pairs(test: Value, name: str, depth: int = 0) -> bool:
    if test is None or depth > _MAX_DEPTH:
        return False
    if test[0] == "cmp":
        return all(
            side is not None
            and side[0] == "call"
            and side[1] is not None
            and side[1][0] == "attr"
            and side[1][2] == name
            for side in (test[1], test[3])
        )
    if test[0] == "not":
        return _pairs(test[1], name, depth + 1)
    return test[0] == "bool" and any(_pairs(part, name, depth + 1) for part in test[2])


def is_asserted(event: Event, view: ModuleView) -> bool:
    """Whether the program ends where a name that a type is compared with does not fit."""
    name = ("ref", event.name)
    return any(
        part is not None and part[0] == "call" and _holds(part, name, 0)
        for line in range(event.at[0], event.at[0] - _MAX_LINES, -1)
        for test in view.tests.get(line, ())
        if test.name == "assert" and test.at[2] >= event.at[0] and test.value is not None
        for part in (test.value[2] if test.value[:2] == ("bool", "and") else (test.value,))
    )


def _called(callee: Value) -> str:
    """The name of what is called, as far as it is written."""
    if callee is None:
        return ""
    return str(callee[1]) if callee[0] == "ref" else f".{callee[-1]}"


def _is_cudas_own(value: Value, depth: int) -> bool:
    if not isinstance(value, tuple) or not value or depth > _MAX_DEPTH:
        return False
    if value[0] == "ref" and _CUDAS_OWN.search(value[1]):
        return True
    return any(_is_cudas_own(part, depth + 1) for part in _parts(value))


def for_kernels(event: Event, view: ModuleView) -> bool:
    """Whether the way that Neuron's tensors do not take, where ``x.is_cuda`` is asked, calls what is
    compiled for CUDA: the other is the portable one."""
    asked = ("attr", event.value, event.name)
    facts = view.facts
    return any(
        i in view.launching
        and _holds(facts.guards[i].test, asked, 0)
        and view.truth.skipped(view.summary, facts.guards[i])
        for n in range(event.span.line, event.span.line - _MAX_LINES, -1)
        for i in view.guards_at.get(n, ())
    )


def launching(facts: ModuleFacts) -> frozenset[int]:
    """The guards under which something is called that is compiled for CUDA."""
    found: set[int] = set()
    for event in facts.events:
        guards = facts.contexts[event.ctx].guards if event.kind == "use" else ()
        if guards and event.role == "call" and _KERNELS.search(event.name):
            found.update(guards)
    return frozenset(found)


def of_test(event: Event, view: ModuleView) -> Decided:
    """What a ``test`` event decides."""
    if event.name == "assert":
        return Decided.STOPS
    decides = _of(view, event, lambda test: test == event.value)
    if decides is Decided.DEVICE and (
        _REPORTS.search(view.scope(event)) or _PINS.search(_name_of(event.value, view))
    ):
        return Decided.SKIPS
    return decides


def _name_of(value: Value, view: ModuleView) -> str:
    """How a variable or an attribute is called, if it is one."""
    while value is not None and value[0] == "not":
        value = value[1]
    if value is None:
        return ""
    if value[0] == "v":
        return view.summary.definitions[value[1]].name
    return str(value[2]) if value[0] in ("attr", "param") else ""


def lets_through(event: Event, view: ModuleView) -> bool:
    """Whether what is asked of a tensor at a place only keeps CUDA's out, and so none on Neuron:
    ``assert not x.is_cuda``."""
    asked = ("attr", event.value, event.name)
    lines = range(event.span.line, event.span.line - _MAX_LINES, -1)
    for line in lines:
        for test in view.tests.get(line, ()):
            if test.name == "assert" and _holds(test.value, asked, 0):
                return view.truth_of(test.value) is True
    guards = (view.facts.guards[i] for line in lines for i in view.guards_at.get(line, ()))
    return any(
        guard.kind == "raise"
        and _holds(guard.test, asked, 0)
        and view.truth_of(guard.test) is guard.polarity
        for guard in guards
    )


def _holds(value: Value, part: Value, depth: int) -> bool:
    """Whether one value is somewhere in another."""
    if not isinstance(value, tuple) or not value or depth > _MAX_DEPTH:
        return False
    return value == part or any(_holds(inner, part, depth + 1) for inner in _parts(value))


def _of(view: ModuleView, event: Event, ours: Any) -> Decided:
    facts = view.facts
    line = event.span.line
    lines = range(line, line - _MAX_LINES, -1)
    for test in (t for n in lines for t in view.tests.get(n, ())):
        if test.name == "assert" and ours(test.value):
            return Decided.SKIPS if view.truth_of(test.value) is True else Decided.STOPS
    found = [
        i
        for n in lines
        for i in view.guards_at.get(n, ())
        if facts.guards[i].kind != "bool" and ours(facts.guards[i].test)
    ]
    if not found:
        return _later(view, event, ours)
    return _by_guards(view, found)


def _by_guards(view: ModuleView, found: list[int]) -> Decided:
    facts = view.facts
    if any(_ends(facts.guards[i], view) for i in found):
        return Decided.STOPS
    if any(_ends_cuda(facts.guards[i]) for i in found):
        return Decided.STOPS_CUDA
    if any(facts.guards[i].kind == "skip" for i in found):
        return Decided.MARKS
    if any(i in view.choosing for i in found if facts.guards[i].kind != "decorator"):
        if view.is_test and all(is_aside(facts.guards[i], view) for i in found):
            return Decided.SKIPS
        return Decided.DEVICE
    return Decided.SKIPS


def _later(view: ModuleView, event: Event, ours: Any) -> Decided:
    """What an answer decides that is not tested where it is asked, but kept or handed on."""
    facts = view.facts
    line = event.span.line
    if any(_divides(value, ours, 0) for value in _handed(view, line)):
        return Decided.STOPS
    kept = {i for i, d in enumerate(facts.definitions) if _is_answer(d.value, ours, 0)}
    names = {
        f"{_STORED}{name}" if dotted.endswith(SET_OPTIONS) else name
        for dotted, cls in facts.classes.items()
        for name, values in cls.attributes.items()
        if any(value is not None and value[0] == "v" and value[1] in kept for value in values)
    }
    if kept or names:
        called = names | {facts.definitions[i].name for i in kept}
        if all(map(_PINS.search, called)):
            return Decided.SKIPS
        found = [
            i
            for i, guard in enumerate(facts.guards)
            if guard.kind != "bool" and _mentions(guard.test, kept, names, 0)
        ]
        if found:
            return _by_guards(view, found)
        if any(_divides(value, lambda v: v[0] == "v" and v[1] in kept, 0) for value in _all(view)):
            return Decided.STOPS
        if any(_mentions(loop.over, kept, names, 0) for loop in facts.loops if loop.kind == "for"):
            return Decided.EMPTIES
        if any(facts.definitions[i].scope == 0 for i in kept):
            return Decided.UNKNOWN  # other modules may ask what this one keeps
        if event.name.endswith(".device_count"):
            return Decided.UNKNOWN  # a number of processes, or of parts
        if not any(_mentions(value, kept, names, 0) for value in _all(view)):
            return Decided.SAYS
        return Decided.UNKNOWN if any(map(_OF_DEVICES.search, called)) else Decided.SAYS
    for n in range(line, line - _MAX_LINES, -1):
        for call in view.calls_at.get(n, ()):
            for key, value in call.kwargs:
                if key and (ours(value) or _asks_within(value, ours)):
                    return Decided.UNKNOWN if _OF_DEVICES.search(key) else Decided.SKIPS
    if any(
        other.kind == "attr" and other.role == "store" and _OF_DEVICES.search(other.name)
        for other in view.events_at.get(line, ())
    ):
        return Decided.UNKNOWN  # ``cfg.use_gpu = torch.cuda.is_available()``: whoever reads that
    function = facts.functions.get(f"{facts.module}.{view.scope(event)}")
    if function is not None and any(map(ours, function.returns)):
        return Decided.UNKNOWN
    return _given(view, line, ours)


def _given(view: ModuleView, line: int, ours: Any) -> Decided:
    """What becomes of an answer that a function of the tree is given: one step is followed."""
    for calls in view.facts.calls.values():
        for callee, args, _kwargs, at, _loops, _guards in calls:
            if not line - _MAX_LINES < at <= line:
                continue
            place = next((n for n, a in enumerate(args) if _of_answer(a, ours)), None)
            if place is None or _SAYING.search(_called(callee)):
                continue
            name = view.name(callee) if callee is not None and callee[0] == "ref" else ""
            found = view.index.function(name) if name[:1] == "@" else None
            if found is None:
                continue
            module, function = found
            if place < len(function.params) and _divides_by(
                module, name, function.params[place][0]
            ):
                return Decided.STOPS
            return Decided.HANDED
    return Decided.SAYS


def _of_answer(value: Value, ours: Any) -> bool:
    """Whether a value is the answer, or a range of it."""
    if value is None or value[0] != "call" or not ours(value):
        return False
    return not value[2] or (value[1] is not None and value[1][-1] in _OF_NUMBERS)


def _divides_by(module: Summary, function: str, name: str) -> bool:
    """Whether a function divides by a parameter, or by how long it is."""
    given = ("param", function, name)

    def ours(value: Value) -> bool:
        return value == given or bool(
            value
            and value[0] == "call"
            and value[1] == ("ref", "builtins.len")
            and value[2] == (given,)
        )

    return any(_divides(definition.value, ours, 0) for definition in module.definitions)


def _is_answer(value: Value, ours: Any, depth: int) -> bool:
    """Whether a value is the answer, or is computed from it: not something else that was told it."""
    if not isinstance(value, tuple) or not value or depth > _MAX_DEPTH:
        return False
    if value[0] == "call":
        name = value[1][1] if value[1] is not None and value[1][0] == "ref" else ""
        if name.startswith("builtins."):
            return any(_is_answer(part, ours, depth + 1) for part in value[2])
        return name.startswith("torch.") and bool(ours(value))
    return any(_is_answer(part, ours, depth + 1) for part in _parts(value))


def _handed(view: ModuleView, line: int) -> Iterator[Value]:
    """What is computed or passed in a line, and in the lines above that it may belong to."""
    for n in range(line, line - _MAX_LINES, -1):
        for call in view.calls_at.get(n, ()):
            yield from call.args or ()
            yield from (value for _, value in call.kwargs)
    yield from (d.value for d in view.facts.definitions if d.line == line)


def _all(view: ModuleView) -> Iterator[Value]:
    """Everything that is passed or kept in a module."""
    for calls in view.calls_at.values():
        for call in calls:
            yield from call.args or ()
            yield from (value for _, value in call.kwargs)
    yield from (d.value for d in view.facts.definitions)


def _divides(value: Value, ours: Any, depth: int) -> bool:
    """Whether something is divided by the answer: by 0."""
    if not isinstance(value, tuple) or not value or depth > _MAX_DEPTH:
        return False
    if value[0] == "bin" and value[1] in _DIVISIONS and value[3] is not None and ours(value[3]):
        return True
    return any(_divides(part, ours, depth + 1) for part in _parts(value))


def _asks_within(value: Value, ours: Any, depth: int = 0) -> bool:
    if not isinstance(value, tuple) or depth > 4:
        return False
    return any(ours(part) or _asks_within(part, ours, depth + 1) for part in _parts(value))


def _mentions(value: Value, kept: set[int], names: set[str], depth: int) -> bool:
    """Whether a test asks a variable, an attribute of ``self``, or an option that was stored."""
    if not isinstance(value, tuple) or not value or depth > _MAX_DEPTH:
        return False
    if value[0] == "v" and len(value) == 2:
        return value[1] in kept
    if value[0] == "attr" and value[1] is not None and value[1][0] == "self":
        return value[2] in names
    if value[0] == "attr" and value[1] is not None and value[1][0] in ("v", "param"):
        return f"{_STORED}{value[2]}" in names
    return any(_mentions(part, kept, names, depth + 1) for part in _parts(value))


def _ends(guard: Guard, view: ModuleView) -> bool:
    """Whether the block of a test that raises is the one a Neuron host comes to."""
    truth = view.truth_of(guard.test)
    return guard.kind == "raise" and truth is not None and truth is not guard.polarity


def _ends_cuda(guard: Guard) -> bool:
    """``if device == "cuda" and not torch.cuda.is_available(): raise``."""
    test = guard.test
    return bool(
        guard.kind == "raise"
        and not guard.polarity
        and test is not None
        and test[0] == "bool"
        and test[1] == "and"
        and any(part is not None and part[0] == "not" for part in test[2])
    )


def _asks(value: Value, name: str, line: int, depth: int) -> bool:
    """Whether a test holds the call itself, not a variable that has its answer."""
    if not isinstance(value, tuple) or not value or depth > _MAX_DEPTH:
        return False
    if value[0] == "call" and value[4:] == (line,) and value[1] == ("ref", name):
        return True
    return any(_asks(part, name, line, depth + 1) for part in _parts(value))


def _parts(value: tuple[Any, ...]) -> Iterator[Any]:
    for part in value[1:]:
        if isinstance(part, tuple):
            yield part
            if part and isinstance(part[0], tuple):
                yield from part


def choosing(facts: ModuleFacts) -> frozenset[int]:
    """The guards under which something is placed on a device or a device is named."""
    found: set[int] = set()
    there: tuple[int, ...] = ()
    for event in facts.events:
        guards = facts.contexts[event.ctx].guards
        if not guards or found.issuperset(guards):
            continue
        if event.kind == "str" and is_read_there(event.role):
            there = event.at[:2]
        elif _chooses(event, facts) and not (
            event.name == "torch.device" and _around(event, there)
        ):
            found.update(guards)
    for definition in facts.definitions:
        name = definition.name
        if definition.guards and "device" in name.lower() and not _DESCRIBES.search(name):
            found.update(definition.guards)
    found |= _choosing_classes(facts)
    # What follows after a test that ends the program is not chosen by it.
    return frozenset(i for i in found if facts.guards[i].kind not in ("raise", "skip"))


def _around(event: Event, place: tuple[int, ...]) -> bool:
    """Whether a place is inside of a call: that of ``torch.device("cpu")``, after its text."""
    return event.role == "call" and event.at[:2] <= place < event.at[2:]


def _choosing_classes(facts: ModuleFacts) -> set[int]:
    """The guards under which something of the tree is made or called that is named for one device,
    and has a sibling named for another: ``DeviceGPU() if … else DeviceCPU()``."""
    made: dict[str, set[int]] = {}
    for calls in facts.calls.values():
        for callee, _args, _kwargs, _line, _loops, guards in calls:
            if callee is not None and callee[0] == "ref":
                name = str(callee[1]).rpartition(".")[2]
                if DEVICE_CLASS.search(name):
                    made.setdefault(name, set()).update(guards)
    families: dict[str, list[str]] = {}
    for name in made:
        families.setdefault(DEVICE_CLASS.sub("", name), []).append(name)
    return {
        guard
        for names in families.values()
        if len({word.lower() for name in names for word in DEVICE_CLASS.findall(name)[:1]}) > 1
        for name in names
        for guard in made[name]
    }


def _chooses(event: Event, facts: ModuleFacts) -> bool:
    if event.kind == "str":
        role = event.role
        if role[0] in _NAMES_ONLY:
            return False
        if role[0] == "arg" and role[1] is not None and (_asks_cuda(role) or _is_switch(role)):
            return False
        word = event.name.strip().partition(":")[0].lower()
        return word in _WORDS and not is_read_there(role)
    if event.kind == "method":
        if event.name == "to" and event.args and all(_is_dtype(a, facts) for a in event.args):
            return False
        return event.name in _MOVES and not is_storage(event.value)
    if event.kind == "use":
        if event.name.startswith(_PLACES):
            return True
        return event.name.rpartition(".")[2] in _PLACES_LAST
    return False


def _is_dtype(value: Value, facts: ModuleFacts) -> bool:
    """Whether what ``to`` is given is a dtype by its name."""
    if value is None or value[0] not in ("ref", "attr", "param", "v"):
        return False
    name = facts.definitions[value[1]].name if value[0] == "v" else str(value[-1])
    return bool(_DTYPES.search(name))


def is_read_there(role: Any) -> bool:
    """Where a checkpoint is read, which says nothing of where the model goes then."""
    while role[0] in ("branch", "elem"):
        role = role[1]
    if role[0] == "arg" and role[1] is not None and role[1][0] == "ref" and role[2] == 1:
        return role[1][1] in _LOADS
    return bool(role[-1] == "map_location")


def is_storage(value: Value) -> bool:
    """``lambda storage, location: storage.cuda()``: where one of a checkpoint's is read."""
    return (
        value is not None and value[0] == "param" and "<lambda" in value[1] and value[2] in _STORES
    )


def _is_switch(role: Any) -> bool:
    """A device for which something is switched on, where the tensors are placed elsewhere."""
    return bool(role[1][0] == "ref" and role[1][1].rpartition(".")[2] in _SWITCHES)


def _asks_cuda(role: Any) -> bool:
    """A device that is only asked about: ``torch.cuda.get_device_properties("cuda")``."""
    return bool(role[1][0] == "ref" and role[1][1].startswith("torch.cuda."))
