"""Complex numbers of length one in a project: where they are made, carried and multiplied by.

``torch.polar(torch.ones_like(a), a)`` and the angles ``a`` say the same, have the same shape, and are
sliced, viewed and moved alike. What carries them is told by name, over all files that have to do with
them: each name must carry nothing else, and all that is done with it must be known. If one place is
not understood, there is no answer for any.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import Edit, seam
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.source import Source

RULE = "complex-tensor"
_KEEPS = frozenset(
    [
        "view",
        "reshape",
        "unsqueeze",
        "squeeze",
        "contiguous",
        "clone",
        "detach",
        "expand",
        "repeat",
        "flatten",
        "transpose",
        "permute",
        "split",
        "chunk",
        "cuda",
        "cpu",
        "index_select",
        "narrow",
    ]
)
"""Methods after which a tensor of angles is one still, and the complex one was one."""
_ASKS = frozenset(["shape", "size", "ndim", "dim", "device", "numel", "is_cuda"])
_SHAPES = frozenset(["shape", "size", "ndim", "dim", "device"])
_JOINS = frozenset(["torch.cat", "torch.concat", "torch.stack", "torch.chunk"])
_ROUNDS = re.compile(
    r"(model|net|module|transformer|encoder|decoder|llm|policy)\w*(\([^()\n]*\))?"
    r"\.(half\(\)|bfloat16\(\)|to\([^)\n]*(bfloat16|float16|half|dtype))|buffer_dtype"
)
"""A module that is cast as a whole, its buffers with it."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class _Unclear(Exception):  # noqa: N818 - a reason, not an error
    pass


@dataclass
class Turns:
    """What is known of a project's complex numbers of length one."""

    reason: str = ""
    """Why nothing can be rewritten; empty: it can."""
    edits: dict[tuple[str, int], list[Edit]] = field(default_factory=dict)
    """The edits by file and by where the call starts that they belong to."""
    note: str = ""


def turns(project: Project) -> Turns:
    """The answer for a whole project."""
    paths = [
        path
        for path, findings in project.findings.items()
        if any(f.rule == RULE for f in findings) and project.rewritable(path)
    ]
    sources = {p: s for p in paths if (s := project.source(p)) is not None}
    found = _Found(project, sources)
    try:
        found.follow()
        return found.result()
    except _Unclear as error:
        return Turns(str(error))


class _Found:
    def __init__(self, project: Project, sources: dict[str, Source]) -> None:
        self.project = project
        self.sources = sources
        self.carriers: set[str] = set()
        self.makers: set[str] = set()
        """Functions that return angles."""
        self.functions: dict[str, list[tuple[Source, _Function]]] = {}
        self.before: dict[ast.AST, dict[str, int]] = {}
        """For each function, names that are real up to a line."""
        self.edits: dict[tuple[str, int], list[Edit]] = {}
        self.pairs: dict[ast.AST, dict[str, list[tuple[int, int]]]] = {}
        """For each function, the lines on which a name is complex and no table."""
        self.note = ""

    # ---- what carries them ----------------------------------------------------------------------

    def follow(self) -> None:
        if not any(True for s in self.sources.values() for _ in _polars(s)):
            raise _Unclear("no table of complex numbers of length one is made here")
        for _ in range(12):
            before = (len(self.carriers), len(self.makers), len(self.sources))
            self._index()
            for source in list(self.sources.values()):
                self._spread(source)
            self._others()
            if before == (len(self.carriers), len(self.makers), len(self.sources)):
                return
        raise _Unclear("the table goes too far to be followed")

    def _index(self) -> None:
        self.functions = {}
        for source in self.sources.values():
            for node in source.nodes:
                if isinstance(node, _Function):
                    self.functions.setdefault(node.name, []).append((source, node))
        for source in self.sources.values():
            for call in _polars(source):
                stmt = source.parent(call)
                angle = call.args[1]
                if (
                    isinstance(stmt, ast.Assign)
                    and isinstance(angle, ast.Name)
                    and [ast.dump(t) for t in stmt.targets]
                    == [ast.dump(ast.Name(angle.id, ast.Store()))]
                ):
                    scope = source.function(call) or source.tree
                    self.before.setdefault(scope, {})[angle.id] = stmt.lineno

    def _spread(self, source: Source) -> None:
        for node in source.nodes:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                if self.is_angle(source, node.value):
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    for target in targets:
                        self._carry(target)
            elif isinstance(node, ast.Return) and node.value is not None:
                function = source.function(node)
                if function is not None and self.is_angle(source, node.value):
                    self.makers.add(function.name)
            elif isinstance(node, ast.Call):
                self._spread_call(source, node)

    def _carry(self, target: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.carriers.add(target.id)
        elif isinstance(target, ast.Attribute):
            self.carriers.add(target.attr)
        else:
            raise _Unclear("the table is unpacked, or put into something")

    def _spread_call(self, source: Source, call: ast.Call) -> None:
        name = _last(call.func)
        if name == "register_buffer":
            if len(call.args) >= 2 and self.is_angle(source, call.args[1]):
                label = call.args[0]
                if not isinstance(label, ast.Constant) or not isinstance(label.value, str):
                    raise _Unclear("the name of a buffer is not written out")
                self.carriers.add(label.value)
            return
        if source.called(call).startswith("torch.") and "checkpoint" not in name:
            return
        given = [(i, None, a) for i, a in enumerate(call.args)]
        for i, _, argument in given:
            if self.is_angle(source, argument):
                self.carriers.update(self._parameters(name, i, call, argument))
        for word in call.keywords:
            if word.arg is not None and self.is_angle(source, word.value):
                self.carriers.add(word.arg)

    def _parameters(
        self, name: str, place: int, call: ast.Call, argument: ast.expr
    ) -> Iterator[str]:
        """The parameters that an argument goes to; of what is called by another name, one of the
        same name must be there."""
        known = self.functions.get(name, ())
        for _, function in known:
            names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
            if names[:1] in (["self"], ["cls"]) and isinstance(call.func, ast.Attribute):
                names = names[1:]
            if place >= len(names):
                raise _Unclear(f"what {name} does with its arguments is not seen")
            yield names[place]
        if known:
            return
        own = _last(argument)
        if not any(
            a.arg == own
            for functions in self.functions.values()
            for _, f in functions
            for a in (*f.args.posonlyargs, *f.args.args, *f.args.kwonlyargs)
        ):
            raise _Unclear(f"where {name} takes the table to is not seen")
        yield own

    def _others(self) -> None:
        """Files that have to do with what carries the table, by its names."""
        users = {
            f.name
            for functions in self.functions.values()
            for _, f in functions
            if any(a.arg in self.carriers for a in (*f.args.args, *f.args.kwonlyargs))
            and f.name not in ("forward", "__init__", "__call__")
        }
        for summary in self.project.summaries():
            if summary.path in self.sources:
                continue
            wanted = self.makers | users
            if any(
                value is not None
                and value[0] == "ref"
                and str(value[1]).rpartition(".")[2] in wanted
                and self._is_ours(str(value[1]), summary.path)
                for value in summary.exports.values()
            ):
                source = self.project.source(summary.path)
                if source is None or not self.project.rewritable(summary.path):
                    raise _Unclear(f"{summary.path} uses the table and is not to be rewritten")
                self.sources[summary.path] = source

    def _is_ours(self, dotted: str, path: str) -> bool:
        """Whether an imported name comes from a file that has the table."""
        head = dotted.removeprefix("@").rpartition(".")[0]
        module = self.project.modules.find(head, path)
        return module is None or module in self.sources

    def is_angle(self, source: Source, node: ast.expr) -> bool:
        """Whether an expression is a table of complex numbers of length one."""
        if isinstance(node, ast.Name):
            return node.id in self.carriers and not self._is_before(source, node)
        if isinstance(node, ast.Attribute):
            return node.attr in self.carriers
        if isinstance(node, ast.Subscript):
            return self.is_angle(source, node.value)
        if isinstance(node, ast.IfExp):
            return self.is_angle(source, node.body) and self.is_angle(source, node.orelse)
        if not isinstance(node, ast.Call):
            return False
        if is_polar(source, node):
            return True
        if source.called(node) in _JOINS:
            items = (
                node.args[0].elts
                if node.args and isinstance(node.args[0], ast.List | ast.Tuple)
                else []
            )
            if items:
                return all(self.is_angle(source, i) for i in items)
            return bool(node.args) and self.is_angle(source, node.args[0])
        if _last(node.func) in self.makers:
            return not (
                isinstance(node.func, ast.Attribute) and self.is_angle(source, node.func.value)
            )
        if isinstance(node.func, ast.Attribute) and self.is_angle(source, node.func.value):
            return node.func.attr in _KEEPS or node.func.attr == "conj" or _moves(node)
        return False

    def _is_before(self, source: Source, name: ast.Name) -> bool:
        """Whether a name is not yet the table: ``f = torch.polar(torch.ones_like(f), f)``."""
        scope = source.function(name) or source.tree
        line = self.before.get(scope, {}).get(name.id)
        if line is None:
            return False
        stmt = source.statement(name)
        return name.lineno < line or (
            stmt is not None and stmt.lineno == line and isinstance(name.ctx, ast.Load)
        )

    # ---- what is done with them -----------------------------------------------------------------

    def result(self) -> Turns:
        for source in self.sources.values():
            for node in source.nodes:
                self._complex(source, node)
        for source in self.sources.values():
            for node in source.nodes:
                self._product(source, node)
        for source in self.sources.values():
            for node in source.nodes:
                self._checked(source, node)
        if not any(p for p in self.pairs.values()) and not self.edits:
            raise _Unclear("nothing is multiplied by the table")
        return Turns("", self.edits, self.note)

    def _add(self, source: Source, call: ast.AST, *edits: Edit) -> None:
        start, _ = source.span(call)
        self.edits.setdefault((source.path, start), []).extend(edits)

    def _complex(self, source: Source, node: ast.AST) -> None:
        """``x_ = torch.view_as_complex(x)``: a name for pairs from here on."""
        if not is_view(source, node, "view_as_complex"):
            return
        assert isinstance(node, ast.Call)
        stmt = source.parent(node)
        if isinstance(stmt, ast.Assign):
            self._name_pairs(source, stmt)
        elif not isinstance(stmt, ast.BinOp):
            raise _Unclear("what becomes of complex numbers is not seen")
        inner = node.args[0]
        start, end = source.span(node)
        first, last = source.span(inner)
        if source.text[start:first].count("(") != 1 or source.text[last:end].count(")") != 1:
            raise _Unclear("parentheses around what is made complex")
        plain = isinstance(inner, ast.Call | ast.Name | ast.Subscript | ast.Attribute)
        if plain and "\n" not in source.text[start:end]:
            self._add(source, node, Edit(start, first, ""), Edit(last, end, ""))
        elif "," not in source.text[last:end]:
            # The parentheses stay.
            self._add(source, node, patterns.replace(source, node.func, ""))
        else:
            raise _Unclear("a comma behind what is made complex")

    def _name_pairs(self, source: Source, stmt: ast.Assign) -> None:
        target = stmt.targets[0]
        scope = source.function(stmt)
        if len(stmt.targets) != 1 or not isinstance(target, ast.Name) or scope is None:
            raise _Unclear("complex numbers are kept elsewhere than in a local name")
        if target.id in self.carriers:
            raise _Unclear(f"{target.id} is a table in one place and not in another")
        block = source.parent(stmt)
        stores = [
            n
            for n in ast.walk(scope)
            if isinstance(n, ast.Name) and n.id == target.id and not isinstance(n.ctx, ast.Load)
        ]
        later = [n.lineno for n in stores if n.lineno > stmt.lineno]
        if any(source.parent(s) is not block for n in stores if (s := source.statement(n))):
            raise _Unclear(f"{target.id} is bound in several ways")
        end = min(later, default=10**9)
        lines = self.pairs.setdefault(scope, {}).setdefault(target.id, [])
        lines.append((stmt.end_lineno or stmt.lineno, end))

    def is_pairs(self, source: Source, node: ast.expr) -> bool:
        if is_view(source, node, "view_as_complex"):
            return True
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            return self._factors(source, node) is not None
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
            return False
        scope = source.function(node)
        lines = self.pairs.get(scope, {}).get(node.id, ()) if scope is not None else ()
        return any(first < node.lineno <= last for first, last in lines)

    def _factors(self, source: Source, node: ast.BinOp) -> tuple[ast.expr, ast.expr] | None:
        """The pairs and the table that are multiplied."""
        if self.is_pairs(source, node.left) and self.is_angle(source, node.right):
            return node.left, node.right
        if self.is_pairs(source, node.right) and self.is_angle(source, node.left):
            return node.right, node.left
        return None

    def _product(self, source: Source, node: ast.AST) -> None:
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
            return
        factors = self._factors(source, node)
        if factors is None:
            return
        pairs, angle = factors
        start, end = source.span(node)
        left, right = source.span(node.left), source.span(node.right)
        if source.text[left[1] : right[0]].strip(" ") != "*" or (start, end) != (left[0], right[1]):
            raise _Unclear("parentheses around a factor")
        parent = source.parent(node)
        if isinstance(parent, ast.Assign):
            self._name_pairs(source, parent)
        elif not is_view(source, parent, "view_as_real"):
            raise _Unclear("what becomes of a product is not seen")
        owner = self._owner(source, pairs)
        if pairs is node.left:
            self._add(source, owner, Edit(left[1], right[0], ", "))
        else:
            if not isinstance(pairs, ast.Name):
                raise _Unclear("the factors stand the other way round")
            self._add(source, owner, Edit(start, left[0], ""))
            text = source.text_of(angle)
            self._add(source, owner, Edit(start, end, f"{pairs.id}, {text}"))
        if isinstance(parent, ast.Assign):
            self._add(source, owner, Edit(start, start, f"{seam('turned')}("), Edit(end, end, ")"))
        else:
            assert isinstance(parent, ast.Call)
            self._add(source, parent, patterns.replace(source, parent.func, seam("turned")))

    def _owner(self, source: Source, pairs: ast.expr) -> ast.AST:
        """The call at which the edits of a use are made: where the name was made complex."""
        if isinstance(pairs, ast.Call):
            return pairs
        if isinstance(pairs, ast.BinOp):
            raise _Unclear("a product of a product")
        assert isinstance(pairs, ast.Name)
        scope = source.function(pairs)
        best: ast.AST | None = None
        for node in ast.walk(scope or source.tree):
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.targets[0], ast.Name)
                and node.targets[0].id == pairs.id
                and node.lineno < pairs.lineno
            ):
                best = node.value
        if best is None:
            raise _Unclear("where a complex number comes from is not seen")
        if isinstance(best, ast.BinOp):
            factors = self._factors(source, best)
            if factors is None:
                raise _Unclear("where a complex number comes from is not seen")
            return self._owner(source, factors[0])
        return best

    def _checked(self, source: Source, node: ast.AST) -> None:
        """Refuse what is not understood, write what remains."""
        if isinstance(node, ast.Call):
            if is_polar(source, node):
                self._write_polar(source, node)
            elif is_view(source, node, "view_as_real"):
                self._write_real(source, node)
        if isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            if name in self.carriers:
                self._check_carrier(source, node)
            elif isinstance(node, ast.Name) and self.is_pairs(source, node):
                self._check_pairs(source, node)
        elif isinstance(node, ast.Call) and _last(node.func) in self.makers:
            if self.is_angle(source, node):
                self._check_use(source, node)
        elif isinstance(node, ast.arguments):
            self._check_defaults(node)
        if isinstance(node, ast.Call) and _last(node.func) == "register_buffer":
            self._check_buffer(source, node)

    def _write_polar(self, source: Source, call: ast.Call) -> None:
        stmt = source.parent(call)
        if not isinstance(stmt, ast.Assign | ast.Return):
            raise _Unclear("what becomes of the table is not seen")
        angle = call.args[1]
        text = source.text_of(angle)
        if isinstance(angle, ast.BinOp) or "\n" in text:
            text = f"({text})"
        self._add(source, call, patterns.replace(source, call, text))

    def _write_real(self, source: Source, call: ast.Call) -> None:
        inner = call.args[0]
        if isinstance(inner, ast.BinOp) and self.is_pairs(source, inner):
            return
        if not isinstance(inner, ast.Name):
            raise _Unclear("complex numbers that are nobody's product")
        if not self.is_pairs(source, inner):
            raise _Unclear("what is made real is not seen to be complex")
        self._add(source, call, patterns.replace(source, call, inner.id))

    def _check_pairs(self, source: Source, name: ast.Name) -> None:
        """A name for complex numbers: multiplied, made real, or asked for its shape."""
        parent = source.parent(name)
        if isinstance(parent, ast.BinOp) and self._factors(source, parent) is not None:
            return
        if is_view(source, parent, "view_as_real"):
            return
        asked = isinstance(parent, ast.Attribute) and parent.attr in _SHAPES
        if isinstance(parent, ast.Call) and name in parent.args:
            asked = self._only_asked(parent, parent.args.index(name))
        if not asked:
            raise _Unclear(f"what is done with {name.id} is not seen")
        _, end = source.span(name)
        if isinstance(parent, ast.Attribute) and parent.attr == "device":
            return
        self._add(source, self._owner(source, name), Edit(end, end, "[..., 0]"))

    def _only_asked(self, call: ast.Call, place: int) -> bool:
        """Whether a function of the project only asks an argument for its shape."""
        known = self.functions.get(_last(call.func), ())
        for source, function in known:
            names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
            if place >= len(names):
                return False
            for node in ast.walk(function):
                if isinstance(node, ast.Name) and node.id == names[place]:
                    parent = source.parent(node)
                    if not isinstance(parent, ast.Attribute) or parent.attr not in _SHAPES:
                        return False
        return bool(known)

    def _check_carrier(self, source: Source, node: ast.Name | ast.Attribute) -> None:
        if isinstance(node.ctx, ast.Load):
            if isinstance(node, ast.Name) and self._is_before(source, node):
                return
            self._check_use(source, node)
            return
        if isinstance(node, ast.Name) and self._is_before(source, node):
            return
        parent = source.parent(node)
        value = parent.value if isinstance(parent, ast.Assign | ast.AnnAssign) else None
        if isinstance(parent, ast.AnnAssign) and value is None:
            return
        if value is None or not (
            self.is_angle(source, value)
            or (isinstance(value, ast.Constant) and value.value is None)
        ):
            raise _Unclear(f"{_last(node)} is more than the table")

    def _check_use(self, source: Source, node: ast.expr) -> None:
        """What the widest expression that is the table goes into."""
        parent = source.parent(node)
        if isinstance(parent, ast.Subscript) and parent.value is node:
            if isinstance(parent.ctx, ast.Load):
                return self._check_use(source, parent)
        elif isinstance(parent, ast.Attribute):
            call = source.parent(parent)
            if parent.attr in _ASKS:
                return None
            if parent.attr in ("real", "imag"):
                name = "cos" if parent.attr == "real" else "sin"
                start, end = patterns.attribute_name(source, parent)
                self._add(source, self._polar(source), Edit(start, end, f"{name}()"))
                return None
            if isinstance(call, ast.Call) and call.func is parent and self.is_angle(source, call):
                if parent.attr == "conj":
                    raise _Unclear("the table is turned round")
                return self._check_use(source, call)
        elif isinstance(parent, ast.List | ast.Tuple):
            call = source.parent(parent)
            if isinstance(call, ast.Call) and self.is_angle(source, call):
                return self._check_use(source, call)
        elif isinstance(parent, ast.IfExp) and parent.test is not node:
            return self._check_use(source, parent)
        elif isinstance(parent, (ast.Assign | ast.AnnAssign, ast.Return | ast.Expr | ast.Delete)):
            return None
        elif isinstance(parent, ast.Compare):
            if all(isinstance(o, ast.Is | ast.IsNot) for o in parent.ops):
                return None
        elif isinstance(parent, ast.BinOp):
            if self._factors(source, parent) is not None:
                return None
        elif isinstance(parent, ast.keyword):
            return None
        elif isinstance(parent, ast.Call) and node in parent.args:
            name = source.called(parent)
            if _last(parent.func) == "register_buffer" or "checkpoint" in name:
                return None
            if self.is_angle(source, parent):
                return self._check_use(source, parent)
            if not name.startswith("torch."):
                return None
        raise _Unclear(f"what is done with {_last(node) or 'the table'} is not seen")

    def _polar(self, source: Source) -> ast.AST:
        """A call that edits of a file can be made at."""
        for node in source.nodes:
            if is_polar(source, node):
                return node
        raise _Unclear("parts of the table are taken elsewhere")

    def _check_defaults(self, arguments: ast.arguments) -> None:
        plain = [*arguments.posonlyargs, *arguments.args]
        pairs = [
            *zip(reversed(plain), reversed(arguments.defaults), strict=False),
            *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
        ]
        for argument, default in pairs:
            if argument.arg not in self.carriers or default is None:
                continue
            if not isinstance(default, ast.Constant) or default.value is not None:
                raise _Unclear(f"{argument.arg} is more than the table")

    def _check_buffer(self, source: Source, call: ast.Call) -> None:
        """A buffer of real numbers is rounded with its module, and a checkpoint may hold the old."""
        if len(call.args) < 2 or not self.is_angle(source, call.args[1]):
            return
        for path in self.project.python:
            if _ROUNDS.search(self.project._text(path)):
                raise _Unclear("a module that is cast as a whole would round the angles")
        word = patterns.keyword(call, "persistent")
        kept = word.value if word is not None else call.args[2] if len(call.args) > 2 else None
        if isinstance(kept, ast.Constant) and kept.value is False:
            return
        owner = self._owner_of_buffer(source)
        if kept is None:
            edit = patterns.last_argument(source, call, "persistent=False")
        else:
            edit = patterns.replace(source, kept, "False")
        known = self.edits.get((source.path, source.span(owner)[0]), [])
        if edit not in known:
            self._add(source, owner, edit)
        self.note = "checkpoints that hold the complex table: leave it out when they are loaded"

    def _owner_of_buffer(self, source: Source) -> ast.AST:
        for node in source.nodes:
            if is_polar(source, node) or is_view(source, node, "view_as_complex"):
                return node
        raise _Unclear("the table is kept in another file than it is made in")


def is_polar(source: Source, node: ast.AST | None) -> bool:
    """``torch.polar(torch.ones_like(a), a)``."""
    if (
        not isinstance(node, ast.Call)
        or len(node.args) != 2
        or node.keywords
        or source.called(node) != "torch.polar"
    ):
        return False
    length, angle = node.args
    return (
        isinstance(length, ast.Call)
        and len(length.args) == 1
        and not length.keywords
        and source.called(length) == "torch.ones_like"
        and ast.dump(length.args[0]) == ast.dump(angle)
    )


def _polars(source: Source) -> Iterator[ast.Call]:
    for node in source.nodes:
        if is_polar(source, node):
            assert isinstance(node, ast.Call)
            yield node


def is_view(source: Source, node: ast.AST | None, name: str) -> bool:
    return (
        isinstance(node, ast.Call)
        and len(node.args) == 1
        and not node.keywords
        and source.called(node) == f"torch.{name}"
    )


def _moves(call: ast.Call) -> bool:
    """``x.to(device)``: a place and no dtype."""
    given = [*call.args, *(k.value for k in call.keywords)]
    if _last(call.func) != "to" or len(given) != 1:
        return False
    value = given[0]
    if call.keywords and call.keywords[0].arg != "device":
        return False
    if isinstance(value, ast.Constant):
        return isinstance(value.value, str | int)
    return bool(
        re.search(r"device$|^dev$|^rank$|^local_rank$|^current_device$", _last(value), re.I)
    )


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call):
        return _last(node.func)
    return _last(node.value) if isinstance(node, ast.Subscript) else ""
