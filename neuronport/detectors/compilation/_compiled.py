"""Which functions of a module are compiled, shared by the rules of this area."""

from __future__ import annotations

from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

_COMPILE = "torch.compile"


def is_compile(value: Value, view: ModuleView) -> bool:
    """``torch.compile`` or ``torch.compile(…)``, as a decorator has it."""
    if value is None:
        return False
    func = value[1] if value[0] == "call" else value
    if func is None or func[0] != "ref":
        return False
    if func[1] in ("functools.partial",) and value[0] == "call" and value[2]:
        return is_compile(value[2][0], view)
    return view.index.canonical(func[1], view.summary) == _COMPILE


def compiled_at(event: Event, view: ModuleView) -> int:
    """The line where the code around an event is given to torch.compile; 0: it is not."""
    for guard in view.guards(event):
        if guard.kind == "decorator" and is_compile(guard.test, view):
            return guard.line
    passed = _passed(view)
    if not passed:
        return 0
    scope = view.ctx(event).scope
    while scope >= 0:
        here = view.facts.scopes[scope]
        if here.kind == "function":
            line = passed.get(f"{view.facts.module}.{here.qualname}")
            if line:
                return line
        scope = here.parent
        if here.kind == "module":
            break
    return 0


def _passed(view: ModuleView) -> dict[str, int]:
    """Functions of the module given to torch.compile in it, by dotted name."""
    return view.once("compiled", lambda: _find_passed(view))


def _find_passed(view: ModuleView) -> dict[str, int]:
    found: dict[str, int] = {}
    for event in view.facts.events:
        if event.kind != "use" or event.role != "call" or not event.args:
            continue
        if not event.name.endswith("compile"):
            continue
        if view.index.canonical(event.name, view.summary) != _COMPILE:
            continue
        for name in _functions(event.args[0], view):
            found.setdefault(name, event.span.line)
    return found


def _functions(value: Value, view: ModuleView) -> list[str]:
    names = []
    for atom in view.follow(value):
        inner = atom.value
        if inner is None:
            continue
        if inner[0] == "ref":
            names.append(str(inner[1]))
        elif inner[0] == "call" and inner[1] is not None and inner[1][0] == "ref":
            cls = view.index.canonical(inner[1][1], atom.module)
            if view.index.class_(cls) is not None:
                names.append(f"{cls}.forward")
        elif inner[0] == "attr" and inner[1] is not None and inner[1][0] == "self":
            names.append(f"{inner[1][1]}.{inner[2]}")
    return names
