"""One pass over a syntax tree: definitions, symbolic values and events.

The pass is an abstract interpreter without loops: statements run in order, branches are joined,
loop bodies run once, and function bodies run after the scope that holds them, so that they see its
final names. Nothing is executed. It has to be quick (it sees every node of every file), hence the
dispatch by class and the plain tuples.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

from neuronport.readers.python.facts import (
    CALLED_OUTSIDE,
    MODULE_BODY,
    ON_CPU,
    OPTIONS,
    PARSE,
    SCRIPT,
    SET_DEFAULTS,
    SET_OPTIONS,
    Class,
    Ctx,
    Function,
    Guard,
    Interest,
    Loop,
    ModuleFacts,
    Scope,
    Value,
)
from neuronport.readers.python.located import located
from neuronport.readers.python.scan import searcher

_BUILTINS = frozenset(dir(builtins))
_MAX_ITEMS = 64
_MAX_TEXT = 400
_MAX_JOIN = 8
_MAX_ARGS = 16
_MAX_RETURNS = 16
_MAX_NESTING = 900
"""A person writes far less; the interpreter's own limit is not that of compiled code."""
_OPS: dict[type, str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitOr: "|",
    ast.BitAnd: "&",
    ast.BitXor: "^",
}
_TEXTUAL = frozenset(
    (
        ast.Constant,
        ast.JoinedStr,
        ast.IfExp,
        ast.List,
        ast.Tuple,
        ast.Set,
        ast.Dict,
        ast.BoolOp,
        ast.BinOp,
        ast.Call,
    )
)
# Asked at every node, hence looked up once.
_NAME: Final = ast.Name
_CONSTANT: Final = ast.Constant
_ATTRIBUTE: Final = ast.Attribute
_CALL: Final = ast.Call
_SUBSCRIPT: Final = ast.Subscript
_EXPR: Final = ast.Expr
_IF: Final = ast.If
_TUPLE: Final = ast.Tuple
_LIST: Final = ast.List
_BINOP: Final = ast.BinOp
_STARRED: Final = ast.Starred
_OTHER: Final[tuple[Any, ...]] = ("other",)
_SWITCHES: Final[dict[Value, Value]] = {
    ("const", "store_true"): ("const", False),
    ("const", "store_false"): ("const", True),
}
"""What an option is that is not given."""
_TYPE: Final[tuple[Any, ...]] = ("annotation",)
_OPTIONS_OF: Final = frozenset(("args", "opt", "opts", "options", "flags", "FLAGS", "hparams"))
"""Names of parameters that are given what was parsed."""
_HOW: Final = frozenset(("raise", "next", "skip"))
_TYPE_USES: Final = frozenset(("annotation", "isinstance"))
_NONE: Final[frozenset[str]] = frozenset()
_LOCATION: Final[tuple[Any, ...]] = ("arg", ("ref", "torch.load"), "map_location")
"""As what stands in the call has it."""
_SECOND: Final[tuple[Any, ...]] = ("arg", ("ref", "torch.load"), 1)
_BROAD = frozenset(("Exception", "BaseException"))
_IMPORT_ERRORS = frozenset(("*", "ImportError", "ModuleNotFoundError"))
_IMPORTERS = frozenset(("import_module", "optional_import"))
_MODULE_NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)*")
_DEVICE = ("ref", "torch.device")
_MAX_MADE = 10
_SAME = frozenset(("to", "cuda", "cpu", "train", "eval", "half", "float", "bfloat16", "double"))
"""Methods of a module that give it back."""
_TYPE_TESTS = (("ref", "builtins.isinstance"), ("ref", "builtins.issubclass"))
_FOR_TYPES = (("ref", "typing.TYPE_CHECKING"), True)
_IS_SCRIPT = ("cmp", ("ref", "builtins.__name__"), "==", ("const", "__main__"))
_APPLY = ".apply"
_STARTERS = ("Thread", "Process")
"""How classes end whose objects call what they are made with."""
_SPAWN = ".spawn"
_MOVES = ("cpu", "cuda", "to", "xpu", "npu")
_EXITS = frozenset(
    (
        ("ref", "sys.exit"),
        ("ref", "os._exit"),
        ("ref", "builtins.exit"),
        ("ref", "builtins.quit"),
    )
)
_SKIPS = frozenset((("ref", "pytest.skip"), ("ref", "pytest.xfail"), ("ref", "unittest.SkipTest")))
"""What leaves a test early; the others run."""

Expr = Callable[["_Reader", Any], Value]
_context: Callable[[tuple[Any, ...]], Ctx] = partial(tuple.__new__, Ctx)
_guard: Callable[[tuple[Any, ...]], Guard] = partial(tuple.__new__, Guard)
"""Made without a step of Python each."""


def read_module(
    tree: ast.Module,
    *,
    path: str,
    module: str,
    is_package: bool,
    lines: int,
    interest: Interest,
    tree_roots: frozenset[str],
    locates: bool = True,
) -> ModuleFacts:
    """The facts of one parsed file.

    ``locates``: whether there may be variables that only say where a checkpoint is read.

    Raises RecursionError: expressions are nested too deeply to be followed.
    """
    reader = _Reader(path, module, is_package, lines, interest, tree_roots)
    reader.locates = locates
    reader.run(tree)
    return reader.facts


_searcher = cache(searcher)
_pattern = cache(re.compile)


@cache
def _roots(interest: Interest, tree_roots: frozenset[str]) -> frozenset[str]:
    return interest.roots | tree_roots


class _Reader:
    def __init__(
        self,
        path: str,
        module: str,
        is_package: bool,
        lines: int,
        interest: Interest,
        tree_roots: frozenset[str],
    ) -> None:
        self.facts = ModuleFacts(path, module, lines)
        self.module = module
        self.is_package = is_package
        self.interest = interest
        self.roots = _roots(interest, tree_roots)
        self.tree_roots = tree_roots
        self._wanted: dict[str, bool] = {}
        self._modules = _pattern(interest.modules).search
        self.optional: dict[int, tuple[Value, str]] = {}
        """Line → the last call there that tries to import something, and what."""
        self.methods = interest.methods
        self.keywords = interest.keywords
        self.names = interest.names
        self.operands = interest.operands
        self.search = _searcher(interest.strings)
        self.defs: list[Any] = []
        self.functions: dict[str, Function] = {}
        self.classes: dict[str, Class] = {}
        self.scopes: list[Scope] = []
        self.guarded: list[Guard] = []
        """Every guard of the module; ``guards``: those around what is being read."""
        self.emit: Callable[[Any], None] = self.facts.events.append
        self.env: dict[str, Value] = {}
        self.closures: tuple[dict[str, Value], ...] = ()
        self.deferred: list[Callable[[], None]] = []
        self.guards: tuple[int, ...] = ()
        self.loops: tuple[int, ...] = ()
        self.tries: tuple[str, ...] = ()
        self.scope = 0
        self.qual = module
        """Dotted name of the scope being read."""
        self.owner = ""
        """Dotted name of the class being read, or of the method's class."""
        self.in_class_body = False
        self.function = ""
        self.returns: list[Value] = []
        self.conditions: list[Value] = []
        self.around = 0
        """How many of ``guards`` are outside of the function being read."""
        self.calls: list[Any] = []
        self.yields = False
        self.role: Any = _OTHER
        self.stars: list[str] = []
        self.globals: frozenset[str] = frozenset()
        self.attributes: dict[str, dict[str, list[Value]]] = {}
        self.on_cpu: tuple[Value, ...] = ()
        """What was moved to the CPU in the function being read."""
        self.ended_by = ""
        """How the last statement list that ended did: return, raise, jump."""
        self.entered: set[Any] = set()
        """Modules, and under which conditions they were imported."""
        self.imported: list[str] | None = None
        """Dotted names imported in the ``try`` body being read, when it catches ImportError."""
        self.depth = 0
        """Of what is being read; an error leaves it, and the file, as they are."""
        self.locates = False
        self.located: frozenset[str] = _NONE
        """Of what is being read: variables that only say where a checkpoint is read."""
        self._ctx_key: Any = None
        self._ctx = 0

    # ---- surroundings -------------------------------------------------------------------------

    def ctx(self) -> int:
        key = (self.scope, self.guards, self.loops, self.tries)
        if key != self._ctx_key:
            contexts = self.facts.contexts
            if not contexts or contexts[-1] != key:
                contexts.append(_context(key))
            self._ctx_key = key
            self._ctx = len(contexts) - 1
        return self._ctx

    @staticmethod
    def span(node: Any) -> tuple[int, int, int, int]:
        return (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)

    def guard(self, test: Value, polarity: bool, line: int, kind: str) -> int:
        self.guarded.append(_guard((test, polarity, line, kind)))
        return len(self.guarded) - 1

    def run(self, tree: ast.Module) -> None:
        self.scopes.append(Scope("", "module", "", 0, -1))
        self.module_env = self.env
        # Of a module others may read what it calls a device.
        if self.locates:
            self.locates, whole = located(tree)
            self.located = frozenset(name for name in whole if "loc" in name)
        self.body(tree.body)
        self.drain()
        facts = self.facts
        facts.exports = self.module_env
        facts.definitions, facts.scopes, facts.guards = self.defs, self.scopes, self.guarded
        facts.functions, facts.classes = self.functions, self.classes
        name = f"{self.module}.{MODULE_BODY}"
        self.functions[name] = Function(1, (), (), None, (), "", False)
        if self.calls:
            facts.calls[name] = tuple(self.calls)
        facts.stars = tuple(self.stars)
        for name, attrs in self.attributes.items():
            cls = self.classes.get(name)
            if cls is not None:
                found = {k: tuple(v[:_MAX_JOIN]) for k, v in attrs.items()}
                self.classes[name] = cls._replace(attributes=found)

    def drain(self) -> None:
        while self.deferred:
            pending, self.deferred = self.deferred, []
            for job in pending:
                job()

    # ---- names --------------------------------------------------------------------------------

    def lookup(self, name: str) -> Value:
        env = self.env
        if name in env:
            return env[name]
        for outer in self.closures:
            if name in outer:
                return outer[name]
        if name in _BUILTINS:
            return ("ref", "builtins." + name)
        if self.stars:
            # A module that others take by star imports PyTorch under its own name.
            return ("ref", name) if name == "torch" else ("star", name)
        return None

    def bind(self, name: str, value: Value, line: int, annotation: Value = None) -> None:
        if annotation is None and value is not None and value[0] == "ref":
            stored: Value = value if value[1].startswith("builtins.") else None
        else:
            stored = None
        if stored is None:
            self.defs.append((value, line, name, annotation, self.scope, self.guards))
            stored = ("v", len(self.defs) - 1)
        if name in self.globals:
            self.join_into(self.module_env, name, stored)
            return
        if self.in_class_body:
            self.attribute(self.owner, name, stored)
        self.env[name] = stored

    def attribute(self, owner: str, name: str, value: Value) -> None:
        values = self.attributes.setdefault(owner, {}).setdefault(name, [])
        if value not in values:
            values.append(value)

    def join_into(self, env: dict[str, Value], name: str, value: Value) -> None:
        old = env.get(name)
        env[name] = value if old is None else _join(old, value)

    # ---- statements ---------------------------------------------------------------------------

    def body(self, stmts: list[ast.stmt]) -> bool:
        """Run statements; True when control does not come out at the end."""
        guards = self.guards
        ended = False
        for stmt in stmts:
            cls = stmt.__class__
            if cls is _EXPR:
                value = stmt.value  # type: ignore[attr-defined]
                if value.__class__ is _CONSTANT:
                    continue
                self.role = _OTHER
                result = self.expr(value)
                if result is not None and result[0] == "call":
                    if result[1] in _EXITS or _skips(result):
                        self.ended_by = "skip" if _skips(result) else "raise"
                        ended = True
                        break
                    if result[1] is not None and result[1][0] == "attr" and result[1][2] in _MOVES:
                        self.moved(result[1][1], result[1][2], result[2])
            elif cls is _IF:
                if self.depth >= _MAX_NESTING:
                    raise RecursionError
                self.depth += 1  # ``elif`` nests
                left = self.if_(stmt)
                self.depth -= 1
                if left:
                    ended = True
                    break
            else:
                handler = _STMTS.get(cls)
                if handler is None:
                    self.parts(stmt)
                elif handler(self, stmt):
                    ended = True
                    break
        self.guards = guards
        return ended

    def if_(self, node: Any) -> bool:
        self.role = ("test",)
        test = self.expr(node.test)
        self.emit_test("if", node.test, test)
        if test == _IS_SCRIPT:
            body = ("ref", f"{self.module}.{MODULE_BODY}")
            self.facts.calls[f"{self.module}.{SCRIPT}"] = ((body, (), (), node.lineno, (), ()),)
        guards = self.guards
        before = self.env
        self.env = dict(before)
        self.guards = (*guards, self.guard(test, True, node.lineno, "if"))
        ended = self.body(node.body)
        how = self.ended_by if self.ended_by in _HOW else "early"
        after_body = self.env
        ended_else = False
        if node.orelse:
            self.env = dict(before)
            self.guards = (*guards, self.guard(test, False, node.lineno, "if"))
            ended_else = self.body(node.orelse)
            after_else = self.env
        else:
            after_else = before
        how_else = self.ended_by if self.ended_by in _HOW else "early"
        self.guards = guards
        if ended and ended_else:
            self.env = _replace(before, after_else)
            return True
        if ended:
            self.env = _replace(before, after_else)
            self.guards = (*guards, self.guard(test, False, node.lineno, how))
        elif ended_else:
            self.env = _replace(before, after_body)
            self.guards = (*guards, self.guard(test, True, node.lineno, how_else))
        else:
            self.env = _merge(before, after_body, after_else)
        return False

    def emit_test(self, kind: str, node: Any, value: Value) -> None:
        if value is None or value[0] in ("const", "fstr", "list", "tuple", "dict"):
            return
        self.emit(_event("test", self.span(node), self.ctx(), kind, value))

    def loop(self, node: Any, kind: str, over: Value) -> None:
        self.facts.loops.append(Loop(kind, over, node.lineno, node.end_lineno))
        loops = self.loops
        self.loops = (*loops, len(self.facts.loops) - 1)
        before = self.env
        self.env = dict(before)
        self.emit(_event("loop", self.span(node), self.ctx(), kind, over))
        if kind == "for":
            self.role = _OTHER
            self.assign(node.target, ("elem", over), node.lineno)
        self.body(node.body)
        self.loops = loops
        self.env = _merge(before, self.env, before)
        if node.orelse:
            self.body(node.orelse)

    def for_(self, node: Any) -> bool:
        self.role = _OTHER
        self.loop(node, "for", self.expr(node.iter))
        return False

    def while_(self, node: Any) -> bool:
        self.role = ("test",)
        test = self.expr(node.test)
        self.emit_test("while", node.test, test)
        self.loop(node, "while", test)
        return False

    def try_(self, node: Any) -> bool:
        caught: list[str] = []
        for handler in node.handlers:
            caught.extend(_exception_names(handler.type))
        tries = self.tries
        before = self.env
        self.env = dict(before)
        self.tries = (
            *tries,
            *(n for h in node.handlers if not _ends(h.body) for n in _exception_names(h.type)),
        )
        optional = not _IMPORT_ERRORS.isdisjoint(caught)
        outer_imported = self.imported
        if optional:
            self.imported = []
        ended = self.body(node.body)
        self.tries = tries
        imported = tuple(self.imported or ()) if optional else ()
        self.imported = outer_imported
        tried_env = self.env
        if node.orelse and not ended:
            ended = self.body(node.orelse)
        results = [] if ended else [self.env]
        guards = self.guards
        entry = dict(before)
        for handler in node.handlers:
            self.env = dict(entry)
            if handler.name:
                self.env[handler.name] = None
            if handler.type is not None:
                self.role = _OTHER
                self.expr(handler.type)
            names = ",".join(_exception_names(handler.type))
            self.guards = (
                *guards,
                self.guard(("const", names), True, handler.lineno, "except"),
            )
            handler_ended = self.body(handler.body)
            if not handler_ended:
                results.append(self.env)
        self.guards = guards
        if results:
            merged = results[0]
            failed = {} if ended else dict(results[-1]) if len(results) > 1 else {}
            tried = dict(tried_env)
            for other in results[1:]:
                merged = _merge(before, merged, other)
            self.env = _replace(before, merged)
            if imported and failed:
                # Which of the two a name has depends on what can be imported on the target.
                for name, value in tried.items():
                    if name in failed and failed[name] is not value and failed[name] != value:
                        self.env[name] = ("tried", imported, value, failed[name])
        else:
            self.env = before
        final_ended = self.body(node.finalbody) if node.finalbody else False
        return final_ended or not results

    def with_(self, node: Any) -> bool:
        for item in node.items:
            self.role = _OTHER
            value = self.expr(item.context_expr)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, ("with", value), node.lineno)
        return self.body(node.body)

    def return_(self, node: Any) -> bool:
        value: Value = ("const", None)
        if node.value is not None:
            self.role = ("return", self.function)
            value = self.expr(node.value)
        if len(self.returns) < _MAX_RETURNS:
            self.returns.append(value)
            self.conditions.append(self.condition())
        self.ended_by = "return"
        return True

    def condition(self) -> Value:
        """What has to hold for the function being read to come to this place."""
        parts: list[Value] = []
        for i in self.guards[self.around :]:
            test, polarity, _, kind = self.guarded[i]
            if kind == "except":
                parts.append(None)
            elif kind != "raise":
                parts.append(test if polarity else ("not", test))
        if self.imported:
            parts.append(("tried", tuple(self.imported), ("const", True), ("const", False)))
        elif self.tries or self.loops:
            parts.append(None)
        if not parts:
            return ("const", True)
        return parts[0] if len(parts) == 1 else ("bool", "and", tuple(parts))

    def raise_(self, node: Any) -> bool:
        self.role = ("raise",)
        raised = None if node.exc is None else self.expr(node.exc)
        if node.cause is not None:
            self.expr(node.cause)
        self.ended_by = "skip" if _skips(raised) else "raise"
        return True

    def jump(self, node: Any) -> bool:
        self.ended_by = "next" if node.__class__ is ast.Continue else "jump"
        return True

    def assert_(self, node: Any) -> bool:
        self.role = ("test",)
        test = self.expr(node.test)
        self.emit_test("assert", node.test, test)
        if _asks_cuda(test):
            self.guards = (*self.guards, self.guard(test, True, node.lineno, "raise"))
        if node.msg is not None:
            self.role = _OTHER
            self.expr(node.msg)
        return False

    def delete(self, node: Any) -> bool:
        for target in node.targets:
            self.store(target, None, "del")
        return False

    def import_(self, node: Any) -> bool:
        for alias in node.names:
            if alias.asname:
                self.env[alias.asname] = ("ref", alias.name)
                local = alias.asname
            else:
                local = alias.name.partition(".")[0]
                self.env[local] = ("ref", local)
            if self.in_class_body:
                self.attribute(self.owner, local, ("ref", alias.name))
            if self.imported is not None:
                self.imported.append(alias.name)
            if alias.name.partition(".")[0] in self.tree_roots:
                self.enter(alias.name, node.lineno)
            self.emit(
                _event(
                    "import",
                    self.span(alias),
                    self.ctx(),
                    alias.name,
                    ("const", local),
                    role="module",
                )
            )
        return False

    def import_from(self, node: Any) -> bool:
        base = node.module or ""
        if node.level:
            parts = self.module.split(".")
            drop = node.level - (1 if self.is_package else 0)
            if drop:
                parts = parts[:-drop] if drop < len(parts) else ["@"]
            base = ".".join([*parts, base] if base else parts)
            base = base.replace("@.", "@", 1)
        in_tree = bool(node.level) or base.partition(".")[0] in self.tree_roots
        if in_tree:
            self.enter(base, node.lineno)
        for alias in node.names:
            span = self.span(alias)
            if self.imported is not None:
                self.imported.append(base if alias.name == "*" else f"{base}.{alias.name}")
            if alias.name == "*":
                self.stars.append(base)
                self.emit(_event("import", span, self.ctx(), base, ("const", "*"), role="star"))
                continue
            local = alias.asname or alias.name
            dotted = f"{base}.{alias.name}" if base else alias.name
            if in_tree and alias.name.islower():
                self.enter(dotted, node.lineno)  # a module may be called so
            self.env[local] = ("ref", dotted)
            if local in self.globals:
                self.module_env[local] = ("ref", dotted)
            if self.in_class_body:
                self.attribute(self.owner, local, ("ref", dotted))
            self.emit(_event("import", span, self.ctx(), dotted, ("const", local), role="name"))
        return False

    def enter(self, module: str, line: int) -> None:
        """A module that may be of the tree is imported: what stands in it runs."""
        key = (module, self.guards)
        if key in self.entered or (module, ()) in self.entered:
            return
        if not any(self.guarded[i][:2] == _FOR_TYPES for i in self.guards):
            self.calls.append((("ref", f"{module}.{MODULE_BODY}"), (), (), line, (), self.guards))
            if self.scope == 0:
                self.entered.add(key)
            package = module.rpartition(".")[0]
            if package and package != "@":
                self.enter(package, line)  # which is imported before what is in it

    def global_(self, node: Any) -> bool:
        self.globals = self.globals | frozenset(node.names)
        for name in node.names:
            self.env.pop(name, None)
        return False

    def nonlocal_(self, node: Any) -> bool:
        for name in node.names:
            self.env[name] = self.lookup(name)
        return False

    def assign_(self, node: Any) -> bool:
        target = node.targets[0]
        self.role = self.target_role(target)
        value = self.expr(node.value)
        for target in node.targets:
            self.assign(target, value, node.lineno)
        return False

    def ann_assign(self, node: Any) -> bool:
        annotation = self.annotation(node.annotation)
        value: Value = None
        if node.value is not None:
            self.role = self.target_role(node.target)
            value = self.expr(node.value)
        target = node.target
        if target.__class__ is _NAME:
            self.bind(target.id, value, node.lineno, annotation)
            if self.in_class_body and target.id in self.names:
                self.emit(
                    _event(
                        "param",
                        self.span(target),
                        self.ctx(),
                        target.id,
                        value,
                        role=("field", self.owner),
                    )
                )
        else:
            if annotation is not None and value is None:
                self.defs.append((None, node.lineno, "", annotation, self.scope, ()))
                value = ("v", len(self.defs) - 1)
            self.assign(target, value, node.lineno)
        return False

    def aug_assign(self, node: Any) -> bool:
        self.role = self.target_role(node.target)
        value = self.expr(node.value)
        target = node.target
        if target.__class__ is _NAME:
            old = self.lookup(target.id)
        else:
            old = self.expr(target)
        result = ("bin", _OPS.get(node.op.__class__, "?"), old, value)
        self.emit(_event("augassign", self.span(node), self.ctx(), result[1], old, (value,)))
        self.assign(target, result, node.lineno)
        return False

    def type_alias(self, node: Any) -> bool:
        return False

    def match_(self, node: Any) -> bool:
        self.role = _OTHER
        subject = self.expr(node.subject)
        guards = self.guards
        before = self.env
        results: list[dict[str, Value]] = []
        for case in node.cases:
            self.env = dict(before)
            test = self.pattern(case.pattern, subject)
            self.guards = (*guards, self.guard(test, True, case.pattern.lineno, "match"))
            if case.guard is not None:
                self.role = ("test",)
                extra = self.expr(case.guard)
                self.guards = (*self.guards, self.guard(extra, True, case.guard.lineno, "if"))
            if not self.body(case.body):
                results.append(self.env)
        self.guards = guards
        merged = before
        for other in results:
            merged = _merge(before, merged, other)
        self.env = _replace(before, merged)
        return False

    def pattern(self, node: Any, subject: Value) -> Value:
        cls = node.__class__
        if cls is ast.MatchValue:
            self.role = ("compare", "==", subject)
            return ("cmp", subject, "==", self.expr(node.value))
        if cls is ast.MatchOr:
            return ("bool", "or", tuple(self.pattern(p, subject) for p in node.patterns))
        if cls is ast.MatchAs:
            result = self.pattern(node.pattern, subject) if node.pattern else None
            if node.name:
                self.bind(node.name, subject, node.lineno)
            return result
        if cls is ast.MatchStar:
            if node.name:
                self.env[node.name] = None
            return None
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.pattern):
                self.pattern(child, None)
        if cls is ast.MatchMapping and node.rest:
            self.env[node.rest] = None
        return None

    # ---- functions and classes ----------------------------------------------------------------

    def function_(self, node: Any) -> bool:
        decorators = self.decorators(node)
        dotted = self.dotted_child(node.name)
        owner = self.owner if self.in_class_body else ""
        params = self.params(node.args, dotted)
        returns = self.annotation(node.returns) if node.returns is not None else None
        ref: Value = ("ref", dotted)
        if self.in_class_body:
            self.attribute(self.owner, node.name, ref)
        self.env[node.name] = ref
        if node.name in self.globals:
            self.module_env[node.name] = ref
        closures = self.closures if self.in_class_body else (self.env, *self.closures)
        guards = self.guards
        for decorator in decorators:
            guards = (*guards, self.guard(decorator, True, node.lineno, "decorator"))
        if node.name.startswith("test"):
            for mark in self.marks():
                guards = (*guards, self.guard(mark, True, node.lineno, "decorator"))
        parent = self.scope

        def later() -> None:
            self.run_function(
                node,
                dotted,
                owner,
                params,
                returns,
                decorators,
                closures,
                (guards, parent),
            )

        self.deferred.append(later)
        return False

    def run_function(
        self,
        node: Any,
        dotted: str,
        owner: str,
        params: tuple[tuple[str, Value, Value, str], ...],
        return_annotation: Value,
        decorators: tuple[Value, ...],
        closures: tuple[dict[str, Value], ...],
        around: tuple[Any, ...],
    ) -> None:
        saved = (
            self.env,
            self.closures,
            self.guards,
            self.loops,
            self.tries,
            self.scope,
            self.qual,
            self.owner,
            self.in_class_body,
            self.function,
            self.returns,
            self.conditions,
            self.around,
            self.calls,
            self.yields,
            self.globals,
            self.deferred,
            self.located,
            self.on_cpu,
        )
        guards, parent = around
        qualname = dotted[len(self.module) + 1 :]
        self.scopes.append(Scope(qualname, "function", owner, node.lineno, parent))
        env: dict[str, Value] = {}
        for name, _default, _annotation, _kind in params:
            env[name] = ("param", dotted, name)
        if owner and params and params[0][3] == "pos":
            first = params[0][0]
            kinds = {d[1] for d in decorators if d is not None and d[0] == "ref"}
            if "builtins.staticmethod" not in kinds:
                env[first] = ("ref", owner) if "builtins.classmethod" in kinds else ("self", owner)
        self.env = env
        self.closures = closures
        self.guards, self.loops = guards, ()
        # What was caught around a definition does not catch what its body raises later.
        self.tries = ()
        self.scope = len(self.scopes) - 1
        self.qual = dotted
        self.owner = owner
        self.in_class_body = False
        self.function = dotted
        self.returns = []
        self.conditions = []
        self.around = len(guards)
        self.calls = []
        self.yields = False
        self.globals = frozenset()
        self.deferred = []
        self.on_cpu = ()
        self.located = located(node)[1] if self.locates else _NONE
        ended = self.body(node.body)
        answers = ("const", True) in self.returns or ("const", False) in self.returns
        if answers and not ended:
            self.returns.append(("const", None))
            self.conditions.append(("const", True))
        function = Function(
            node.lineno,
            params,
            tuple(self.returns),
            return_annotation,
            decorators,
            owner,
            self.yields,
            tuple(self.conditions)
            if len(self.returns) > 1 and (answers or any(map(_says, self.returns)))
            else (),
        )
        key = dotted
        n = 2
        while key in self.functions:
            key = f"{dotted}#{n}"
            n += 1
        self.functions[key] = function
        if self.calls:
            self.facts.calls[key] = tuple(self.calls)
        self.drain()
        (
            self.env,
            self.closures,
            self.guards,
            self.loops,
            self.tries,
            self.scope,
            self.qual,
            self.owner,
            self.in_class_body,
            self.function,
            self.returns,
            self.conditions,
            self.around,
            self.calls,
            self.yields,
            self.globals,
            self.deferred,
            self.located,
            self.on_cpu,
        ) = saved

    def class_(self, node: Any) -> bool:
        decorators = self.decorators(node)
        dotted = self.dotted_child(node.name)
        bases = []
        for base in node.bases:
            self.role = _OTHER
            bases.append(self.expr(base, "base"))
        for keyword in node.keywords:
            self.role = _OTHER
            self.expr(keyword.value)
        ref: Value = ("ref", dotted)
        if self.in_class_body:
            self.attribute(self.owner, node.name, ref)
        self.env[node.name] = ref
        saved = (self.env, self.closures, self.scope, self.qual, self.owner, self.in_class_body)
        saved_guards = self.guards
        outer = self.closures if self.in_class_body else (self.env, *self.closures)
        parent = self.scope
        self.scopes.append(
            Scope(dotted[len(self.module) + 1 :], "class", dotted, node.lineno, parent)
        )
        for decorator in decorators:
            self.guards = (*self.guards, self.guard(decorator, True, node.lineno, "decorator"))
        self.scope = len(self.scopes) - 1
        self.env, self.closures, self.qual, self.owner = {}, outer, dotted, dotted
        self.in_class_body = True
        methods = tuple(
            s.name for s in node.body if s.__class__ in (ast.FunctionDef, ast.AsyncFunctionDef)
        )
        self.classes[dotted] = Class(node.lineno, tuple(bases), {}, methods, decorators)
        self.body(node.body)
        (self.env, self.closures, self.scope, self.qual, self.owner, self.in_class_body) = saved
        self.guards = saved_guards
        return False

    def dotted_child(self, name: str) -> str:
        return f"{self.qual}.{name}" if self.qual else name

    def decorators(self, node: Any) -> tuple[Value, ...]:
        values = []
        for decorator in node.decorator_list:
            self.role = _OTHER
            values.append(self.expr(decorator, "decorator"))
        return tuple(values)

    def marks(self) -> list[Value]:
        """What is written of all tests of the module, and of the class that is being read."""
        around = [self.module_env, self.env] if self.in_class_body else [self.module_env]
        return [env["pytestmark"] for env in around if "pytestmark" in env]

    def params(self, args: Any, dotted: str) -> tuple[tuple[str, Value, Value, str], ...]:
        result: list[tuple[str, Value, Value, str]] = []
        positional = [*args.posonlyargs, *args.args]
        offset = len(positional) - len(args.defaults)
        for i, arg in enumerate(positional):
            default = args.defaults[i - offset] if i >= offset else None
            result.append(self.param(arg, default, dotted, "pos"))
        if args.vararg is not None:
            result.append(self.param(args.vararg, None, dotted, "var"))
        for arg, kw_default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            result.append(self.param(arg, kw_default, dotted, "kw"))
        if args.kwarg is not None:
            result.append(self.param(args.kwarg, None, dotted, "varkw"))
        return tuple(result)

    def param(
        self, arg: Any, default: Any, dotted: str, kind: str
    ) -> tuple[str, Value, Value, str]:
        value: Value = None
        if default is not None:
            self.role = ("default", dotted, arg.arg)
            value = self.expr(default)
        annotation = self.annotation(arg.annotation) if arg.annotation is not None else None
        if arg.arg in self.names:
            self.emit(
                _event("param", self.span(arg), self.ctx(), arg.arg, value, role=("param", dotted))
            )
        return arg.arg, value, annotation, kind

    def annotation(self, node: Any) -> Value:
        if node.__class__ is _CONSTANT:
            if isinstance(node.value, str) and len(node.value) < 200:
                try:
                    parsed = ast.parse(node.value, mode="eval").body
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    return None
                # Positions inside a quoted annotation are not those of the file.
                emit, self.emit = self.emit, _drop
                try:
                    return self.expr(parsed, "annotation")
                finally:
                    self.emit = emit
            return ("const", node.value)
        self.role = _OTHER
        return self.expr(node, "annotation")

    # ---- assignment ---------------------------------------------------------------------------

    def target_role(self, target: Any) -> Any:
        cls = target.__class__
        if cls is _NAME:
            if self.in_class_body:
                return ("field", self.owner, target.id)
            return _LOCATION if target.id in self.located else ("assign", target.id)
        if cls is _ATTRIBUTE:
            return ("attr", None, target.attr)
        if cls is _SUBSCRIPT and target.slice.__class__ is _CONSTANT:
            return ("value", target.slice.value)
        return _OTHER

    def assign(self, target: Any, value: Value, line: int) -> None:
        cls = target.__class__
        if cls is _NAME:
            self.bind(target.id, value, line)
        elif cls is _TUPLE or cls is _LIST:
            elements = target.elts
            if (
                value is not None
                and value[0] in ("tuple", "list")
                and len(value[1]) == len(elements)
                and not any(e.__class__ is _STARRED for e in elements)
            ):
                for element, part in zip(elements, value[1], strict=True):
                    self.assign(element, part, line)
            elif (
                value is not None
                and value[0] == "call"
                and len(elements) == 2
                and self.optional.get(value[4], (None,))[0] is value
            ):
                # What was imported, and whether it was.
                dotted = self.optional[value[4]][1]
                found: Value = ("tried", (dotted,), ("const", True), ("const", False))
                self.assign(elements[0], ("ref", dotted), line)
                self.assign(elements[1], found, line)
            else:
                for i, element in enumerate(elements):
                    self.assign(element, ("unpack", value, i), line)
        elif cls is _STARRED:
            self.assign(target.value, None, line)
        else:
            self.store(target, value, "store")

    def store(self, target: Any, value: Value, usage: str) -> None:
        cls = target.__class__
        if cls is _ATTRIBUTE:
            base = self.chain(target.value)
            if base is not None and base[0] == "self" and usage == "store":
                if value is not None and value[0] != "v":
                    self.defs.append(
                        (
                            value,
                            target.lineno,
                            "self." + target.attr,
                            None,
                            self.scope,
                            self.guards,
                        )
                    )
                    value = ("v", len(self.defs) - 1)
                elif self.guards:
                    # Under which conditions is asked of it as well.
                    held = (
                        value,
                        target.lineno,
                        "self." + target.attr,
                        None,
                        self.scope,
                        self.guards,
                    )
                    self.defs.append(held)
                self.attribute(base[1], target.attr, value)
            elif usage == "store" and self.is_parsed(base):
                held = (value, target.lineno, target.attr, None, self.scope, self.guards)
                self.defs.append(held)
                owner = f"{self.module}.{SET_OPTIONS}"
                if owner not in self.classes:
                    self.classes[owner] = Class(1, (), {}, (), ())
                self.attribute(owner, target.attr, ("v", len(self.defs) - 1))
            if base is not None and base[0] == "ref":
                dotted = f"{base[1]}.{target.attr}"
                if self.wanted(dotted):
                    self.emit(
                        _event(
                            "use",
                            self.span(target),
                            self.ctx(),
                            dotted,
                            None,
                            (value,),
                            role=usage,
                        )
                    )
            elif target.attr in self.methods or target.attr in self.names:
                self.emit(
                    _event(
                        "attr",
                        self.span(target),
                        self.ctx(),
                        target.attr,
                        base,
                        (value,),
                        role=usage,
                    )
                )
        elif cls is _SUBSCRIPT:
            self.role = _OTHER
            base = self.expr(target.value)
            self.role = ("index", base)
            index = self.expr(target.slice)
            if base is not None and base[0] not in ("dict", "list"):
                self.emit(
                    _event("item", self.span(target), self.ctx(), usage, base, (index, value))
                )
        elif cls is _NAME:
            if usage == "del":
                self.env.pop(target.id, None)
        elif cls in (_TUPLE, _LIST):
            for element in target.elts:
                self.store(element, None, usage)

    # ---- expressions --------------------------------------------------------------------------

    def expr(self, node: Any, usage: str = "load") -> Value:
        cls = node.__class__
        if cls is _NAME:
            value = self.lookup(node.id)
            if (
                value is not None
                and value[0] == "ref"
                # ``x: int`` is everywhere, and says nothing to any rule.
                and (usage not in _TYPE_USES or value[1][:9] != "builtins.")
                and self.wanted(value[1])
            ):
                self.emit(_event("use", self.span(node), self.ctx(), value[1], role=usage))
            elif value is not None and value[0] == "tried" and usage not in _TYPE_USES:
                self.tried(node, value, usage)
            return value
        if cls is _CONSTANT:
            text = node.value
            if text.__class__ is str:
                if len(text) > _MAX_TEXT:
                    text = text[:_MAX_TEXT]
                value = ("const", text)
                if self.search(text):
                    self.emit(
                        _event("str", self.span(node), self.ctx(), text, value, role=self.role)
                    )
                return value
            return ("const", text)
        if self.depth >= _MAX_NESTING:
            raise RecursionError
        self.depth += 1
        if cls is _ATTRIBUTE:
            value = self.attribute_(node, usage)
        elif cls is _CALL:
            value = self.call(node, usage)
        elif cls is _SUBSCRIPT and usage in _TYPE_USES:
            self.role = _TYPE
            value = ("item", self.expr(node.value, usage), self.expr(node.slice, usage))
        elif cls is _TUPLE and usage in _TYPE_USES:
            self.role = _TYPE
            value = ("tuple", tuple(self.expr(e, usage) for e in node.elts[:_MAX_ITEMS]))
        elif cls is _BINOP and usage in _TYPE_USES:
            op = _OPS.get(node.op.__class__, "?")
            value = ("bin", op, self.expr(node.left, usage), self.expr(node.right, usage))
        else:
            handler = _EXPRS.get(cls)
            value = None
            if handler is None:
                self.parts(node)
            else:
                value = handler(self, node)
        self.depth -= 1
        return value

    def parts(self, node: Any) -> None:
        """Look into a node of a kind that is not known, as a newer Python may have."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr) and not isinstance(
                getattr(child, "ctx", None), ast.Store
            ):
                self.role = _OTHER
                self.expr(child)

    def wanted(self, dotted: str) -> bool:
        """Whether a rule could speak of a name: its package is of interest, or it comes from
        another file of the tree, which can re-export such a package."""
        known = self._wanted.get(dotted)
        if known is None:
            if dotted[0] == "@":
                known = dotted.rpartition(".")[0] != self.module
            else:
                known = dotted.partition(".")[0] in self.roots or self._modules(dotted) is not None
            self._wanted[dotted] = known
        return known

    def chain(self, node: Any) -> Value:
        """The value of a base, without a use event: the longest chain is the one that counts."""
        cls = node.__class__
        if cls is _NAME:
            return self.dereference(self.lookup(node.id))
        if cls is _ATTRIBUTE:
            if self.depth >= _MAX_NESTING:
                raise RecursionError
            self.depth += 1
            base = self.chain(node.value)
            self.depth -= 1
            if base is not None and base[0] == "ref":
                return ("ref", f"{base[1]}.{node.attr}")
            if node.attr in self.methods or node.attr in self.names:
                self.emit(_event("attr", self.span(node), self.ctx(), node.attr, base, role="load"))
            return ("attr", base, node.attr)
        if not _is_device_text(node):
            self.role = _OTHER
        return self.expr(node)

    def imported_name(self, value: Value) -> Value:
        """The import that may have failed, where the program puts nothing callable in its place:
        what is asked of the name is asked of the import."""
        if value is not None and value[0] == "tried":
            found, instead = value[2], value[3]
            if instead is not None and instead[0] == "v":
                instead = self.defs[instead[1]][0]
            if found is not None and found[0] == "ref" and instead is not None:
                return found if instead[0] == "const" else value
        return value

    def dereference(self, value: Value) -> Value:
        """A variable that was simply bound to a dotted name is that name."""
        value = self.imported_name(value)
        if value is not None and value[0] == "v":
            inner: Value = self.defs[value[1]][0]
            if inner is not None and inner[0] == "ref":
                return inner
        return value

    def attribute_(self, node: Any, usage: str) -> Value:
        base = self.chain(node.value)
        if base is not None and base[0] == "ref":
            dotted = f"{base[1]}.{node.attr}"
            if self.wanted(dotted):
                self.emit(_event("use", self.span(node), self.ctx(), dotted, role=usage))
            if node.attr == "apply":
                self.applied(dotted, node.lineno)
            return ("ref", dotted)
        if base is not None and base[0] == "tried":
            self.tried(node, ("attr", base, node.attr), usage)
        elif node.attr in self.methods or node.attr in self.names:
            self.emit(_event("attr", self.span(node), self.ctx(), node.attr, base, role="load"))
        return ("attr", base, node.attr)

    def call(self, node: Any, usage: str = "load") -> Value:
        outer_role = self.role
        func = node.func
        cls = func.__class__
        receiver: Value = None
        method = ""
        func_value: Value
        if cls is _ATTRIBUTE:
            base = self.chain(func.value)
            if base is not None and base[0] == "ref":
                func_value = ("ref", f"{base[1]}.{func.attr}")
            else:
                func_value = ("attr", base, func.attr)
                receiver, method = base, func.attr
        elif cls is _NAME:
            func_value = self.dereference(self.lookup(func.id))
        else:
            self.role = _OTHER
            func_value = self.expr(func)
        args: list[Value] = []
        # The device made for a comparison, for a question about a CUDA device or for where a
        # checkpoint is read is a text there.
        asked = func_value == _DEVICE and (
            outer_role[0] == "compare"
            or (outer_role[0] == "arg" and _is_cuda(outer_role[1]))
            or _is_location(outer_role)
        )
        typed = func_value in _TYPE_TESTS
        for i, arg in enumerate(node.args):
            if typed and i:
                self.role = _OTHER
                args.append(self.expr(arg, "isinstance"))
                continue
            if asked:
                self.role = outer_role
            elif arg.__class__ in _TEXTUAL or (_is_cuda(func_value) and _is_device_text(arg)):
                self.role = ("method", receiver, method, i) if method else ("arg", func_value, i)
            else:
                self.role = _OTHER
            if i < _MAX_ITEMS:
                args.append(self.expr(arg))
            else:
                self.expr(arg)
        kwargs: list[tuple[str | None, Value]] = []
        keywords = self.keywords
        hit = False
        for keyword in node.keywords:
            name = keyword.arg
            if keyword.value.__class__ in _TEXTUAL:
                self.role = (
                    ("method", receiver, method, name) if method else ("arg", func_value, name)
                )
            else:
                self.role = _OTHER
            kwargs.append((name, self.expr(keyword.value)))
            if name in keywords:
                hit = True
                role = ("keyword", func_value, tuple(args))
                place = self.span(keyword)
                self.emit(_event("pair", place, self.ctx(), name, kwargs[-1][1], role=role))
        self.role = outer_role
        a, k = tuple(args), tuple(kwargs)
        if method == "add_argument" and a:
            self.option(node, a, k)
        if func_value is not None:
            tag = func_value[0]
            if tag == "tried" or (
                tag == "attr" and receiver is not None and receiver[0] == "tried"
            ):
                hit = (
                    not self.tried(
                        node, func_value, "decorator" if usage == "decorator" else "call", a, k
                    )
                    and hit
                )
                instead = _replacement(func_value)
                if instead is not None:
                    self.called(instead, node.lineno, a, k)
            if tag == "ref":
                dotted = func_value[1]
                if self.wanted(dotted) or dotted.startswith("builtins."):
                    self.emit(
                        _event(
                            "use",
                            self.span(node),
                            self.ctx(),
                            dotted,
                            None,
                            a,
                            k,
                            "decorator" if usage == "decorator" else "call",
                        )
                    )
                    hit = False
                in_tree = dotted[:1] == "@" or dotted.partition(".")[0] in self.tree_roots
                if dotted in CALLED_OUTSIDE and not in_tree:
                    on_cpu: Value = ("tuple", self.on_cpu)
                    known = k if dotted in SET_DEFAULTS else (*k, (ON_CPU, on_cpu))
                    self.called(func_value, node.lineno, a, known)
            elif tag == "attr":
                if method in self.methods:
                    self.emit(_event("method", self.span(node), self.ctx(), method, receiver, a, k))
                    hit = False
                in_tree = receiver is not None and receiver[0] == "self"
                if receiver is not None and receiver[0] == "v":
                    made = self.made(receiver, 0)
                    if made:
                        self.called(("ref", f"{made}.{method}"), node.lineno, a, k)
            else:
                in_tree = tag in ("star", "v", "self", "param")
            if in_tree:
                self.called(func_value, node.lineno, a, k)
                if tag == "ref" and dotted.endswith(_APPLY):
                    self.applied(dotted, node.lineno)
            if k and tag in ("ref", "attr") and func_value[-1].endswith(_STARTERS):
                self.started(k, node.lineno)
            elif a and tag in ("ref", "attr") and func_value[-1].endswith(_SPAWN):
                self.spawned(a, k, node.lineno)
        if hit:
            self.emit(_event("callkw", self.span(node), self.ctx(), "", func_value, a, k))
        if a and func_value is not None and func_value[0] == "ref":
            last = func_value[1].rpartition(".")[2]
            if last in _IMPORTERS and _is_module_name(a[0]):
                return self.import_call(node, func_value, a, k, last == "optional_import")
        return ("call", func_value, a, k, node.lineno)

    def import_call(
        self,
        node: Any,
        func: Value,
        args: tuple[Value, ...],
        kwargs: tuple[tuple[str | None, Value], ...],
        optional: bool,
    ) -> Value:
        """``importlib.import_module("name")``, or a function of a project that tries to: by the look
        of its name, since it may be of another file."""
        call: Value = ("call", func, args, kwargs, node.lineno)
        if not optional and func != ("ref", "importlib.import_module"):
            return call
        assert args[0] is not None
        dotted, role = str(args[0][1]), "module"
        if optional:
            for name, value in kwargs:
                if name == "name" and _is_module_name(value):
                    assert value is not None
                    dotted, role = f"{dotted}.{value[1]}", "name"
        elif self.imported is not None:
            self.imported.append(dotted)
        if dotted.partition(".")[0] in self.tree_roots:
            self.enter(dotted, node.lineno)
        tries = self.tries
        if optional:
            self.tries = (*tries, "ImportError")
        self.emit(_event("import", self.span(node), self.ctx(), dotted, ("const", ""), role=role))
        self.tries = tries
        if not optional:
            return ("ref", dotted)
        self.optional[node.lineno] = (call, dotted)
        return call

    def called(
        self,
        callee: Value,
        line: int,
        args: tuple[Value, ...] = (),
        kwargs: tuple[tuple[str | None, Value], ...] = (),
    ) -> None:
        """Something that can be in the tree is called here."""
        self.calls.append(
            (callee, args[:_MAX_ARGS], kwargs[:_MAX_ARGS], line, self.loops, self.guards)
        )

    def started(self, kwargs: tuple[tuple[str | None, Value], ...], line: int) -> None:
        """``Thread(target=f, args=(a, b))``: what it begins with is called with these."""
        target: Value = None
        args: tuple[Value, ...] = ()
        for name, value in kwargs:
            if name == "target":
                target = value
            elif name == "args":
                args = _unpacked(value)
            elif name == "kwargs":
                args = (("starred", value),)  # whatever it is given is not known
        self.begun(target, args, line)

    def spawned(
        self, given: tuple[Value, ...], kwargs: tuple[tuple[str | None, Value], ...], line: int
    ) -> None:
        """``mp.spawn(f, args=(a, b))``: f is called with its number, a and b."""
        passed = given[1] if len(given) > 1 else dict(kwargs).get("args", ("tuple", ()))
        self.begun(given[0], (None, *_unpacked(passed)), line)

    def begun(self, target: Value, args: tuple[Value, ...], line: int) -> None:
        """Something of the tree is called in a process or thread of its own."""
        if target is None:
            return
        if target[0] == "ref":
            dotted: str = target[1]
            if dotted[:1] == "@" or dotted.partition(".")[0] in self.tree_roots:
                self.called(target, line, args)
        elif target[0] == "attr" and target[1] is not None and target[1][0] == "self":
            self.called(target, line, args)

    def moved(self, thing: Value, method: str, args: tuple[Value, ...]) -> None:
        """``model.cpu()`` or another move as a statement: a module is moved where it is."""
        if thing is None:
            return
        if method == "cpu" or (method == "to" and args[:1] == (("const", "cpu"),)):
            self.on_cpu = (*self.on_cpu, thing)
        else:
            self.on_cpu = tuple(other for other in self.on_cpu if other != thing)

    def applied(self, dotted: str, line: int) -> None:
        """``Function.apply`` is called, or handed to whoever calls it: what an autograd function does
        is come to there, as what an object does where it is made."""
        made = dotted[: -len(_APPLY)]
        if made[:1] == "@" or made.partition(".")[0] in self.tree_roots:
            self.called(("ref", made), line)

    def made(self, value: Value, depth: int) -> str:
        """The class of the tree that a variable holds an instance of, wherever that was moved; by the
        look of its name. Empty: none, or not known."""
        while value is not None and depth < _MAX_MADE:
            depth += 1
            tag = value[0]
            if tag == "v":
                value = self.defs[value[1]][0]
            elif tag == "if" or (tag == "any" and len(value[1]) == 2):
                first, second = value[2:] if tag == "if" else value[1]
                known = self.made(first, depth)
                return known if known and self.made(second, depth) == known else ""
            elif tag == "call" and value[1] is not None and value[1][0] == "attr":
                if value[1][2] not in _SAME:
                    return ""
                value = value[1][1]
            elif tag == "call" and value[1] is not None and value[1][0] == "ref":
                dotted = str(value[1][1])
                if not dotted.rpartition(".")[2].lstrip("_")[:1].isupper():
                    return ""
                if dotted[:1] == "@" or dotted.partition(".")[0] in self.tree_roots:
                    return dotted
                return ""
            else:
                return ""
        return ""

    def tried(
        self,
        node: Any,
        value: Value,
        usage: str,
        args: tuple[Value, ...] | None = None,
        kwargs: tuple[tuple[str | None, Value], ...] = (),
    ) -> bool:
        """Report the use of a name that an import brings if it works, or of something in it, and else
        the program itself; whether a rule could speak of it. ``value`` tells what the other one is."""
        chosen, rest = value, ""
        if value is not None and value[0] == "attr":
            chosen, rest = value[1], f".{value[2]}"
        found = chosen[2] if chosen is not None and chosen[0] == "tried" else None
        if found is None or found[0] != "ref" or not self.wanted(found[1]):
            return False
        dotted = f"{found[1]}{rest}"
        self.emit(_event("use", self.span(node), self.ctx(), dotted, chosen, args, kwargs, usage))
        return True

    def is_parsed(self, base: Value) -> bool:
        """Whether something holds the options of the command line, or a parameter may be given them."""
        if base is None:
            return False
        if base[0] == "param":
            return base[2] in _OPTIONS_OF
        if base[0] != "v":
            return False
        held = self.defs[base[1]][0]
        if held is None or held[0] != "call" or held[1] is None or held[1][0] != "attr":
            return False
        return held[1][2] in PARSE

    def option(self, node: Any, args: tuple[Value, ...], kwargs: Any) -> None:
        """Keep the default of a command line option as an attribute of the module's options."""
        names = [v[1] for v in args if v is not None and v[0] == "const" and isinstance(v[1], str)]
        given = dict(kwargs)
        default = "default"
        if "default" not in given and given.get("action") in _SWITCHES:
            default = "action"
        if not names or default not in given:
            return
        dest = given.get("dest")
        name = next((n for n in names if n.startswith("--")), names[0])
        if dest is not None and dest[0] == "const":
            key = str(dest[1])
        else:
            key = name.lstrip("-").replace("-", "_")
        line = next(w.value.lineno for w in node.keywords if w.arg == default)
        held = given[default] if default == "default" else _SWITCHES[given["action"]]
        self.defs.append((held, line, name, None, self.scope, ()))
        owner = f"{self.module}.{OPTIONS}"
        if owner not in self.classes:
            self.classes[owner] = Class(1, (), {}, (), ())
        self.attribute(owner, key, ("v", len(self.defs) - 1))

    def joined(self, node: Any) -> Value:
        role = self.role
        parts: list[Value] = []
        text = ""
        for part in node.values:
            if part.__class__ is _CONSTANT:
                piece = str(part.value)[:_MAX_TEXT]
                parts.append(("const", piece))
                text += piece
            else:
                self.role = _OTHER
                value = self.expr(part.value)
                parts.append(value)
                text += "{}"
                if value is not None and value[0] != "const":
                    self.emit(
                        _event("format", self.span(part.value), self.ctx(), "f-string", value)
                    )
        result: Value = ("fstr", tuple(parts))
        self.role = role
        if self.search(text):
            self.emit(_event("str", self.span(node), self.ctx(), text, result, role=role))
        return result

    def if_exp(self, node: Any) -> Value:
        role = self.role
        self.role = ("test",)
        test = self.expr(node.test)
        self.emit_test("ifexp", node.test, test)
        guards = self.guards
        branch = ("branch", role)
        self.guards = (*guards, self.guard(test, True, node.lineno, "ifexp"))
        self.role = branch
        body = self.expr(node.body)
        self.guards = (*guards, self.guard(test, False, node.lineno, "ifexp"))
        self.role = branch
        orelse = self.expr(node.orelse)
        self.guards = guards
        self.role = role
        value: Value = ("if", test, body, orelse)
        self.emit(_event("ifexp", self.span(node), self.ctx(), "", value, role=role))
        return value

    def display(self, node: Any) -> Value:
        role = ("elem", self.role)
        items = []
        for i, element in enumerate(node.elts):
            self.role = role
            value = self.expr(element)
            if i < _MAX_ITEMS:
                items.append(value)
        self.role = role[1]
        cls = node.__class__
        tag = "list" if cls is _LIST else "tuple" if cls is _TUPLE else "set"
        return (tag, tuple(items))

    def dict_(self, node: Any) -> Value:
        role = self.role
        pairs = []
        as_key = ("key", tuple([k.value for k in node.keys if _is_text(k)][:_MAX_ITEMS]))
        for i, (key, item) in enumerate(zip(node.keys, node.values, strict=True)):
            key_value: Value = None
            if key is not None:
                self.role = as_key
                key_value = self.expr(key)
            self.role = (
                "value",
                key_value[1] if key_value is not None and key_value[0] == "const" else None,
            )
            value = self.expr(item)
            if key_value is not None and key_value[0] == "const" and key_value[1] in self.keywords:
                self.emit(
                    _event("pair", self.span(key), self.ctx(), key_value[1], value, role=as_key)
                )
            if i < _MAX_ITEMS:
                pairs.append((key_value, value))
        self.role = role
        return ("dict", tuple(pairs))

    def bool_op(self, node: Any) -> Value:
        role = self.role
        values: list[Value] = []
        op = "and" if node.op.__class__ is ast.And else "or"
        guards = self.guards
        for operand in node.values:
            self.role = role
            value = self.expr(operand)
            self.emit_test("bool", operand, value)
            # ``a and b`` evaluates b only where a holds.
            self.guards = (*self.guards, self.guard(value, op == "and", operand.lineno, "bool"))
            values.append(value)
        self.guards = guards
        return ("bool", op, tuple(values))

    def unary(self, node: Any) -> Value:
        operand = self.expr(node.operand)
        cls = node.op.__class__
        if cls is ast.Not:
            self.emit_test("not", node.operand, operand)
            return ("not", operand)
        if cls is ast.USub:
            if operand is not None and operand[0] == "const" and _is_number(operand[1]):
                return ("const", -operand[1])
            return ("neg", operand)
        if cls is ast.Invert:
            return ("invert", operand)
        return operand

    def compare(self, node: Any) -> Value:
        left_node = node.left
        comparators = node.comparators
        op = _OPS[node.ops[0].__class__]
        # The role of a string in a comparison names the other side, hence the order.
        if len(comparators) == 1 and (
            left_node.__class__ is _CONSTANT or _is_device_text(left_node)
        ):
            self.role = _OTHER
            right = self.expr(comparators[0])
            self.role = ("compare", op, right)
            left = self.expr(left_node)
            return ("cmp", left, op, right)
        self.role = _OTHER
        left = self.expr(left_node)
        results: list[Value] = []
        for operator, comparator in zip(node.ops, comparators, strict=True):
            op = _OPS[operator.__class__]
            self.role = ("compare", op, left)
            right = self.expr(comparator)
            results.append(("cmp", left, op, right))
            left = right
        self.role = _OTHER
        return results[0] if len(results) == 1 else ("bool", "and", tuple(results))

    def bin_op(self, node: Any) -> Value:
        # A left-deep chain (``a + b + c …``) is walked in a loop: it can be thousands long.
        stack = []
        current = node
        while current.__class__ is _BINOP:
            stack.append(current)
            current = current.left
        role = self.role
        result = self.expr(current)
        while stack:
            top = stack.pop()
            self.role = role
            right = self.expr(top.right)
            if result is not None and result[0] == "bin" and len(stack) > 6:
                result = None
            op = _OPS.get(top.op.__class__, "?")
            if self.is_operand(result) or self.is_operand(right):
                self.emit(_event("bin", self.span(top), self.ctx(), op, result, (right,)))
            result = ("bin", op, result, right)
        return result

    def is_operand(self, value: Value) -> bool:
        """Whether a value is a variable set by a method whose results in arithmetic matter."""
        while value is not None and value[0] == "item":
            value = value[1]
        if value is None or value[0] != "v":
            return False
        made = self.defs[value[1]][0]
        return (
            made is not None
            and made[0] == "call"
            and made[1] is not None
            and made[1][0] == "attr"
            and made[1][2] in self.operands
        )

    def subscript(self, node: Any) -> Value:
        self.role = _OTHER
        base = self.expr(node.value)
        self.role = ("index", base)
        index = self.expr(node.slice)
        if base is not None and base[0] not in ("dict", "const"):
            self.emit(_event("item", self.span(node), self.ctx(), "load", base, (index,)))
        if base is not None and base[0] == "ref":
            # ``Optional[torch.Tensor]`` and friends stay readable as annotations.
            return ("item", base, index)
        return ("item", base, index)

    def slice_(self, node: Any) -> Value:
        parts = []
        for part in (node.lower, node.upper, node.step):
            self.role = _OTHER
            parts.append(self.expr(part) if part is not None else ("const", None))
        return ("slice", *parts)

    def lambda_(self, node: Any) -> Value:
        saved = self.env
        dotted = f"{self.qual}.<lambda:{node.lineno}:{node.col_offset}>"
        params = self.params(node.args, dotted)
        self.env = dict(saved)
        for name, *_rest in params:
            self.env[name] = ("param", dotted, name)
        self.role = _OTHER
        value = self.expr(node.body)
        self.env = saved
        return ("lambda", value)

    def comprehension(self, node: Any) -> Value:
        saved, loops, guards = self.env, self.loops, self.guards
        self.env = dict(saved)
        first: Value = None
        for i, generator in enumerate(node.generators):
            self.role = _OTHER
            over = self.expr(generator.iter)
            if i == 0:
                first = over
            self.facts.loops.append(Loop("comprehension", over, node.lineno, node.end_lineno))
            self.loops = (*self.loops, len(self.facts.loops) - 1)
            self.assign_quietly(generator.target, ("elem", over))
            for condition in generator.ifs:
                self.role = ("test",)
                test = self.expr(condition)
                self.emit_test("if", condition, test)
                self.guards = (*self.guards, self.guard(test, True, condition.lineno, "if"))
        cls = node.__class__
        self.role = _OTHER
        if cls is ast.DictComp:
            self.expr(node.key)
            self.role = _OTHER
            value = self.expr(node.value)
            kind = "dict"
        else:
            value = self.expr(node.elt)
            kind = {ast.ListComp: "list", ast.SetComp: "set"}.get(cls, "generator")
        self.env, self.loops, self.guards = saved, loops, guards
        return ("comp", kind, value, first)

    def assign_quietly(self, target: Any, value: Value) -> None:
        cls = target.__class__
        if cls is _NAME:
            self.env[target.id] = value
        elif cls in (_TUPLE, _LIST):
            for i, element in enumerate(target.elts):
                self.assign_quietly(element, ("unpack", value, i))
        elif cls is _STARRED:
            self.assign_quietly(target.value, None)

    def named(self, node: Any) -> Value:
        self.role = self.target_role(node.target)
        value = self.expr(node.value)
        self.bind(node.target.id, value, node.lineno)
        return value

    def starred(self, node: Any) -> Value:
        return ("starred", self.expr(node.value))

    def awaited(self, node: Any) -> Value:
        return ("await", self.expr(node.value))

    def yielded(self, node: Any) -> Value:
        self.yields = True
        self.role = ("return", self.function)
        if node.value is not None:
            value = self.expr(node.value)
            if node.__class__ is ast.Yield and len(self.returns) < _MAX_RETURNS:
                self.returns.append(value)
                self.conditions.append(None)
        return None

    def formatted(self, node: Any) -> Value:
        return self.expr(node.value)


def _is_text(node: Any) -> bool:
    return node.__class__ is _CONSTANT and node.value.__class__ is str


def _unpacked(value: Value) -> tuple[Value, ...]:
    """What ``*value`` hands over; starred: how much that is is not known."""
    if value is not None and value[0] in ("tuple", "list"):
        return tuple(value[1])
    return (("starred", value),)


def _event(
    kind: str,
    at: tuple[int, int, int, int],
    ctx: int,
    name: str,
    value: Value = None,
    args: tuple[Value, ...] | None = None,
    kwargs: tuple[tuple[str | None, Value], ...] = (),
    role: Any = None,
) -> tuple[Any, ...]:
    """An ``Event`` as the plain tuple that facts are kept as."""
    return (kind, at, ctx, name, value, args, kwargs, role)


def _replacement(called: Value) -> Value:
    """What is called of the program itself where an import fails, if that is what a value says."""
    rest = ""
    if called is not None and called[0] == "attr":
        called, rest = called[1], f".{called[2]}"
    while called is not None and called[0] == "tried":
        called = called[3]
    if called is None or called[0] != "ref" or called[1][:1] != "@":
        return None
    return ("ref", f"{called[1]}{rest}")


def _drop(event: tuple[Any, ...]) -> None:
    """Stands in for ``emit`` where events would have wrong places."""


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _says(value: Value) -> bool:
    """Whether a value is a text."""
    return value is not None and value[0] == "const" and isinstance(value[1], str)


def _is_cuda(func: Value) -> bool:
    return func is not None and func[0] == "ref" and func[1][:11] == "torch.cuda."


def _is_location(role: Any) -> bool:
    while role[0] == "branch":
        role = role[1]
    return bool(role[-1] == "map_location") or role == _SECOND


def _asks_cuda(test: Value, depth: int = 0) -> bool:
    """Whether a test begins with a question about CUDA."""
    if test is None or depth > 4:
        return False
    if test[0] == "call":
        return _is_cuda(test[1])
    if test[0] == "bool":
        return _asks_cuda(test[2][0], depth + 1)
    return test[0] == "cmp" and _asks_cuda(test[1], depth + 1)


def _skips(value: Value) -> bool:
    """Whether a call, or what is raised, ends a test that others do not depend on."""
    if value is not None and value[0] == "call":
        value = value[1]
    if value is None:
        return False
    if value[0] == "attr":
        return bool(value[2] == "skipTest")
    return value in _SKIPS or value == ("ref", "pytest.skip.Exception")


def _ends(body: list[ast.stmt]) -> bool:
    """Whether a handler ends the program, or raises in its turn."""
    last = body[-1]
    if isinstance(last, ast.Raise):
        return True
    if isinstance(last, _EXPR) and isinstance(last.value, _CALL):
        return ast.unparse(last.value.func) in ("sys.exit", "os._exit", "exit", "quit")
    return False


def _is_device_text(node: Any) -> bool:
    """``torch.device("cuda")`` or its type: in a comparison it is as good as the text."""
    if node.__class__ is _ATTRIBUTE and node.attr in ("type", "index"):
        node = node.value
    if node.__class__ is not _CALL or len(node.args) != 1 or node.keywords:
        return False
    func = node.func
    name = func.attr if func.__class__ is _ATTRIBUTE else getattr(func, "id", "")
    return name == "device" and node.args[0].__class__ is _CONSTANT


def _exception_names(node: Any) -> list[str]:
    if node is None:
        return ["*"]
    if node.__class__ is _TUPLE:
        return [name for element in node.elts for name in _exception_names(element)]
    if node.__class__ is _NAME:
        return ["*"] if node.id in _BROAD else [node.id]
    if node.__class__ is _ATTRIBUTE:
        return [node.attr]
    return ["*"]


def _join(a: Value, b: Value) -> Value:
    if a == b:
        return a
    items: list[Value] = []
    for value in (a, b):
        for item in value[1] if value is not None and value[0] == "any" else (value,):
            if item not in items:
                items.append(item)
    if len(items) == 1:
        return items[0]
    return ("any", tuple(items[:_MAX_JOIN]))


def _replace(env: dict[str, Value], new: dict[str, Value]) -> dict[str, Value]:
    """Keep the identity of ``env``: functions defined earlier hold it as their closure."""
    if env is not new:
        env.clear()
        env.update(new)
    return env


def _merge(env: dict[str, Value], a: dict[str, Value], b: dict[str, Value]) -> dict[str, Value]:
    merged = dict(a)
    for name, value in b.items():
        if name in merged:
            other = merged[name]
            if other is not value:
                merged[name] = _join(other, value)
        else:
            merged[name] = value
    return _replace(env, merged)


_STMTS: dict[type, Callable[[_Reader, Any], bool]] = {
    ast.Assign: _Reader.assign_,
    ast.AnnAssign: _Reader.ann_assign,
    ast.AugAssign: _Reader.aug_assign,
    ast.For: _Reader.for_,
    ast.AsyncFor: _Reader.for_,
    ast.While: _Reader.while_,
    ast.Try: _Reader.try_,
    ast.TryStar: _Reader.try_,
    ast.With: _Reader.with_,
    ast.AsyncWith: _Reader.with_,
    ast.Return: _Reader.return_,
    ast.Raise: _Reader.raise_,
    ast.Continue: _Reader.jump,
    ast.Break: _Reader.jump,
    ast.Assert: _Reader.assert_,
    ast.Delete: _Reader.delete,
    ast.Import: _Reader.import_,
    ast.ImportFrom: _Reader.import_from,
    ast.Global: _Reader.global_,
    ast.Nonlocal: _Reader.nonlocal_,
    ast.FunctionDef: _Reader.function_,
    ast.AsyncFunctionDef: _Reader.function_,
    ast.ClassDef: _Reader.class_,
    ast.Match: _Reader.match_,
}
_EXPRS: dict[type, Expr] = {
    ast.JoinedStr: _Reader.joined,
    ast.IfExp: _Reader.if_exp,
    ast.List: _Reader.display,
    ast.Tuple: _Reader.display,
    ast.Set: _Reader.display,
    ast.Dict: _Reader.dict_,
    ast.BoolOp: _Reader.bool_op,
    ast.UnaryOp: _Reader.unary,
    ast.Compare: _Reader.compare,
    ast.BinOp: _Reader.bin_op,
    ast.Subscript: _Reader.subscript,
    ast.Slice: _Reader.slice_,
    ast.Lambda: _Reader.lambda_,
    ast.ListComp: _Reader.comprehension,
    ast.SetComp: _Reader.comprehension,
    ast.GeneratorExp: _Reader.comprehension,
    ast.DictComp: _Reader.comprehension,
    ast.NamedExpr: _Reader.named,
    ast.Starred: _Reader.starred,
    ast.Await: _Reader.awaited,
    ast.Yield: _Reader.yielded,
    ast.YieldFrom: _Reader.yielded,
    ast.FormattedValue: _Reader.formatted,
}


def _is_module_name(value: Value) -> bool:
    return (
        value is not None
        and value[0] == "const"
        and isinstance(value[1], str)
        and _MODULE_NAME.fullmatch(value[1]) is not None
    )
