"""Shapes of expressions that several codemods look for."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from neuronport.codemods.engine.model import Edit, seam
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.source import Source
from neuronport.findings import Finding, FixSafety, Verdict

_CUDA = re.compile(r"^cuda(?::(\d+))?$")
_AVAILABLE = frozenset({"torch.cuda.is_available"})


class CudaText(NamedTuple):
    """An expression that is the text of a CUDA device."""

    node: ast.expr
    number: str
    """The source of the device's number; empty: none."""


def cuda_text(source: Source, node: ast.AST | None) -> CudaText | None:
    """``"cuda"``, ``"cuda:1"``, ``f"cuda:{rank}"``, ``"cuda:" + str(rank)``, ``"cuda:%d" % rank``,
    ``"cuda:{}".format(rank)``."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        match = _CUDA.match(node.value)
        return CudaText(node, match[1] or "") if match else None
    if isinstance(node, ast.JoinedStr) and len(node.values) == 2:
        head, tail = node.values
        if (
            isinstance(head, ast.Constant)
            and head.value == "cuda:"
            and isinstance(tail, ast.FormattedValue)
            and tail.conversion == -1
            and tail.format_spec is None
            and not isinstance(tail.value, ast.Yield | ast.Await | ast.NamedExpr | ast.Starred)
        ):
            return CudaText(node, _inner(source, node, tail.value))
    if isinstance(node, ast.BinOp) and isinstance(node.left, ast.Constant):
        if isinstance(node.op, ast.Add) and node.left.value == "cuda:":
            right = node.right
            if (
                isinstance(right, ast.Call)
                and isinstance(right.func, ast.Name)
                and right.func.id == "str"
                and len(right.args) == 1
                and not right.keywords
            ):
                return CudaText(node, source.text_of(right.args[0]))
        if (
            isinstance(node.op, ast.Mod)
            and node.left.value in ("cuda:%d", "cuda:%s", "cuda:%i")
            and isinstance(node.right, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
        ):
            return CudaText(node, source.text_of(node.right))
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "format"
        and isinstance(node.func.value, ast.Constant)
        and node.func.value.value in ("cuda:{}", "cuda:{0}")
        and len(node.args) == 1
        and not node.keywords
        and not isinstance(node.args[0], ast.Starred)
    ):
        return CudaText(node, source.text_of(node.args[0]))
    return None


def _inner(source: Source, string: ast.JoinedStr, value: ast.expr) -> str:
    """The source of an expression in an f-string (before Python 3.12 it has no true position)."""
    text = source.text_of(string)
    start, end = text.find("{"), text.rfind("}")
    return text[start + 1 : end].strip() if 0 <= start < end else ast.unparse(value)


def outermost_text(source: Source, node: ast.AST) -> CudaText | None:
    """The whole expression that a device's text is part of: ``"cuda:" + str(rank)``."""
    best = cuda_text(source, node)
    for above in source.above(node):
        if not isinstance(above, ast.BinOp | ast.Call | ast.Attribute | ast.JoinedStr):
            break
        best = cuda_text(source, above) or best
    return best


def is_available(source: Source, node: ast.AST) -> bool:
    """``torch.cuda.is_available()``, by whatever name."""
    return (
        isinstance(node, ast.Call)
        and not node.args
        and not node.keywords
        and source.called(node) in _AVAILABLE
    )


def is_device_call(source: Source, node: ast.AST | None) -> bool:
    """``torch.device(one argument)``."""
    return (
        isinstance(node, ast.Call)
        and len(node.args) == 1
        and not node.keywords
        and not isinstance(node.args[0], ast.Starred)
        and source.called(node) == "torch.device"
    )


def is_cpu(source: Source, node: ast.AST) -> bool:
    """``"cpu"`` or ``torch.device("cpu")``."""
    if is_device_call(source, node):
        assert isinstance(node, ast.Call)
        node = node.args[0]
    return isinstance(node, ast.Constant) and node.value == "cpu"


def is_seam(source: Source, node: ast.AST) -> bool:
    """``device_name()`` of the seam, by whatever name."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    if node.func.id in ("device_name", "port_device_name"):
        return True
    dotted = source.imports.get(node.func.id, "")
    return dotted.rpartition(".")[2] == "device_name" and "neuron" in dotted


def replace(source: Source, node: ast.AST, text: str) -> Edit:
    start, end = source.span(node)
    return Edit(start, end, text)


def before(source: Source, node: ast.AST, text: str) -> Edit:
    start, _ = source.span(node)
    return Edit(start, start, text)


def after(source: Source, node: ast.AST, text: str) -> Edit:
    _, end = source.span(node)
    return Edit(end, end, text)


def attribute_name(source: Source, node: ast.Attribute) -> tuple[int, int]:
    """Where the name after the dot stands."""
    _, end = source.span(node)
    return end - len(node.attr), end


def opening(source: Source, call: ast.Call) -> int:
    """The character after a call's opening parenthesis."""
    _, end = source.span(call.func)
    at = end
    while source.text[at] != "(":
        # Only blanks, line ends and closing parentheses around the callee can be here.
        if source.text[at] not in " \t\r\n\\)":
            raise ValueError("no opening parenthesis where a call has one")
        at += 1
    return at + 1


def first_argument(source: Source, call: ast.Call, text: str) -> Edit:
    """Insert an argument before all others."""
    at = opening(source, call)
    return Edit(at, at, text if not (call.args or call.keywords) else f"{text}, ")


def last_argument(source: Source, call: ast.Call, text: str) -> Edit:
    """Insert an argument behind all others (there is at least one, or none at all)."""
    ends = [source.span(a)[1] for a in (*call.args, *(k.value for k in call.keywords))]
    if not ends:
        at = opening(source, call)
        return Edit(at, at, text)
    return Edit(max(ends), max(ends), f", {text}")


def keyword(call: ast.Call, name: str) -> ast.keyword | None:
    return next((k for k in call.keywords if k.arg == name), None)


def has_star(call: ast.Call) -> bool:
    """Whether arguments are passed that cannot be seen."""
    return any(isinstance(a, ast.Starred) for a in call.args) or any(
        k.arg is None for k in call.keywords
    )


def device_name(index: str = "") -> str:
    return f"{seam('device_name')}({index})"


def get_device(index: str = "") -> str:
    return f"{seam('get_device')}({index})"


def binds_loosely(node: ast.expr) -> bool:
    """Whether an expression needs parentheses as an operand of ``and``."""
    return isinstance(node, ast.IfExp | ast.Lambda | ast.NamedExpr | ast.Yield | ast.Starred) or (
        isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or)
    )


def operand(source: Source, node: ast.expr) -> str:
    """The source of an expression, to stand beside ``and``."""
    text = source.text_of(node)
    return f"({text})" if binds_loosely(node) else text


_CUDA_WORDS = re.compile(r"cuda|gpu|nccl|triton|flash|available", re.I)


_MARKER = re.compile(r"(^|\.)require_\w+$")


def is_guarded(finding: Finding) -> bool:
    """Whether a place runs only where CUDA is: Neuron skips it, so that nothing has to change.

    A test behind a marker such as ``require_torch_gpu`` is no such place: the marker is changed in
    one place, and then the test has to run.
    """
    return not _MARKER.search(finding.context.guarded_by) and bool(
        _CUDA_WORDS.search(finding.context.guarded_by)
    )


def is_skipped(finding: Finding) -> bool:
    """Whether a place does not run on Neuron, by whatever condition: a library that is not there, a
    flag that is off. The audit weakens what breaks to a lock-in then."""
    return is_guarded(finding) or (
        bool(finding.context.guarded_by) and finding.verdict is Verdict.LOCKS_IN
    )


_EARLY = (
    "asked when the module is imported: the first question to CUDA fixes which GPUs are visible, and "
    "a process forked afterwards cannot use CUDA"
)


def when_asked(source: Source, project: Project, node: ast.AST) -> tuple[FixSafety, str]:
    """How safe it is to ask for the device at a place: at import it can come too early."""
    if source.runs_at_import(node) and (source.is_default(node) or project.sets_visible_devices()):
        return FixSafety.REVIEW, _EARLY
    return FixSafety.SAFE, ""


ASKED_FIRST = (
    "parse what was asked for first (torch.device(name).type), and take Neuron only where it was "
    "asked for or where nothing was"
)


def mentions_request(nodes: list[ast.expr]) -> bool:
    """Whether conditions look at a device somebody asked for: ``name != "cpu"``."""
    return any(
        isinstance(n, ast.Constant)
        and isinstance(n.value, str)
        and n.value.partition(":")[0] in ("cpu", "cuda", "gpu", "mps", "xpu")
        for node in nodes
        for n in ast.walk(node)
    )


def written_guard(source: Source, finding: Finding) -> str:
    """``device == "cuda"``, where a place stands behind such a question; empty: behind none."""
    start, end = source.place(finding.location)
    for node in source.each(ast.If):
        if not _asks_for_cuda(node.test):
            continue
        first, last = source.span(node.body[0])[0], source.span(node.body[-1])[1]
        if first <= start and end <= last:
            return source.text_of(node.test)
    return ""


def _asks_for_cuda(test: ast.expr) -> bool:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(_asks_for_cuda(v) for v in test.values)
    return (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.ops[0], ast.Eq)
        and isinstance(test.comparators[0], ast.Constant)
        and test.comparators[0].value == "cuda"
    )
