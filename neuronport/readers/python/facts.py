"""The form of what is read from one Python file. Plain tuples, so that facts marshal quickly.

Values (``Value``) are symbolic; ``None`` is "not known". The first item is the tag:

=========================================  ====================================================
``("const", literal)``                     string, number, ``True``, ``None`` …
``("ref", "torch.cuda.Event")``            a dotted name, through imports or definitions; what the
                                           tree itself defines begins with ``@``, see
                                           :func:`module_id`
``("star", name)``                         a name that only a star import can have brought
``("v", i)``                               the variable of ``defs[i]`` (see below)
``("any", (a, b, …))``                     one of several, after branches
``("if", test, a, b)``                     conditional expression
``("call", func, args, kwargs, line)``     ``kwargs``: ``((name | None, value), …)``
``("attr", base, name)``                   attribute of something that is not a dotted name
``("item", base, index)``                  subscript
``("elem", iterable)``                     element in a loop or comprehension
``("unpack", value, i)``                   i-th of an unpacking
``("with", value)``                        what ``with value as name`` binds
``("param", function, name)``              parameter; ``function`` is the dotted name
``("self", class)``                        ``self`` inside a method of the class
``("fstr", parts)``                        f-string
``("bool", "and" | "or", values)``         boolean operation
``("not", v)`` ``("neg", v)``              unary
``("cmp", left, op, right)``               one comparison, ``op`` such as ``==`` ``in`` ``is not``
``("bin", op, left, right)``               arithmetic
``("list" | "tuple" | "set", items)``      displays (the first 64 items)
``("dict", ((key, value), …))``            likewise
``("slice", lower, upper, step)``          in a subscript
``("starred", v)``                         ``*v`` in a call or display
``("lambda", v)``                          a lambda and what it returns
``("comp", kind, v, iterable)``            comprehension
``("await", v)``                           awaited or yielded
``("tried", imports, a, b)``               ``a`` if the imports of a ``try`` work, else ``b``
=========================================  ====================================================
"""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

_Row = TypeVar("_Row", bound="tuple[Any, ...]")
Value: TypeAlias = tuple[Any, ...] | None

FACTS_FORM = 34
"""Raised whenever the form or the meaning of facts changes: part of every cache key."""


@dataclass(frozen=True)
class Interest:
    """What the rules could ever match, so that reading drops nothing they need (derived from the
    rules, never written by hand)."""

    roots: frozenset[str]
    """First parts of dotted names: ``torch``, ``apex`` …"""
    methods: frozenset[str]
    """Names of methods and attributes on values: ``cuda``, ``is_cuda`` …"""
    keywords: frozenset[str]
    """Keyword arguments of any call: ``pin_memory`` …"""
    strings: tuple[str, ...]
    """Regular expressions: every string of interest matches one (``re.search``)."""
    names: frozenset[str] = frozenset()
    """Names of parameters, flags and variables of interest: ``use_cuda`` …"""
    operands: frozenset[str] = frozenset()
    """Methods whose results matter as operands of arithmetic: ``item`` …"""

    modules: str = "(?!)"
    """A regular expression: dotted names of other packages that matter all the same."""

    def digest(self) -> str:
        parts: Iterable[str] = (
            ",".join(sorted(self.roots)),
            ",".join(sorted(self.methods)),
            ",".join(sorted(self.keywords)),
            "|".join(self.strings),
            ",".join(sorted(self.names)),
            self.modules,
            ",".join(sorted(self.operands)),
        )
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


OPTIONS = "<options>"
"""The command line options that a module declares, as if they were attributes of a class of that
name: their defaults."""

SET_OPTIONS = "<set options>"
"""What a module stores in parsed options itself (``args.cuda = not args.no_cuda and …``), likewise."""

PARSE = frozenset(["parse_args", "parse_known_args", "parse_intermixed_args"])
"""Methods that make options of the command line."""

MODULE_BODY = "<module>"
"""What runs when a module is imported, as if it were a function of that name that is called where
the module is imported, except for types alone."""

SCRIPT = "<script>"
"""Whoever runs a module that asks whether it is run, as if a function of that name called its body."""


SAVE = "torch.save"
"""What writes checkpoints: who calls it is known, as of what is in the tree."""

SET_DEFAULTS = frozenset(("torch.set_default_device", "torch.set_default_tensor_type"))
"""What sets where tensors are made: likewise."""

CALLED_OUTSIDE = frozenset((SAVE, *SET_DEFAULTS))

ON_CPU = "<on the cpu>"
"""The keyword with which a call of that says what was moved to the CPU before, in the same function:
``model.cpu()`` as a statement of its own."""


def module_id(path: str) -> str:
    """The name facts use for the module in a file of the tree: ``@pkg.mod``, unique, made from the
    path and not from any ``sys.path``, so that it is never mistaken for what an import says."""
    stem = path.removesuffix(".py").removesuffix(".pyi").removesuffix("/__init__")
    if stem == "__init__":
        stem = ""
    return "@" + stem.replace(".", "·").replace("/", ".")


class Span(NamedTuple):
    """A place as ``ast`` gives it: 1-based lines, 0-based UTF-8 byte columns, end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


class Event(NamedTuple):
    """Something at a place that a rule could match.

    ==========  ======================================  ==========================================
    kind        ``name``                                ``value`` / ``args`` / ``kwargs`` / ``role``
    ==========  ======================================  ==========================================
    use         dotted name                             ``role``: load, call, store, del, decorator,
                                                        base, annotation; a call has args, a store
                                                        its value as ``args[0]``. ``value``: the
                                                        ``("tried", …)`` value, where the name is
                                                        only that if an import works
    method      method name                             ``value``: receiver; a call
    attr        attribute name                          ``value``: base; ``role``: load, store, del
    callkw      ``""``                                  a call matched by a keyword; ``value``: func
    str         the text, or an f-string's texts with   ``value``: the whole value; ``role``: see
                ``{}`` for the rest                     :data:`StringRole`
    ifexp       ``""``                                  ``value``: ``("if", …)``; ``role`` as str
    import      dotted name                             ``role``: module, name, star; ``value``:
                                                        ``("const", local name)``
    test        if, while, assert, not, bool, ifexp     ``value``: what is tested
    item        load, store, del                        ``value``: base; ``args``: (index[, stored])
    format      f-string part                           ``value``
    loop        for, while                              ``value``: iterable or test
    pair        a keyword of interest, of a call or     ``value``: what stands there; ``role``:
                of a dict display                       ``("keyword", func, args)``, or as str
    param       name of a parameter                     ``value``: default; ``role``: function
    bin         operator                                ``value``: left; ``args``: (right,); only
                                                        where an operand is a variable set by a
                                                        method of :attr:`Interest.operands`
    ==========  ======================================  ==========================================
    """

    kind: str
    at: tuple[int, int, int, int]
    ctx: int
    name: str
    value: Value = None
    args: tuple[Value, ...] | None = None
    kwargs: tuple[tuple[str | None, Value], ...] = ()
    role: Any = None

    @property
    def span(self) -> Span:
        return Span(*self.at)


StringRole: TypeAlias = tuple[Any, ...]
"""Where a string stands: ``("arg", func, position | keyword)``, ``("method", receiver, name,
position | keyword)``, ``("default", function, parameter)``, ``("assign", name)``,
``("attr", base, name)``, ``("compare", op, other)``, ``("key", texts that are keys of the dict)``,
``("value", key)``, ``("index", base)``, ``("return", function)``, ``("field", class, name)``, ``("test",)``,
``("annotation",)``, ``("other",)``; wrapped as ``("elem", role)`` in a list, tuple or set and ``("branch", role)`` in a
conditional expression."""


class Ctx(NamedTuple):
    """The surroundings of an event."""

    scope: int
    """Index into ``ModuleFacts.scopes``."""
    guards: tuple[int, ...]
    """Indices into ``ModuleFacts.guards``, outermost first."""
    loops: tuple[int, ...]
    """Indices into ``ModuleFacts.loops``, outermost first."""
    tries: tuple[str, ...]
    """Names of exceptions that enclosing ``try`` bodies catch; ``"*"``: everything."""


class Scope(NamedTuple):
    qualname: str
    kind: str
    """module, class, function, lambda"""
    owner: str
    """Dotted name of the enclosing class, or empty."""
    line: int
    parent: int


class Guard(NamedTuple):
    test: Value
    polarity: bool
    line: int
    kind: str
    """if, ifexp, bool, match, except, decorator; ``early``: the test left the block by return
    or break before; ``next``: by continue; ``raise``: it ended the program or raised before; ``skip``: it skipped the test"""


class Loop(NamedTuple):
    kind: str
    """for, while, comprehension"""
    over: Value
    line: int
    end_line: int


class Definition(NamedTuple):
    """One assignment to a name: what ``("v", i)`` refers to."""

    value: Value
    line: int
    name: str
    annotation: Value
    scope: int
    guards: tuple[int, ...] = ()
    """Conditions under which it is assigned; indices into ``ModuleFacts.guards``."""


class Function(NamedTuple):
    line: int
    params: tuple[tuple[str, Value, Value, str], ...]
    """``(name, default, annotation, kind)``; kind: pos, kw, var, varkw; default ``None``: none."""
    returns: tuple[Value, ...]
    return_annotation: Value
    decorators: tuple[Value, ...]
    owner: str
    yields: bool
    conditions: tuple[Value, ...] = ()
    """What has to hold for each of ``returns`` to be come to, in their order, when one of them is
    ``True``, ``False`` or a text; what is None or has a None in it may be more than is known. With
    ``True`` or ``False`` what comes out at the end returns ``None``, as if that were written."""


FunctionCall: TypeAlias = (
    "tuple[Value, tuple[Value, ...], tuple[tuple[str | None, Value], ...], int, tuple[int, ...], "
    "tuple[int, ...]]"
)
"""Callee, arguments, keyword arguments, line, loops, guards."""


class Class(NamedTuple):
    line: int
    bases: tuple[Value, ...]
    attributes: Mapping[str, tuple[Value, ...]]
    """Every value assigned to ``self.name`` or in the class body."""
    methods: tuple[str, ...]
    decorators: tuple[Value, ...]


def made(form: type[_Row], rows: Iterable[tuple[Any, ...]]) -> list[_Row]:
    """Plain rows of the right length as named ones, without a step of Python for each."""
    return list(map(partial(tuple.__new__, form), rows))


class Known(Protocol):
    """What others may ask about a module: its summary."""

    @property
    def exports(self) -> Mapping[str, Value]: ...
    @property
    def stars(self) -> tuple[str, ...]: ...
    @property
    def functions(self) -> Mapping[str, Function]: ...
    @property
    def classes(self) -> Mapping[str, Class]: ...
    @property
    def definitions(self) -> Sequence[Definition]: ...
    @property
    def scopes(self) -> Sequence[Scope]: ...
    @property
    def guards(self) -> Sequence[Guard]: ...


@dataclass
class ModuleFacts:
    path: str
    module: str
    """Dotted name the file has in the tree."""
    lines: int
    exports: Mapping[str, Value] = field(default_factory=dict)
    """Names at module level: definitions, imports, variables."""
    stars: tuple[str, ...] = ()
    functions: Mapping[str, Function] = field(default_factory=dict)
    """By dotted name."""
    classes: Mapping[str, Class] = field(default_factory=dict)
    definitions: Sequence[Definition] = field(default_factory=list)
    scopes: Sequence[Scope] = field(default_factory=list)
    guards: Sequence[Guard] = field(default_factory=list)
    calls: dict[str, tuple[FunctionCall, ...]] = field(default_factory=dict)
    """What each function calls that can be in the tree."""
    loops: list[Loop] = field(default_factory=list)
    contexts: list[Ctx] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    comments: list[tuple[Any, ...]] = field(default_factory=list)
    """Suppression comments, as ``rulebook.suppress`` reads them."""

    def freeze(self) -> bytes:
        """All but what the summary of the module has, too."""
        return marshal.dumps(
            (
                self.path,
                self.module,
                self.lines,
                self.calls,
                [tuple(v) for v in self.loops],
                [tuple(v) for v in self.contexts],
                self.events,
                self.comments,
            )
        )

    @classmethod
    def thaw(cls, frozen: bytes, summary: Known) -> ModuleFacts:
        path, module, lines, calls, loops, contexts, events, comments = marshal.loads(frozen)
        return cls(
            path,
            module,
            lines,
            summary.exports,
            summary.stars,
            summary.functions,
            summary.classes,
            summary.definitions,
            summary.scopes,
            summary.guards,
            calls,
            made(Loop, loops),
            made(Ctx, contexts),
            made(Event, events),
            comments,
        )
