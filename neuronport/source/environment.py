"""Environment variables that a program reads or sets: ``os.environ["CUDA_VISIBLE_DEVICES"] = "0"``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from neuronport.readers.python.facts import Event, Value
from neuronport.source.processes import manner, processes

if TYPE_CHECKING:
    from neuronport.source.view import ModuleView

_NAME = re.compile(r"^[A-Z][A-Z0-9_]*$")
_ENV = re.compile(r"(?i)env")
_ASSIGNED = re.compile(r"(?:(?<=\s)|^)['\"]?([A-Z][A-Z0-9_]*)=")
_METHODS = {
    "get": "read",
    "getenv": "read",
    "pop": "remove",
    "delenv": "remove",
    "setdefault": "set",
    "setenv": "set",
    "__getitem__": "required",
    "__setitem__": "set",
}
_ONLY_ENVIRONMENT = frozenset(("getenv", "setenv", "delenv"))
_NAMING = frozenset(("name", "key", "env", "var", "variable", "env_var", "envvar"))
"""Keys of dicts and arguments whose value is the name of a variable."""
_GATHERING = frozenset(("append", "extend", "insert", "add", "write", "writelines", "join"))
"""Methods that put a text together with others, as commands are."""
_ITEM = {"load": "required", "store": "set", "del": "remove"}


class Variable(NamedTuple):
    """A use of an environment variable."""

    name: str
    access: str
    """``read``, ``required`` (fails where it is not set), ``set``, ``remove`` or ``named``."""
    sure: bool
    """The place is an environment; else only the name says so."""
    value: tuple[tuple[str, Value], ...] = ()
    """``(("value", what it is set to),)``, or empty: not known."""


def variables(
    event: Event, view: ModuleView, known: Callable[[str], Sequence[object]]
) -> Iterator[Variable]:
    """The environment variables an event is about; ``known`` tells those that any rule is about."""
    if event.kind == "item":
        yield from _item(event, view, known)
    elif event.kind == "str":
        yield from _text(event, view, known)
    elif event.kind == "pair" and _NAME.match(event.name) and known(event.name):
        sure = event.role[0] == "keyword" and _sets(event.role, view)
        yield Variable(event.name, "set", sure, (("value", event.value),))


def _item(
    event: Event, view: ModuleView, known: Callable[[str], Sequence[object]]
) -> Iterator[Variable]:
    index = event.args[0] if event.args else None
    if index is None or index[0] != "const" or not isinstance(index[1], str):
        return
    name = index[1]
    if not _NAME.match(name) or not known(name):
        return
    access = _ITEM[event.name]
    if access == "required" and _is_provided(name, event, view):
        access = "read"
    value: tuple[tuple[str, Value], ...] = ()
    if access == "set" and event.args is not None and len(event.args) > 1:
        value = (("value", event.args[1]),)
    yield Variable(name, access, is_environment(event.value, view), value)


def _is_provided(name: str, event: Event, view: ModuleView) -> bool:
    """Whether the module sees to it that the variable is set, or to its absence."""
    if not {"*", "KeyError", "LookupError"}.isdisjoint(view.ctx(event).tries):
        return True
    wanted = ("const", name)
    if any(_mentions(guard.test, wanted, 0) for guard in view.guards(event)):
        return True
    for other in view.facts.events:
        if (
            other.kind == "item"
            and other.name == "store"
            and other.args
            and other.args[0] == wanted
        ):
            return True
        if other.kind != "str" or other.name != name or other.role[0] != "arg":
            continue
        if processes()["environment"].get(view.name(other.role[1])) == "set":
            return True
    return False


def _mentions(value: Any, wanted: Value, depth: int) -> bool:
    if value == wanted:
        return True
    if not isinstance(value, tuple) or depth > 6:
        return False
    return any(_mentions(part, wanted, depth + 1) for part in value)


def _sets(role: Any, view: ModuleView) -> bool:
    """Whether a call with ``NAME=value`` is about an environment."""
    _, func, args = role
    if func is not None and func[0] == "attr":
        if _ENV.search(str(func[2])) or is_environment(func[1], view):
            return True
    elif _ENV.search(view.name(func)):
        return True
    return any(is_environment(argument, view) for argument in args)


def _text(
    event: Event, view: ModuleView, known: Callable[[str], Sequence[object]]
) -> Iterator[Variable]:
    role, elem = event.role, False
    while role[0] in ("elem", "branch"):
        elem = elem or role[0] == "elem"
        role = role[1]
    if _NAME.match(event.name):
        if known(event.name):
            found = _named(role, elem, view)
            if found is not None:
                access, sure = found
                yield Variable(event.name, access, sure)
        return
    if "=" not in event.name:
        return
    found_manner = manner(role, view)
    gathered = elem or (role[0] == "method" and role[2] in _GATHERING)
    if found_manner is None and not gathered:
        return
    if not (elem and event.name.count("=") == 1) and not _leads(event.name):
        return
    seen = set()
    for match in _ASSIGNED.finditer(event.name):
        name = match[1]
        if name not in seen and known(name):
            seen.add(name)
            sure = found_manner is not None and found_manner[0] == "certain"
            yield Variable(name, "set", sure)


def _leads(text: str) -> bool:
    """Whether a text begins with ``NAME=``, or exports one: a command line, not a sentence."""
    head = text.lstrip("'\" \n")
    return (
        _ASSIGNED.match(head) is not None
        or re.search(r"(?:^|[\s;&])(?:export|env|-e|--env)\s+['\"]?[A-Z]", text) is not None
        or re.search(r"(?:&&|;|\bcd\s.*)\s*[A-Z][A-Z0-9_]*=", text) is not None
    )


def _named(role: Any, elem: bool, view: ModuleView) -> tuple[str, bool] | None:
    tag = role[0]
    if tag == "arg":
        name = view.name(role[1])
        access = processes()["environment"].get(name)
        if access is not None:
            # ``os.environ.get(other, "CUDA_HOME")`` names no variable.
            return (access, True) if role[2] in (0, "key", "varname") else None
        last = name.rpartition(".")[2] or (role[1][2] if _is_attr(role[1]) else "")
        if _ENV.search(last) or (isinstance(role[2], str) and _ENV.search(role[2])):
            return "read", True
        return ("named", False) if elem and _is_collection(name) else None
    if tag == "method":
        _, receiver, name, position = role
        access = _METHODS.get(name)
        if access is not None and position == 0:
            return access, name in _ONLY_ENVIRONMENT or is_environment(receiver, view)
        if _ENV.search(name) or (isinstance(position, str) and _ENV.search(position)):
            return "read", True
        return ("named", False) if elem and name in ("extend", "update") else None
    if tag == "compare":
        if role[1] in ("in", "not in"):
            return "read", is_environment(role[2], view)
        return None
    if tag == "key":
        return "set", False
    if tag == "value":
        return ("named", False) if elem or role[1] in _NAMING else None
    if tag in ("assign", "field", "attr", "default"):
        return "named", False
    return ("named", False) if elem else None


def _is_attr(value: Value) -> bool:
    return value is not None and value[0] == "attr"


def _is_collection(name: str) -> bool:
    return name in (
        "builtins.set",
        "builtins.frozenset",
        "builtins.tuple",
        "builtins.list",
        "builtins.any",
        "builtins.all",
        "builtins.dict",
    )


def is_environment(value: Value, view: ModuleView) -> bool:
    """Whether a value is the environment, a copy of it, or something that is called so."""
    if value is None:
        return False
    if _called_environment(value, view):
        return True
    return any(_called_environment(atom.value, view) for atom in view.follow(value))


def _called_environment(value: Value, view: ModuleView) -> bool:
    if value is None:
        return False
    tag = value[0]
    if tag == "ref":
        return bool(_ENV.search(value[1].rpartition(".")[2]))
    if tag == "v":
        return bool(_ENV.search(view.facts.definitions[value[1]].name))
    if tag in ("attr", "param"):
        return bool(_ENV.search(str(value[2])))
    if tag == "call":
        func = value[1]
        if func is not None and func[0] in ("ref", "attr"):
            text = func[1] if func[0] == "ref" else str(func[2])
            if _ENV.search(text):
                return True
        return any(_called_environment(argument, view) for argument in value[2][:1])
    if tag == "bin" and value[1] == "|":
        return _called_environment(value[2], view)
    if tag == "dict":
        return any(key is None and _called_environment(item, view) for key, item in value[1])
    return False
