"""What a symbolic value can be: followed through variables, branches, calls and attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from neuronport.findings import Related
from neuronport.readers.python.facts import OPTIONS, PARSE, SET_OPTIONS, Function, Value
from neuronport.source.index import Call, TreeIndex
from neuronport.source.summary import Summary

_MAX_DEPTH = 14
_MAX_ATOMS = 24
_MAX_NESTED = 12
_MAX_STEPS = 400
"""Branches multiply: what is not found within so many steps counts as not known."""
MAX_CALLERS = 12
_MAX_CALLER_DEPTH = 6
_MAX_PARSERS = 8
_DEFAULT = "default of parameter"
_PASSED = "passed as"


def is_part(part: Value, value: Any, levels: int) -> bool:
    """Whether a value is another, or is within it, so many levels deep at most."""
    if not isinstance(value, tuple) or not value:
        return False
    return value == part or (
        levels > 0 and any(is_part(part, inner, levels - 1) for inner in value)
    )


class Atom(NamedTuple):
    """One thing a value can be, where following ends: a constant, a name, a call …"""

    module: Summary
    value: Value
    chain: tuple[Related, ...] = ()
    """How it came here, nearest step first."""

    @property
    def chosen(self) -> bool:
        """Whether it is what a parameter was given or has by default: others may choose anew."""
        return any(step.says.startswith((_DEFAULT, _PASSED)) for step in self.chain)


_atom: Callable[[tuple[Summary, Value, tuple[Related, ...]]], Atom] = partial(tuple.__new__, Atom)
_step: Callable[[tuple[str, int, str]], Related] = partial(tuple.__new__, Related)
"""Made without a step of Python each: there are millions."""


STATIC = ("ref", "builtins.staticmethod")
"""The decorator of a method that is not given the object."""


class Resolver:
    """Follows values over the files of a tree."""

    def __init__(self, index: TreeIndex) -> None:
        self.index = index
        self._memo: dict[tuple[str, Value], tuple[Atom, ...]] = {}
        self._steps = 0
        self._nested = 0

    def follow(self, module: Summary, value: Value) -> tuple[Atom, ...]:
        """Everything ``value`` can be; an empty tuple or an atom of ``None``: not known."""
        if value is None or value[0] == "const":
            # Not remembered: False and 0 are equal, and the one would be taken for the other.
            return (_atom((module, value, ())),)
        # Hashed as seldom as can be: the hash of a value is that of all that is in it.
        key = (module.module, value)
        before = len(self._memo)
        known = self._memo.setdefault(key, ())  # a cycle ends here
        if len(self._memo) != before:
            outer, self._steps = self._steps, 0
            atoms = self._atoms(module, value, (), 0, set())
            self._steps = outer
            if len(atoms) > 1:
                atoms = _different(atoms)
            known = self._memo[key] = tuple(atoms)
        return known

    def _within(self, module: Summary, value: Value, seen: Any) -> tuple[Atom, ...]:
        """``follow`` from inside of following something else."""
        if (module.module, value) in seen or self._nested >= _MAX_NESTED:
            return (_atom((module, None, ())),)
        self._nested += 1
        try:
            return self.follow(module, value)
        finally:
            self._nested -= 1

    def constants(self, module: Summary, value: Value) -> list[tuple[Any, tuple[Related, ...]]]:
        """The literals among what ``value`` can be, with how they came here."""
        return [
            (atom.value[1], atom.chain)
            for atom in self.follow(module, value)
            if atom.value is not None and atom.value[0] == "const"
        ]

    def constant(self, module: Summary, value: Value) -> tuple[bool, Any]:
        """``(True, literal)`` when ``value`` can only be that one literal."""
        atoms = self.follow(module, value)
        if len(atoms) == 1 and atoms[0].value is not None and atoms[0].value[0] == "const":
            return True, atoms[0].value[1]
        return False, None

    def refs(self, module: Summary, value: Value) -> list[str]:
        """The dotted names among what ``value`` can be."""
        return [
            str(atom.value[1])
            for atom in self.follow(module, value)
            if atom.value is not None and atom.value[0] == "ref"
        ]

    # ---- following ------------------------------------------------------------------------------

    def _atoms(
        self,
        module: Summary,
        value: Value,
        chain: tuple[Related, ...],
        depth: int,
        seen: set[tuple[str, Value]],
    ) -> list[Atom]:
        """``seen``: what is being followed; it is as it was when this returns."""
        if value is None:
            return [_atom((module, None, chain))]
        tag = value[0]
        if tag == "const":
            return [_atom((module, value, chain))]
        self._steps += 1
        if depth > _MAX_DEPTH or self._steps > _MAX_STEPS:
            return [_atom((module, None, chain))]
        follow = _FOLLOW.get(tag)
        if follow is None:
            return [_atom((module, value, chain))]
        key = (module.module, value)
        before = len(seen)
        seen.add(key)
        if len(seen) == before:
            return []
        found: list[Atom] = follow(self, module, value, chain, depth + 1, seen)
        seen.discard(key)
        return found

    def _each(
        self, module: Summary, values: Iterable[Value], chain: Any, depth: int, seen: Any
    ) -> list[Atom]:
        atoms: list[Atom] = []
        for value in values:
            atoms += self._atoms(module, value, chain, depth, seen)
        return atoms

    def _variable(
        self, module: Summary, value: Any, chain: Any, depth: int, seen: Any
    ) -> list[Atom]:
        definition = module.definitions[value[1]]
        step = _step((module.path, definition.line, f"assigned to {definition.name}"))
        if definition.value is None and definition.annotation is not None:
            return [_atom((module, ("annotated", definition.annotation), (*chain, step)))]
        return self._atoms(module, definition.value, (*chain, step), depth, seen)

    def _any(self, module: Summary, value: Any, chain: Any, depth: int, seen: Any) -> list[Atom]:
        return self._each(module, value[1], chain, depth, seen)

    def _if(self, module: Summary, value: Any, chain: Any, depth: int, seen: Any) -> list[Atom]:
        return self._each(module, value[2:4], chain, depth, seen)

    def _bool(self, module: Summary, value: Any, chain: Any, depth: int, seen: Any) -> list[Atom]:
        return self._each(module, value[2], chain, depth, seen)

    def _tried(self, module: Summary, value: Any, chain: Any, depth: int, seen: Any) -> list[Atom]:
        return self._each(module, value[2:4], chain, depth, seen)

    def _await(self, module: Summary, value: Any, chain: Any, depth: int, seen: Any) -> list[Atom]:
        return self._atoms(module, value[1], chain, depth, seen)

    def _ref(self, module: Summary, value: Any, chain: Any, depth: int, seen: Any) -> list[Atom]:
        dotted = self.index.canonical(value[1], module)
        found = self.index.split(dotted)
        if found is not None:
            owner, rest = found
            name, _, tail = rest.partition(".")
            if name and not tail and name in owner.exports:
                inner = owner.exports[name]
                if inner is not None and inner[0] != "ref":
                    step = _step((owner.path, self._line(owner, inner), f"{name} is defined"))
                    return self._atoms(owner, inner, (*chain, step), depth, seen)
            if tail and "." not in tail:
                cls = owner.classes.get(f"{owner.module}.{name}")
                if cls is not None and tail in cls.attributes:
                    atoms: list[Atom] = []
                    for item in cls.attributes[tail]:
                        if item is not None and item[0] == "ref":
                            atoms.append(_atom((owner, item, chain)))
                        else:
                            atoms += self._atoms(owner, item, chain, depth, seen)
                    return atoms
        return [_atom((module, ("ref", dotted), chain))]

    def _star(self, module: Summary, value: Any, chain: Any, depth: int, seen: Any) -> list[Atom]:
        """A name that only a star import can have brought."""
        home = self.index.starred(module, value[1])
        if home:
            return self._atoms(module, ("ref", f"{home}.{value[1]}"), chain, depth, seen)
        return [_atom((module, value, chain))]

    def _line(self, module: Summary, value: Value) -> int:
        if value is not None and value[0] == "v":
            return module.definitions[value[1]].line
        if value is not None and value[0] == "any":
            return self._line(module, value[1][0])
        return 1

    def _attr(self, module: Summary, value: Any, chain: Any, depth: int, seen: Any) -> list[Atom]:
        _, base, name = value
        atoms: list[Atom] = []
        # The base is followed once for all that is read from it.
        for atom in self._within(module, base, seen):
            inner = atom.value
            if inner is None:
                atoms.append(_atom((module, value, chain)))
            elif inner[0] == "ref":
                atoms += self._atoms(atom.module, ("ref", f"{inner[1]}.{name}"), chain, depth, seen)
            elif inner[0] in ("self", "call"):
                cls = inner[1] if inner[0] == "self" else self._class_of(atom.module, inner)
                found = False
                if cls:
                    for summary, cls_name in self.index.mro(cls):
                        values = summary.classes[cls_name].attributes.get(name)
                        if values is None:
                            continue
                        found = True
                        for item in values:
                            line = self._line(summary, item)
                            step = _step((summary.path, line, f"self.{name} is set"))
                            atoms += self._atoms(summary, item, (*chain, step), depth, seen)
                        break
                if not found and inner[0] == "call":
                    # The default, and whatever else the command line says.
                    for summary, item in self._options(atom.module, inner, name, seen):
                        way = (*chain, *atom.chain)
                        atoms += self._atoms(summary, item, way, depth, seen)
                if not found:
                    atoms.append(_atom((atom.module, ("attr", inner, name), chain)))
            elif (
                inner[0] in ("unpack", "item")
                and (inner[2] == 0 or inner[2] == ("const", 0))
                and inner[1] is not None
                and inner[1][0] == "call"
            ):
                # args, rest = parser.parse_known_args()
                for summary, item in self._options(atom.module, inner[1], name, seen):
                    way = (*chain, *atom.chain)
                    atoms += self._atoms(summary, item, way, depth, seen)
                atoms.append(_atom((atom.module, ("attr", inner, name), chain)))
            elif inner[0] == "const" and inner[1] is None:
                continue
            else:
                atoms.append(_atom((atom.module, ("attr", inner, name), chain)))
        return atoms

    def _options(
        self, module: Summary, parsed: Any, name: str, seen: Any
    ) -> list[tuple[Summary, Value]]:
        """The defaults of an option, when ``parsed`` is what a parser made of the command line."""
        func = parsed[1]
        if func is None or func[0] != "attr" or func[2] not in PARSE:
            return []
        found: list[tuple[Summary, Value]] = []
        pending = [(module, func[1])]
        for _ in range(_MAX_PARSERS):
            if not pending:
                break
            owner, parser = pending.pop(0)
            for atom in self._within(owner, parser, seen):
                options = atom.module.classes.get(f"{atom.module.module}.{OPTIONS}")
                if options is not None:
                    found += [(atom.module, v) for v in options.attributes.get(name, ())]
                if atom.value is not None and atom.value[0] == "call":
                    for key, value in atom.value[3]:
                        if key == "parents" and value is not None and value[0] == "list":
                            pending += [(atom.module, item) for item in value[1]]
        return found

    def stored(self, module: Summary, value: Value) -> tuple[Summary, tuple[Value, ...]] | None:
        """What the program itself stores in parsed options, where a value is read from them:
        ``args.cuda``; None: it does not, as far as is known."""
        if value is None or value[0] != "attr" or value[1] is None:
            return None
        if value[1][0] not in ("v", "param", "any"):
            return None
        found: tuple[Summary, tuple[Value, ...]] | None = None
        for atom in self.follow(module, value[1]):
            inner = atom.value
            if inner is None or inner[0] != "call" or inner[1] is None or inner[1][0] != "attr":
                return None
            options = atom.module.classes.get(f"{atom.module.module}.{SET_OPTIONS}")
            values = options.attributes.get(value[2]) if options is not None else None
            if inner[1][2] not in PARSE or not values or found is not None:
                return None
            found = atom.module, tuple(values)
        return found

    def attribute(self, value: Value) -> list[tuple[Summary, Value]]:
        """Everything the class, or the nearest base that does, assigns to an attribute of ``self``."""
        if value is None or value[0] != "attr" or value[1] is None or value[1][0] != "self":
            return []
        for summary, name in self.index.mro(value[1][1]):
            values = summary.classes[name].attributes.get(value[2])
            if values is not None:
                return [(summary, v) for v in values]
        return []

    def _class_of(self, module: Summary, call: Any) -> str:
        """The class of the tree that a call makes an instance of, or ''."""
        func = call[1]
        if func is not None and func[0] == "ref":
            dotted = self.index.canonical(func[1], module)
            if self.index.class_(dotted) is not None:
                return dotted
        return ""

    def _self(self, module: Summary, value: Any, chain: Any, depth: int, seen: Any) -> list[Atom]:
        return [_atom((module, value, chain))]

    def _call(self, module: Summary, value: Any, chain: Any, depth: int, seen: Any) -> list[Atom]:
        func = value[1]
        if func is None:
            return [_atom((module, value, chain))]
        target = self.callee(module, func)
        if target is not None:
            summary, function = target
            returned = False
            atoms: list[Atom] = []
            if not function.yields:
                step = _step((summary.path, function.line, "returned by a function of the tree"))
                for item in function.returns:
                    if item is not None and item == ("const", None):
                        continue
                    returned = True
                    if item is not None and item[0] == "param":
                        # What this call passes, not what every call of a helper does.
                        passed = self._argument(function, item, value)
                        if passed is not None:
                            atoms += self._atoms(module, passed, chain, depth, seen)
                            continue
                    for atom in self._atoms(summary, item, (*chain, step), depth, seen):
                        if atom.value is not None and atom.value[0] == "param":
                            bound = self._argument(function, atom.value, value)
                            if bound is not None:
                                atoms += self._atoms(module, bound, chain, depth, seen)
                                continue
                        atoms.append(atom)
            if returned:
                return atoms
        if func[0] == "ref":
            value = ("call", ("ref", self.index.canonical(func[1], module)), *value[2:])
        return [_atom((module, value, chain))]

    def callee(self, module: Summary, func: Value) -> tuple[Summary, Function] | None:
        """The function of the tree that is called, through ``self`` and re-exports."""
        if func is None:
            return None
        if func[0] == "ref":
            return self.index.function(self.index.canonical(func[1], module))
        if func[0] == "attr":
            base = func[1]
            if base is not None and base[0] == "self":
                return self.index.function(f"{base[1]}.{func[2]}")
        return None

    def _argument(self, function: Function, param: Any, call: Any) -> Value:
        """What a call passes for a parameter of the callee."""
        return self._given(call[2], call[3], param[2], self.position(function, param[2]))

    @staticmethod
    def positional(function: Function) -> list[str]:
        """The parameters that a call may pass without naming them, without the object."""
        names = [p[0] for p in function.params if p[3] == "pos"]
        return names[1:] if function.owner and STATIC not in function.decorators else names

    def position(self, function: Function, name: str) -> int:
        """Where among these a parameter is; -1: nowhere."""
        names = self.positional(function)
        return names.index(name) if name in names else -1

    @staticmethod
    def _given(
        args: tuple[Value, ...],
        kwargs: tuple[tuple[str | None, Value], ...],
        name: str,
        position: int,
    ) -> Value:
        for key, value in kwargs:
            if key == name:
                return value
        return args[position] if 0 <= position < len(args) else None

    def _param(self, module: Summary, value: Any, chain: Any, depth: int, seen: Any) -> list[Atom]:
        function = module.functions.get(value[1])
        written = False
        found: list[Atom] = []
        if function is not None:
            for name, default, _annotation, _kind in function.params:
                if name == value[2] and default is not None and default != ("const", None):
                    step = _step((module.path, function.line, f"{_DEFAULT} {name}"))
                    found += self._atoms(module, default, (*chain, step), depth, seen)
                    written = True
            if depth <= _MAX_CALLER_DEPTH:
                found += self._passed(function, value, chain, seen)
        return found if found or written else [_atom((module, value, chain))]

    def _passed(self, function: Function, value: Any, chain: Any, seen: Any) -> list[Atom]:
        """What the callers in the tree pass for a parameter."""
        atoms: list[Atom] = []
        for call, passed in self.passed(function, value):
            caller = self.index.module(call.module) if passed is not None else None
            if caller is not None:
                step = _step(
                    (caller.path, call.line, f"{_PASSED} {value[2]} by {_plain(call.caller)}")
                )
                for atom in self._within(caller, passed, seen):
                    atoms.append(_atom((atom.module, atom.value, (*chain, step, *atom.chain))))
        return atoms

    def passed(self, function: Function, value: Any) -> Iterator[tuple[Call, Value]]:
        """What each call in the tree passes for a parameter, in the words of the module that calls;
        None: nothing that could be told."""
        names = [value[1]]
        if function.owner and value[1].endswith(".__init__"):
            names.append(function.owner)
        position = self.position(function, value[2])
        for name in names:
            for call in self.index.callers(name, MAX_CALLERS):
                yield call, self._given(call.args, call.kwargs, value[2], position)

    def _item(self, module: Summary, value: Any, chain: Any, depth: int, seen: Any) -> list[Atom]:
        _, base, index = value
        if index is not None and index[0] == "const":
            for atom in self._atoms(module, base, chain, depth, seen):
                inner = atom.value
                if inner is None:
                    continue
                if inner[0] == "dict":
                    for key, item in inner[1]:
                        if key == index:
                            return self._atoms(atom.module, item, atom.chain, depth, seen)
                if inner[0] in ("list", "tuple") and isinstance(index[1], int):
                    items = inner[1]
                    if -len(items) <= index[1] < len(items):
                        return self._atoms(atom.module, items[index[1]], atom.chain, depth, seen)
        elif index is None or index[0] not in ("slice", "tuple"):
            # Which item is not known: any of them.
            for atom in self._atoms(module, base, chain, depth, seen):
                inner = atom.value
                if inner is not None and inner[0] == "dict" and inner[1]:
                    items = [item for _, item in inner[1]]
                    return self._each(atom.module, items, atom.chain, depth, seen)
        return [_atom((module, value, chain))]

    def _elem(self, module: Summary, value: Any, chain: Any, depth: int, seen: Any) -> list[Atom]:
        for atom in self._atoms(module, value[1], chain, depth, seen):
            inner = atom.value
            if inner is not None and inner[0] in ("list", "tuple", "set"):
                return self._each(atom.module, inner[1], atom.chain, depth, seen)
        return [_atom((module, value, chain))]

    def _unpack(self, module: Summary, value: Any, chain: Any, depth: int, seen: Any) -> list[Atom]:
        for atom in self._atoms(module, value[1], chain, depth, seen):
            inner = atom.value
            if inner is not None and inner[0] in ("list", "tuple") and value[2] < len(inner[1]):
                return self._atoms(atom.module, inner[1][value[2]], atom.chain, depth, seen)
        return [_atom((module, value, chain))]


def _different(atoms: list[Atom]) -> list[Atom]:
    kept: list[Atom] = []
    for atom in atoms:
        if atom not in kept:
            kept.append(atom)
            if len(kept) >= _MAX_ATOMS:
                break
    return kept


def _plain(dotted: str) -> str:
    return dotted.lstrip("@").rpartition(".")[2]


_FOLLOW: dict[str, Any] = {
    "v": Resolver._variable,
    "any": Resolver._any,
    "if": Resolver._if,
    "bool": Resolver._bool,
    "tried": Resolver._tried,
    "await": Resolver._await,
    "ref": Resolver._ref,
    "star": Resolver._star,
    "attr": Resolver._attr,
    "self": Resolver._self,
    "call": Resolver._call,
    "param": Resolver._param,
    "item": Resolver._item,
    "elem": Resolver._elem,
    "unpack": Resolver._unpack,
}
