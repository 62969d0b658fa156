"""What becomes of what a call gives, within its function: it decides a branch, a size, is only counted,
goes to the host at once, is asserted, shown or saved. Asked of places where something is said."""

from __future__ import annotations

from typing import Any

from neuronport.detectors._tensors import call_value
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

BRANCH, ASSERT, SIZE, LOOP, RETURNED, SAVED = "branch", "assert", "size", "loop", "return", "saved"
TO_HOST = frozenset((".cpu()", ".numpy()", ".tolist()"))
_READ = TO_HOST | {".item()"}
_MAX_DEPTH = 8
_SHAPES = frozenset(
    ["detach", "flatten", "float", "int", "long", "reshape", "squeeze", "t", "unsqueeze", "view"]
)
"""Methods that give the same elements."""
_SIZED = frozenset(
    [
        "arange",
        "empty",
        "eye",
        "full",
        "linspace",
        "ones",
        "rand",
        "randint",
        "randn",
        "randperm",
        "range",
        "zeros",
    ]
)
_SIZING = frozenset(
    [
        "expand",
        "narrow",
        "new_empty",
        "new_full",
        "new_ones",
        "new_zeros",
        "repeat",
        "repeat_interleave",
        "reshape",
        "resize",
        "resize_",
        "split",
        "topk",
        "view",
    ]
)
"""Methods whose arguments are sizes."""
_SAVING = frozenset(
    [
        "array_to_img",
        "clip_to_video",
        "fromarray",
        "imsave",
        "imshow",
        "imwrite",
        "save",
        "save_image",
        "savez",
        "to_pil_image",
        "write",
        "write_png",
        "write_video",
        "writerow",
    ]
)
_PLAIN = frozenset(["const", "ref", "param", "self", "fstr", "lambda"])
_HANDED_ON = frozenset(["any", "attr", "call", "dict", "if", "item", "list", "tuple", "v"])
_STATIC = frozenset(["device", "dtype", "ndim", "shape"])
"""Attributes that the host knows whatever the values are."""
_OF_COMPLEX = ("real", "imag")
_ASKING = frozenset(
    [
        "data_ptr",
        "dim",
        "element_size",
        "get_device",
        "is_contiguous",
        "ndimension",
        "nelement",
        "numel",
        "size",
        "stride",
    ]
)
"""Methods likewise."""
_DECIDING = frozenset(("if", "while", "ifexp", "not", "bool"))


class _Uses:
    """Of the results in one function: there may be hundreds in the module."""

    def __init__(self, view: ModuleView, scope: int) -> None:
        # Not the view, which keeps this: what knows each other outlives the file.
        self._definitions = view.summary.definitions
        events = view.once("events by function", lambda: _by_function(view)).get(scope, [])
        self._found: dict[tuple[Any, int], list[tuple[Value, set[str]]]] = {}
        self._seen: set[tuple[int, str]] = set()
        self._walked: dict[tuple[int, str], Any] = {}
        """Values by ``id``, and what was asked of them, with how deep in another that was."""
        raises = {g.line for g in view.facts.guards if g.kind == "raise"}
        asserted = [e.at for e in events if e.kind == "test" and e.name == "assert"]
        assigned = view.once("assigned by function", lambda: _assigned(view))
        for value in assigned.get(scope, ()):
            self._walk(value, "", 0)
        for event in events:
            kind = event.kind
            if kind == "test" and event.name in _DECIDING:
                checks = event.at[0] in raises or any(
                    a[:2] <= event.at[:2] and event.at[2:] <= a[2:] for a in asserted
                )
                self._walk(event.value, ASSERT if checks else BRANCH, 0)
            elif kind == "test":
                self._walk(event.value, ASSERT, 0)
            elif kind == "loop":
                self._walk(event.value, LOOP, 0)
            elif kind == "item":
                self._walk(("item", event.value, (event.args or (None,))[0]), "", 0)
            elif kind in ("use", "method") and event.args is not None:
                self._walk(call_value(event), "", 0)
            elif kind == "attr":
                self._walk(("attr", event.value, event.name), "", 0)
        scopes = view.facts.scopes
        name, line = scopes[scope].qualname, scopes[scope].line
        function = view.summary.functions.get(f"{view.facts.module}.{name}")
        if function is not None and function.line != line:
            # One of several of a name.
            found = (f for f in view.summary.functions.values() if f.line == line)
            function = next(found, None)
        for value in function.returns if function is not None else ():
            self._walk(value, RETURNED, 0)
        self._walked.clear()

    def _walk(self, value: Value, role: str, depth: int) -> None:
        if not isinstance(value, tuple) or not value or depth > _MAX_DEPTH:
            return
        tag = value[0]
        if tag in _PLAIN:
            return
        key = (id(value), role)
        if self._walked.get(key, (depth + 1,))[0] <= depth:
            return
        # With the value: its ``id`` must not become another's.
        self._walked[key] = (depth, value)
        if role == RETURNED and tag not in _HANDED_ON:
            role = ""  # made of it, not it
        if tag == "v":
            if role and (value[1], role) not in self._seen:
                self._seen.add((value[1], role))
                self._walk(self._definitions[value[1]].value, role, depth + 1)
        elif tag == "call":
            self._call(value, role, depth + 1)
        elif tag == "attr":
            if value[2] in _STATIC:
                self._note(value[1], "." + value[2])
                self._walk(value[1], "", depth + 1)
            else:
                if value[2] in _OF_COMPLEX:
                    self._note(value[1], "." + value[2])
                self._walk(value[1], role, depth + 1)
        elif tag == "item":
            self._note(value[1], "[]")
            if self._is_size(value[1]):
                self._walk(value[1], role, depth + 1)
                return
            self._walk(value[1], role, depth + 1)
            self._index(value[2], depth + 1)
        elif tag in ("cmp", "bin"):
            sides = (value[1], value[3]) if tag == "cmp" else value[2:]
            # Whether it is there at all is asked of no data.
            inner = "" if tag == "cmp" and value[2] in ("is", "is not") else role
            for side in sides:
                self._note(side, tag)
                self._walk(side, inner, depth + 1)
        elif tag in ("bool", "any", "list", "tuple", "set"):
            for item in value[-1]:
                self._walk(item, role, depth + 1)
        elif tag == "dict":
            for _, item in value[1]:
                self._walk(item, role, depth + 1)
        elif tag in ("not", "neg", "unpack", "elem", "starred", "await", "with"):
            self._walk(value[1], role, depth + 1)
        elif tag == "comp":
            self._walk(value[2], "", depth + 1)
            self._walk(value[3], LOOP, depth + 1)
        elif tag == "if":
            for item in value[2:]:
                self._walk(item, role, depth + 1)

    @staticmethod
    def _is_size(value: Value) -> bool:
        return value is not None and value[0] == "attr" and value[2] == "shape"

    def _index(self, index: Value, depth: int) -> None:
        for part in index[1] if index is not None and index[0] == "tuple" else (index,):
            if part is not None and part[0] == "slice":
                for bound in part[1:]:
                    self._walk(bound, SIZE, depth)
            else:
                self._note(part, "index")
                self._walk(part, "", depth)

    def _call(self, value: tuple[Any, ...], role: str, depth: int) -> None:
        func, args = value[1], value[2]
        if role:
            self._of(value).add(role)
        name = ""
        if func is not None and func[0] == "attr":
            name = func[2]
            self._note(func[1], f".{name}()")
            self._walk(func[1], "" if name in _ASKING else role, depth)
        elif func is not None and func[0] == "ref":
            name = func[1].rpartition(".")[2]
            if name == "len" and args:
                self._note(args[0], "len")
        # What class a value is of is asked of no data.
        inner = "" if role == RETURNED or name == "isinstance" else role
        if name in _SIZING or (name in _SIZED and func is not None and func[0] == "ref"):
            inner = SIZE
        elif name in _SAVING:
            inner = SAVED
        for item in args:
            if name != "len":
                self._note(item, "argument")
            self._walk(item, inner, depth)
        for _, item in value[3]:
            self._walk(item, "" if inner == SIZE else inner, depth)

    def _note(self, value: Value, how: str) -> None:
        """Of what is done with a value at once, also where it has a name first. What is read on the
        host is so through other shapes and parts of it as well."""
        read = how in _READ
        for _ in range(_MAX_DEPTH if read else 1):
            if value is not None and value[0] == "v":
                value = self._definitions[value[1]].value
            if value is None:
                return
            if value[0] == "call":
                self._of(value).add(how)
                func = value[1]
                if func is None or func[0] != "attr" or func[2] not in _SHAPES:
                    return
                value = func[1]
            elif value[0] in ("item", "unpack"):
                value = value[1]
            else:
                return

    def _of(self, call: Any) -> set[str]:
        """What is known of a call. By its last name and its line, as a hash of all of it costs more."""
        func = call[1]
        name = func[-1] if func is not None and func[0] in ("attr", "ref") else ""
        bucket = self._found.setdefault((name, call[4]), [])
        for known, found in bucket:
            if known is call or known == call:
                return found
        bucket.append((call, set()))
        return bucket[-1][1]

    def of(self, call: Value) -> frozenset[str]:
        return frozenset(self._of(call))


def uses(event: Event, view: ModuleView) -> frozenset[str]:
    """What becomes of the result of the call at an event: the words above, ``.method()`` and
    ``.attribute`` of what is asked of it, ``len``."""
    scope = _function(view, view.ctx(event).scope)
    return view.once(f"uses of results {scope}", lambda: _Uses(view, scope)).of(call_value(event))


def _function(view: ModuleView, scope: int) -> int:
    """The function around a scope, or the class or module."""
    scopes = view.facts.scopes
    while scopes[scope].kind == "lambda":
        scope = scopes[scope].parent
    return scope


def _assigned(view: ModuleView) -> dict[int, list[Value]]:
    found: dict[int, list[Value]] = {}
    for definition in view.summary.definitions:
        found.setdefault(_function(view, definition.scope), []).append(definition.value)
    return found


def _by_function(view: ModuleView) -> dict[int, list[Event]]:
    functions = [_function(view, context.scope) for context in view.facts.contexts]
    found: dict[int, list[Event]] = {scope: [] for scope in functions}
    for event in view.facts.events:
        found[functions[event.ctx]].append(event)
    return found
