"""Values taken from the device into Python: ``.item()``, ``int(t)``, ``.cpu()``, ``torch.equal`` …"""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import (
    call_value,
    mentions,
    on_host,
    same_scope,
    uses_arrays,
    uses_torch,
)
from neuronport.detectors._uses import LOOP, RETURNED, SAVED, SIZE, uses
from neuronport.detectors.control._environments import steps_environment
from neuronport.detectors.control._goes_on import goes_on
from neuronport.detectors.control._waits import LIKELY, POSSIBLE, SIZED, by_use, reached, tensor
from neuronport.findings import Confidence, Verdict, weakest
from neuronport.readers.python.facts import Event, Span, Value
from neuronport.source.places import nothing_placed
from neuronport.source.values import is_part
from neuronport.source.view import ModuleView

EVENTS = ("use", "method", "item")
METHODS = frozenset(("item", "tolist", "cpu", "numpy", "is_nonzero", "equal", "allclose"))
"""``numpy`` only with ``force=True``: elsewhere it takes what is on the host already, or raises."""
ROOTS = ("PIL", "imageio", "torch")
_READING = METHODS | {"int", "float", "bool", "complex", "range", "round"}
ONLY = {"use": _READING, "method": _READING, "item": frozenset(("store",))}
_WHOLE = frozenset(("cpu", "numpy", "tolist"))
_EVALUATING = re.compile(r"eval|valid|test|infer|predict|embed|extract|encode", re.I)
_COUNTS = re.compile(r"len|size|count|num|ind(ex|ices|s)?(_|\b)|mask", re.I)
_CONVERTS = re.compile(
    r"(2|to)_?(np|numpy|ims?|imgs?|images?|pil|label|list|cpu|uint8)(_|$)|^np_|visuali[sz]e|^draw|^plot"
    r"|^render|^save_im",
    re.I,
)
"""What functions are called that bring a result to the host."""
_LENGTHS = re.compile(r"(^|_)(i?lens?|\w*lengths?|sizes?|counts?|num_\w+|n_\w+|\w*seqlens?)$", re.I)
_GONE_THROUGH = (
    "Python goes through its elements, for which one read of all before the loop is the least: do for all "
    "at once on the device what the loop does for each, or take them from the batch before it is moved"
)
_LONG = 40
"""A name of more letters says less than none."""
_BUILTINS = frozenset(
    f"builtins.{name}" for name in ("int", "float", "bool", "complex", "range", "round")
)
_FUNCTIONS = frozenset(("torch.equal", "torch.allclose", "torch.is_nonzero"))


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.kind == "item":
        yield from _filled(event, view)
        return
    if event.kind == "method":
        sure = _method(event, view)
        what = f"{view.text(event.value, whole=True)}.{event.name}()"
    else:
        sure = _function(event, view)
        what = event.name.removeprefix("builtins.")
        if event.args:
            what += f"({view.text(event.args[0])})"
    if sure is None:
        return
    place = reached(event, view, sure)
    if place is None:
        return
    confidence, why = place
    if confidence is not POSSIBLE and (
        _only_asked(event, view)
        or _fills_cache(event, view)
        or _packs(event, view)
        or _tries(event, view)
        or nothing_placed(event, view)
    ):
        confidence = POSSIBLE
    becomes = uses(event, view)
    if _is_result(event, view, becomes):
        confidence = POSSIBLE  # somebody has to read it, once
    elif why.endswith("runs the model") and _evaluates(event, view):
        confidence = weakest(confidence, LIKELY)
    instead = _instead(event, view, becomes)
    yield Hit(event.span, f"{what} waits for the device, {why}", confidence, replacement=instead)
    if event.kind == "method" and event.name == "item" and view.ctx(event).loops:
        yield from _passed_on(event, view, confidence)


def _tries(event: Event, view: ModuleView) -> bool:
    """Whether the body of a module asserts something of what it tries out."""
    in_body = view.facts.scopes[view.ctx(event).scope].kind == "module"
    return in_body and bool(view.tests_around(event, "assert"))


_MADE = frozenset(f"torch.{name}" for name in ("zeros", "ones", "empty", "full"))


def _filled(event: Event, view: ModuleView) -> Iterator[Hit]:
    """``pad = torch.zeros(size); pad[:, :n] = x``: a buffer of the host that a tensor of the device is
    copied to."""
    buffer, args = event.value, event.args or ()
    if event.name != "store" or len(args) != 2 or buffer is None or buffer[0] != "v":
        return
    made, written = view.facts.definitions[buffer[1]].value, args[1]
    if made is None or made[0] != "call" or made[1] is None or made[1][0] != "ref":
        return
    if made[1][1] not in _MADE or written is None or written[0] == "const":
        return
    place = reached(event, view, LIKELY)
    kind = view.kind(written).kind if place is not None else ""
    if place is None or kind not in ("tensor", "unknown") or not on_host(view, buffer):
        return
    lies, sure = on_host(view, written), tensor(view, written)
    if lies or (sure is None and written[0] == "param"):
        return
    if lies is None and (sure is None or not place[1].endswith("forward runs every step")):
        return
    said: set[int] = view.once("buffers that are filled", set)
    if buffer[1] in said:
        return
    said.add(buffer[1])
    name, source = view.text(buffer), view.text(written)
    yield Hit(
        event.span,
        f"{name} is made on the host and filled from {source}, which waits for the device, {place[1]}",
        place[0],
        replacement=f"make {name} where {source} lies: device={view.text(written, whole=True)}.device",
    )


def _fills_cache(event: Event, view: ModuleView) -> bool:
    """Whether a place runs only for a key that is not kept yet, and keeps something by it:
    ``if n not in self.table: self.table[n] = x.cpu()``."""
    for guard in view.guards(event):
        test = guard.test
        if test is None or test[0] != "cmp" or test[3] is None:
            continue
        if test[3][0] not in ("attr", "param"):
            continue  # what is made here is empty each time
        if test[2] != ("not in" if guard.polarity else "in"):
            continue
        if (event.ctx, test[3]) in view.once("stores by key", lambda: _stores(view)):
            return True
    return False


_PACKS = "torch.nn.utils.rnn.pack_padded_sequence"
_MAX_CHAIN = 8


def _packs(event: Event, view: ModuleView) -> bool:
    """Whether lengths are read because ``pack_padded_sequence`` takes them from the host alone: whoever
    made them may have made them there."""
    packed = view.once("packed lengths", lambda: _packed(view))
    return bool(packed) and call_value(event) in packed


def _packed(view: ModuleView) -> list[Value]:
    """What lengths are packed by, and what they are made of."""
    found: list[Value] = []
    for event in view.facts.events:
        if event.kind != "use" or event.role != "call" or event.name != _PACKS:
            continue
        value = view.argument(event, "lengths", 1)
        for _ in range(_MAX_CHAIN):
            if value is None:
                break
            found.append(value)
            if value[0] == "v":
                value = view.facts.definitions[value[1]].value
            elif value[0] == "call" and value[1] is not None and value[1][0] == "attr":
                value = value[1][1]
            else:
                break
    return found


def _stores(view: ModuleView) -> set[tuple[int, Value]]:
    """Where something is kept by a key, and in what."""
    return {(e.ctx, e.value) for e in view.facts.events if e.kind == "item" and e.name == "store"}


def _only_asked(event: Event, view: ModuleView) -> bool:
    """Whether nothing but ``if isinstance(v, torch.Tensor)`` says that what a function is given is a
    tensor: it may lie anywhere."""
    value = event.value
    if event.kind != "method" or value is None:
        return False
    guards = (view.facts.guards[i] for i in view.ctx(event).guards)
    if not any(guard.polarity and _asks_class(guard.test, value) for guard in guards):
        return False
    for _ in range(6):
        if value is None or value[0] == "param":
            break
        if value[0] == "v":
            value = view.facts.definitions[value[1]].value
        elif value[0] in ("unpack", "elem", "item", "attr"):
            value = value[1]
        elif value[0] == "call" and value[1] is not None and value[1][0] == "attr":
            value = value[1][1] if value[1][2] in ("items", "values", "get") else None
        else:
            return False
    if value is None or value[0] != "param":
        return False
    return (value[1], value[2]) not in view.kinds.tensor_params


def _asks_class(test: Value, value: Value) -> bool:
    if test is None or test[0] != "call" or test[1] is None or test[1][0] != "ref":
        return False
    return bool(test[1][1] == "builtins.isinstance" and test[2] and test[2][0] == value)


def _is_result(event: Event, view: ModuleView, becomes: frozenset[str]) -> bool:
    """Whether a whole tensor is read because somebody wants it: it is saved, shown or returned."""
    if event.kind != "method" or event.name not in _WHOLE or ".item()" in becomes:
        return False
    if SAVED in becomes or _CONVERTS.search(view.scope(event).rpartition(".")[2]):
        return True
    if RETURNED not in becomes or view.ctx(event).loops:
        return False
    # Lengths and indices are read because the host needs them, and are handed on besides.
    whole = event.name != "tolist" and ".tolist()" not in becomes
    return whole and not _COUNTS.search(view.text(event.value))


def _evaluates(event: Event, view: ModuleView) -> bool:
    """Whether whole results are gathered, a read for each batch."""
    name = view.scope(event).rpartition(".")[2]
    return event.name in _WHOLE and bool(_EVALUATING.search(name))


def _instead(event: Event, view: ModuleView, becomes: frozenset[str]) -> str:
    """What to write instead; empty: as the rule says, of a loss that is added up."""
    value = event.value if event.kind == "method" else (event.args or (None,))[0]
    name = view.text(value, whole=True)
    if steps_environment(event, view):
        return (
            "the environment is on the host and needs it in every step: step several at once, with "
            "one array for all, and keep what only the model needs on the device"
        )
    whole = event.kind == "method" and event.name in _WHOLE
    if whole and LOOP in becomes and SIZE not in becomes:
        return _GONE_THROUGH
    advice = by_use(becomes) or _indexes(event, view, becomes)
    if advice:
        return advice
    packs = _packs(event, view)
    if packs or (whole and _LENGTHS.search(name.removesuffix(".detach()"))):
        return SIZED
    if not whole:
        picked = _picked(event, value, view)
        if picked:
            return (
                f"one read for each round of the loop: read all of them once before it "
                f"({picked}.tolist()), and pick from that"
            )
        if goes_on(event, view):
            return _COMPUTED
        if _LENGTHS.search(name.removesuffix(".detach()")):
            return SIZED
    if "loss" in name.lower() and RETURNED not in becomes:
        return ""
    if len(name) > _LONG or "…" in name:
        name = "it" if event.kind == "method" else "the tensor"
    if whole:
        return _of_whole(event, view, becomes, name)
    if RETURNED in becomes:
        return (
            f"return {name} as a tensor (detached where it is only shown): whoever computes with it goes "
            "on without a read, and what is shown is read every N steps"
        )
    if event.name == "item" and _in_inner_loop(event, view):
        if _decides_round(event, view):
            return (
                "what it is added up to decides in the same round: add up on the device (torch.stack) and "
                "read that once, or compute there what follows from it (torch.clamp, torch.where)"
            )
        return (
            f"one read for each round of the loop: keep {name} on the device, torch.stack all of them, "
            "and read that once, every N steps"
        )
    if event.name != "item":
        return f"keep {name} on the device; what the host needs of it, read once for many steps"
    added = "" if name == "it" else f" ({name}.detach())"
    return f"keep {name} on the device{added}, read every N steps"


_COMPUTED = (
    "this very step computes with it: go on with the tensor, which arithmetic, comparisons, torch.where and "
    "torch.clamp take as it is; where only a number will do, take it from the batch before it is moved"
)


def _of_whole(event: Event, view: ModuleView, becomes: frozenset[str], name: str) -> str:
    """What to write where a whole tensor is read."""
    if _is_result(event, view, becomes):
        return f"where {name} is the result, one read of it is needed: after the last step, for all at once"
    if _in_inner_loop(event, view):
        return (
            "one read for each round of the loop: read what all rounds need at once before it "
            "(torch.stack, torch.cat), or gather on the device and read after it"
        )
    if _evaluates(event, view) or _is_kept(event, view, becomes):
        return (
            f"gather {name} on the device and read it once after the loop; one read for each "
            "batch is the least where it does not fit"
        )
    if becomes.isdisjoint(_WORKED_ON) or _is_shown(event, view):
        return f"keep {name} on the device; what the host needs of it, read once for many steps"
    return (
        f"keep {name} on the device and do there, with PyTorch, what the host does with it in this very "
        "step; or do it for the batch, before it is moved"
    )


_LISTED = frozenset(("argument", ".numpy()", ".tolist()", ".float()"))
_WORKED_ON = frozenset(("bin", "cmp", "[]", ".numpy()", ".tolist()", ".to()", ".float()", "index"))
"""What becomes of what the host computes with."""
_SHOWING = frozenset(
    ("builtins.print", "info", "debug", "add_scalar", "add_scalars", "add_image", "add_histogram")
)


def _is_kept(event: Event, view: ModuleView, becomes: frozenset[str]) -> bool:
    """Whether what is read is kept: by a key, or in a list, where nothing else becomes of it."""
    call = call_value(event)
    for other in view.calls_at.get(event.at[0], ()):
        stored = (other.args or ())[1:] if other.kind == "item" and other.name == "store" else ()
        if any(_is_made_of(value, call) for value in stored):
            return True
    if not view.ctx(event).loops or not becomes <= _LISTED or _is_shown(event, view):
        return False
    return not any(
        d.line == event.at[0] and is_part(call, d.value, _MAX_CHAIN)
        for _, d in same_scope(view, event)
    )


def _is_shown(event: Event, view: ModuleView) -> bool:
    call = call_value(event)
    return any(
        other.name in _SHOWING and any(_is_made_of(item, call) for item in other.args or ())
        for other in view.calls_at.get(event.at[0], ())
    )


def _is_made_of(value: Value, call: Value) -> bool:
    """Whether a value is what a call gives, or something of it: ``x.cpu().numpy()[0]``."""
    for _ in range(_MAX_CHAIN):
        if value is None or value == call:
            break
        if value[0] not in ("item", "attr", "call"):
            return False
        value = value[1]
    return value is not None and value == call


def _picked(event: Event, value: Value, view: ModuleView) -> str:
    """From what a loop picks, one for each round, what is read: ``for i in …: n = lengths[i].item()``;
    empty: nothing that is there before the loop."""
    loops = view.ctx(event).loops
    if not loops or value is None or value[0] != "item" or not _in_inner_loop(event, view, True):
        return ""
    base, line = value[1], view.facts.loops[loops[-1]].line
    if base is None or base[0] not in ("v", "param", "attr"):
        return ""
    if base[0] == "v" and view.facts.definitions[base[1]].line >= line:
        return ""
    index = value[2]
    if index is None or index[0] in ("const", "slice"):
        return ""
    if index[0] != "tuple" and not _is_one_tensor(base, view):
        return ""
    return view.text(base, whole=True)


def _is_one_tensor(value: Value, view: ModuleView) -> bool:
    """Whether a value is no list of tensors, as far as PyTorch made it or takes it."""
    if value is None or view.kind(value).kind != "tensor":
        return False
    if value[0] == "param":
        return (value[1], value[2]) in view.kinds.tensor_params
    held = view.facts.definitions[value[1]].value if value[0] == "v" else None
    if held is None or held[0] != "call" or held[1] is None:
        return False
    if held[1][0] == "attr":
        return view.kind(held[1][1]).kind == "tensor"
    return held[1][0] == "ref" and str(held[1][1]).startswith("torch.")


def _indexes(event: Event, view: ModuleView, becomes: frozenset[str]) -> str:
    """What to write where nothing is done with a number but to index by it."""
    if event.name != "item" or becomes != {"index"}:
        return ""
    call = call_value(event)
    for other in view.facts.events:
        if other.kind == "item" and other.args and view.ctx(other).scope == view.ctx(event).scope:
            index = other.args[0]
            if index is not None and index[0] == "v":
                index = view.facts.definitions[index[1]].value
            if index == call and view.kind(other.value).kind not in ("tensor", "unknown"):
                return ""  # a list of names takes no tensor
    name = view.text(event.value, whole=True)
    written = "i" if len(name) > _LONG or "…" in name else name
    return (
        f"it only indexes: where that is a tensor, index by the tensor itself (x[{written}], "
        "x.index_select, torch.gather), which needs no read"
    )


def _decides_round(event: Event, view: ModuleView) -> bool:
    """Whether what is read in an inner loop is added to something that the loop around it tests."""
    ctx = view.ctx(event)
    if len(ctx.loops) < 2:
        return False
    line, inner, outer = event.span.line, *(view.facts.loops[i] for i in reversed(ctx.loops[-2:]))
    target: Value = None
    for other in view.facts.events:
        if (
            other.kind == "augassign"
            and other.at[0] <= line <= other.at[2]
            and other.ctx == event.ctx
        ):
            target = other.value
    while target is not None and target[0] == "item":
        target = target[1]
    if target is None or target[0] != "v":
        return False
    sums = {view.facts.definitions[target[1]].name}
    made: set[int] = set()
    for i, definition in same_scope(view, event):
        if definition.name in sums or mentions(definition.value, made):
            made.add(i)
    rounds = (view.facts.loops[i] for i in ctx.loops[:-1])
    begin, end = outer.line, max(loop.end_line for loop in rounds)
    return any(
        other.kind == "test"
        and begin <= other.at[0] <= end
        and other.at[0] > inner.end_line
        and view.ctx(other).scope == ctx.scope
        and mentions(other.value, made)
        for other in view.facts.events
    )


def _in_inner_loop(event: Event, view: ModuleView, listed: bool = False) -> bool:
    """Whether it is read again and again within one step: for every parameter, for every image;
    ``listed``: loops of comprehensions count."""
    loops = [view.facts.loops[i] for i in view.ctx(event).loops]
    within = "in the" in view.hot(event)[:6]
    kinds = ("for", "comprehension") if listed else ("for",)
    return len([loop for loop in loops if loop.kind in kinds]) > within


def _method(event: Event, view: ModuleView) -> Confidence | None:
    name = event.name
    if name not in METHODS or not uses_torch(view):
        return None
    args = event.args or ()
    if name == "numpy" and view.constant(view.argument(event, "force", 0)) != (True, True):
        return None
    if args and name not in ("equal", "allclose", "numpy"):
        return None  # ``menu.item(key)``
    known = view.kind(event.value)
    if known.kind == "tensor":
        return None if on_host(view, event.value) else tensor(view, event.value) or LIKELY
    if known.kind not in ("unknown", "batch") or on_host(view, event.value):
        return None
    if name in ("item", "cpu"):
        return LIKELY if name == "cpu" or not _from_array(event, view) else POSSIBLE
    if name == "numpy":
        return LIKELY
    return POSSIBLE


def _from_array(event: Event, view: ModuleView) -> bool:
    """Whether an unknown receiver could as well be an array."""
    return uses_arrays(view) and not any(
        name in view.text(event.value).lower() for name in ("loss", "logit", "grad", "norm")
    )


def _function(event: Event, view: ModuleView) -> Confidence | None:
    if event.role != "call" or not event.args:
        return None
    name = event.name
    if name in _BUILTINS:
        found = [tensor(view, argument) for argument in event.args]
        sure = [c for c in found if c is not None]
        return sure[0] if sure else None
    if name[:1] == "@":
        name = view.index.canonical(name, view.summary)
    if name not in _FUNCTIONS:
        return None
    return None if any(on_host(view, a) for a in event.args) else LIKELY


def _passed_on(event: Event, view: ModuleView, confidence: Confidence) -> Iterator[Hit]:
    """The model calls of the same loop that get the number: each value makes a graph of its own."""
    scope = view.facts.scopes[view.ctx(event).scope]
    dotted = f"{view.facts.module}.{scope.qualname or '<module>'}"
    loop = view.facts.loops[view.ctx(event).loops[-1]]
    if loop.kind == "comprehension":
        return
    for callee, args, kwargs, line, *_ in view.facts.calls.get(dotted, ()):
        if not event.span.line <= line <= loop.end_line or callee is None:
            continue
        if view.kind(callee).kind != "module":
            continue
        passed = [*args, *(v for _, v in kwargs)]
        if any(_is_read(view, value, event) for value in passed):
            yield Hit(
                Span(line, 0, line, 1),
                f"{view.text(callee)} is called with a number read from the device in line "
                f"{event.span.line}: every new value makes a new graph; pass the tensor",
                confidence,
                group="host-read/number-into-the-model",
                verdict=Verdict.RECOMPILES,
            )


def _is_read(view: ModuleView, value: object, event: Event) -> bool:
    if not isinstance(value, tuple) or not value:
        return False
    if value[0] == "v":
        value = view.facts.definitions[value[1]].value
    return bool(
        value is not None
        and value[0] == "call"
        and value[1] == ("attr", event.value, event.name)
        and value[4] == event.span.line
    )
