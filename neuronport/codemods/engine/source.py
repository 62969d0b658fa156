"""One Python file being rewritten: its text, its tree, its facts and where everything stands."""

from __future__ import annotations

import ast
import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, TypeVar

from neuronport.audit import parse
from neuronport.codemods.engine.comments import comments
from neuronport.findings import Finding, Location
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView
from neuronport.workspace import Decoded, SourceFile, split_lines

Node = TypeVar("Node", bound=ast.AST)
_PLACED = (ast.expr, ast.stmt)
_BARREN = frozenset(["ctx", "id", "attr", "arg", "kind", "type_comment", "level", "module"])
"""Fields in which no node is, or none that means anything."""


_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {ast.Constant: ()}


def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    known = _FIELDS.get(kind)
    if known is None:
        known = _FIELDS[kind] = tuple(f for f in kind._fields if f not in _BARREN)
    return known


class Source:
    """What codemods ask about a file; parsed when first asked for more than its text."""

    def __init__(self, file: SourceFile, decoded: Decoded, view: Callable[[], ModuleView]) -> None:
        self.file = file
        self.path = file.path
        self.decoded = decoded
        self.text = decoded.text
        self.newline = "\n" if decoded.newline == "mixed" else decoded.newline
        self._view = view

    @cached_property
    def view(self) -> ModuleView:
        """The file as detectors see it."""
        return self._view()

    @cached_property
    def tree(self) -> ast.Module:
        return parse(self.text)

    @cached_property
    def lines(self) -> list[str]:
        return split_lines(self.text)

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate(map(len, self.lines), initial=0))

    # ---- places ---------------------------------------------------------------------------------

    @cached_property
    def _wide(self) -> dict[int, array[int]]:
        return {}

    def offset(self, line: int, column: int) -> int:
        """The character a place of ``ast`` (line from 1, UTF-8 column from 0) is."""
        if line > len(self.lines):
            return len(self.text)
        text = self.lines[line - 1]
        if not text.isascii():
            columns = self._columns(line)
            column = columns[min(column, len(columns) - 1)]
        return self._starts[line - 1] + column

    def _columns(self, line: int) -> Sequence[int]:
        """For each byte of a line in UTF-8, and for its end, the character it is of. A line may be a
        whole file: it is not decoded again for each place on it."""
        known = self._wide.get(line)
        if known is None:
            known = self._wide[line] = array("L")
            for i, character in enumerate(self.lines[line - 1]):
                known.extend([i] * len(character.encode("utf-8", "surrogatepass")))
            known.append(len(self.lines[line - 1]))
        return known

    def span(self, node: ast.AST) -> tuple[int, int]:
        """The characters of a node, the end exclusive."""
        n: Any = node
        return self.offset(n.lineno, n.col_offset), self.offset(n.end_lineno, n.end_col_offset)

    def place(self, location: Location) -> tuple[int, int]:
        """The characters of a finding."""
        return (
            self._starts[location.line - 1] + location.column - 1,
            self._starts[location.end_line - 1] + location.end_column - 1,
        )

    def text_of(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def line_of(self, offset: int) -> int:
        """The line, from 1, that a character stands on."""
        low, high = 0, len(self._starts) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self._starts[middle] <= offset:
                low = middle
            else:
                high = middle - 1
        return low + 1

    def line_start(self, line: int) -> int:
        return self._starts[line - 1] if line <= len(self.lines) else len(self.text)

    # ---- the tree -------------------------------------------------------------------------------

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree, in the order of ``ast.walk``."""
        return self._walked[0]

    @cached_property
    def _walked(self) -> tuple[list[ast.AST], dict[ast.AST, ast.AST]]:
        """The nodes and what each is in: a file is walked once, whatever is asked of it."""
        nodes: list[ast.AST] = [self.tree]
        parents: dict[ast.AST, ast.AST] = {}
        add = nodes.append
        for node in nodes:
            for name in _fields(type(node)):
                value = getattr(node, name, None)
                if type(value) is list:
                    for item in value:
                        if isinstance(item, ast.AST):
                            parents[item] = node
                            add(item)
                elif isinstance(value, ast.AST):
                    parents[value] = node
                    add(value)
        return nodes, parents

    def each(self, *kinds: type[Node]) -> list[Node]:
        """All nodes of some kinds, in the order of ``nodes``; a kind is what a node is exactly."""
        known = self._each.get(kinds)
        if known is None:
            wanted = frozenset(kinds)
            known = self._each[kinds] = [n for n in self.nodes if type(n) in wanted]
        return known

    @cached_property
    def _each(self) -> dict[tuple[Any, ...], list[Any]]:
        return {}

    @cached_property
    def _placed(self) -> dict[int, list[ast.expr | ast.stmt]]:
        """Expressions and statements by the line that they begin on."""
        found: dict[int, list[ast.expr | ast.stmt]] = {}
        for node in self.nodes:
            if isinstance(node, _PLACED):
                found.setdefault(node.lineno, []).append(node)
        return found

    @property
    def _parents(self) -> dict[ast.AST, ast.AST]:
        return self._walked[1]

    def _utf8(self, line: int, column: int) -> int:
        """The column of ``ast`` (from 0, in UTF-8) of a column of a finding (from 1)."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        if text.isascii():
            return column - 1
        return bisect_left(self._columns(line), column - 1)

    def at(self, finding: Finding, kind: type[Node]) -> Node | None:
        """The one node of a kind that a finding is about; None: there is none, or several."""
        at = finding.location
        key = (
            self._utf8(at.line, at.column),
            at.end_line,
            self._utf8(at.end_line, at.end_column),
        )
        found = [
            n
            for n in self._placed.get(at.line, ())
            if isinstance(n, kind) and (n.col_offset, n.end_lineno, n.end_col_offset) == key
        ]
        return found[0] if len(found) == 1 else None

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self._parents.get(node)

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes a node is in, innermost first."""
        above = self._parents.get(node)
        while above is not None:
            yield above
            above = self._parents.get(above)

    def function(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The innermost function that a node is in."""
        kinds = ast.FunctionDef | ast.AsyncFunctionDef
        return next((a for a in self.above(node) if isinstance(a, kinds)), None)

    def statement(self, node: ast.AST) -> ast.stmt | None:
        while node is not None and not isinstance(node, ast.stmt):
            node = self._parents.get(node)  # type: ignore[assignment]
        return node

    def first_at_line(self, line: int) -> ast.stmt | None:
        """The innermost statement that spans a line."""
        best: ast.stmt | None = None
        for node in self.nodes:
            if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
                best = node if best is None or node.lineno >= best.lineno else best
        return best

    def runs_at_import(self, node: ast.AST) -> bool:
        """Whether a place runs when the module is imported, defaults of functions included."""
        below = node
        for above in self.above(node):
            if isinstance(above, ast.Lambda) and below is above.body:
                return False
            if isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef) and below in above.body:
                return False
            if isinstance(above, ast.If) and _is_main(above.test):
                return False
            below = above
        return True

    def is_default(self, node: ast.AST) -> bool:
        """Whether a place is the default of a parameter, or stands in the body of a class."""
        below = node
        for above in self.above(node):
            if isinstance(above, ast.arguments):
                return True
            if isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef) and below in above.body:
                return False
            if isinstance(above, ast.ClassDef) and below in above.body:
                return True
            below = above
        return False

    # ---- meaning --------------------------------------------------------------------------------

    @cached_property
    def _events(self) -> dict[tuple[int, int], list[Event]]:
        found: dict[tuple[int, int], list[Event]] = {}
        for event in self.view.facts.events:
            span = event.span
            key = (
                self.offset(span.line, span.column),
                self.offset(span.end_line, span.end_column),
            )
            found.setdefault(key, []).append(event)
        return found

    def events(self, node: ast.AST) -> Sequence[Event]:
        """The events at a node."""
        return self._events.get(self.span(node), ())

    def called(self, call: ast.Call) -> str:
        """The canonical dotted name of what is called; '' when it is not known by name."""
        for event in self.events(call):
            if event.kind == "use":
                return self.view.index.canonical(event.name, self.view.summary)
        return self.dotted(call.func)

    def dotted(self, node: ast.AST) -> str:
        """The dotted name an expression is, through the imports of the file."""
        for event in self.events(node):
            if event.kind == "use":
                return self.view.index.canonical(event.name, self.view.summary)
        names = []
        current: ast.AST = node
        while isinstance(current, ast.Attribute):
            names.append(current.attr)
            current = current.value
        if not isinstance(current, ast.Name):
            return ""
        head = self.imports.get(current.id)
        if head is None:
            return ""
        return ".".join([head, *reversed(names)])

    def receiver(self, call: ast.Call) -> Value:
        """What a method is called on, as the facts know it."""
        for event in self.events(call):
            if event.kind == "method":
                return event.value
        return None

    @cached_property
    def imports(self) -> dict[str, str]:
        """Names that only imports of external modules bind, and what they stand for."""
        found: dict[str, str] = {}
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.asname:
                        found[alias.asname] = alias.name
                    else:
                        head = alias.name.partition(".")[0]
                        found[head] = head
            elif isinstance(node, ast.ImportFrom) and not node.level:
                for alias in node.names:
                    found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        return found

    @cached_property
    def bound(self) -> frozenset[str]:
        """Every name the file binds or reads anywhere."""
        names: set[str] = set()
        for node in self.nodes:
            if isinstance(node, ast.Name):
                names.add(node.id)
            elif isinstance(node, ast.arg):
                names.add(node.arg)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.alias):
                names.add(node.asname or node.name.partition(".")[0])
            elif isinstance(node, ast.ExceptHandler) and node.name:
                names.add(node.name)
        return frozenset(names)

    def binds(self, name: str) -> bool:
        """Whether the file binds or reads a name anywhere."""
        # Most names are not there at all, or only as attributes: no need to look at the tree.
        return (
            re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", self.text) is not None
            and name in self.bound
        )

    @cached_property
    def comments(self) -> list[tuple[int, str]] | None:
        """The comments and where they begin; None: they cannot be told."""
        return comments(self.text)

    def has_comment(self, start: int, end: int) -> bool:
        """Whether a comment stands between two characters."""
        if "#" not in self.text[start:end]:
            return False
        known = self.comments
        return known is None or any(start <= at < end for at, _ in known)


def _is_main(test: ast.expr) -> bool:
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.left, ast.Name)
        and test.left.id == "__name__"
    )
