"""Devices from one place: ``"cuda"``, ``.cuda()``, numbers, defaults, CUDA-or-CPU choices.

Text stays text and a device stays a device: where ``"cuda"`` stood comes ``device_name()``, where
``torch.device("cuda")`` stood comes ``get_device()``. With CUDA both are what was written; without
it, what raised runs on Neuron or on the CPU, and what chose the CPU chooses Neuron where it is.

Safe: ``x.cuda()`` and ``x.to("cuda")`` are documented to use the current CUDA device, which
``torch.device("cuda")`` is. Under review: what is evaluated when a module is imported (asking for
CUDA then fixes which GPUs are visible) in a project that sets ``CUDA_VISIBLE_DEVICES`` itself, and
receivers of ``.cuda()`` that may not have ``.to()``.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from neuronport.codemods.engine import patterns
from neuronport.codemods.engine.model import Change, Edit, Left, seam
from neuronport.codemods.engine.project import Project
from neuronport.codemods.engine.source import Source
from neuronport.findings import Confidence, Finding, FixSafety

TITLE = "Take the device from one place"

_ELSEWHERE = frozenset(
    [
        "torch.autocast",
        "torch.amp.autocast",
        "torch.amp.GradScaler",
        "torch.amp.custom_fwd",
        "torch.amp.custom_bwd",
        "torch.cuda.amp.autocast",
    ]
)
"""Calls whose device is more than a place; ``precision`` knows them."""
_MESHES = frozenset(
    [
        "torch.distributed.init_device_mesh",
        "torch.distributed.device_mesh.init_device_mesh",
        "torch.distributed.device_mesh.DeviceMesh",
    ]
)
_PLACING = frozenset(
    ["to", "new_zeros", "new_ones", "new_full", "new_empty", "new_tensor", "to_empty"]
)


def fix(finding: Finding, source: Source, project: Project) -> Change | Left | None:
    rule = finding.rule
    if rule in ("api/torch.Tensor.cuda", "api/torch.nn.Module.cuda"):
        return _method(finding, source, project)
    if rule == "cuda-or-cpu-choice":
        return _choice(finding, source, project)
    if rule == "pinned-memory":
        return _unpinned(finding, source)
    if rule == "integer-device":
        return _integer(finding, source, project)
    return _text(finding, source, project)


# ---- x.cuda() -------------------------------------------------------------------------------------


def _method(finding: Finding, source: Source, project: Project) -> Change | Left | None:
    call = source.at(finding, ast.Call)
    if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr != "cuda":
        return Left(
            finding,
            "unclear",
            "the method is handed on, not called",
            (".to(device) where it is called",),
        )
    if patterns.is_guarded(finding):
        return None
    if _asked_for_cuda(source, call, call.func.value):
        return Left(
            finding,
            "needs-a-person",
            "whether it has .cuda() is asked for, so it may have no .to()",
            (".to(device), where it has that",),
        )
    if patterns.has_star(call) or len(call.args) > 2:
        return Left(finding, "unclear", "its arguments are not written out", (".to(device)",))
    start, end = patterns.attribute_name(source, call.func)
    edits = [Edit(start, end, "to")]
    given = call.args[0] if call.args else None
    named = patterns.keyword(call, "device")
    if named is not None:
        given = named.value
    if given is None or (isinstance(given, ast.Constant) and given.value is None):
        if given is None:
            edits.append(patterns.first_argument(source, call, patterns.get_device()))
        else:
            edits.append(patterns.replace(source, given, patterns.get_device()))
    elif _is_a_device(given, source):
        pass
    elif patterns.cuda_text(source, given) is not None:
        text = patterns.cuda_text(source, given)
        assert text is not None
        edits.append(patterns.replace(source, given, patterns.get_device(text.number)))
    else:
        edits.append(patterns.before(source, given, f"{patterns.get_device()[:-1]}"))
        edits.append(patterns.after(source, given, ")"))
    if len(call.args) == 2:
        # ``.cuda(device, non_blocking)``: the second argument of ``.to`` is another one.
        edits.append(patterns.before(source, call.args[1], "non_blocking="))
    known = source.view.kind(source.receiver(call)).kind in ("tensor", "module")
    safety = FixSafety.SAFE if known or not project.has_own_cuda() else FixSafety.REVIEW
    if finding.confidence is Confidence.POSSIBLE:
        safety = FixSafety.REVIEW
    return Change(finding, "device-seam", safety, ".to() a device from one place", tuple(edits))


def _asked_for_cuda(source: Source, call: ast.Call, receiver: ast.expr) -> bool:
    """``if hasattr(x, "cuda"): x.cuda()``."""
    name = source.text_of(receiver)
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("hasattr", "getattr")
        and len(node.args) > 1
        and isinstance(node.args[1], ast.Constant)
        and node.args[1].value == "cuda"
        and source.text_of(node.args[0]) == name
        for above in source.above(call)
        if isinstance(above, ast.If | ast.IfExp | ast.BoolOp)
        for node in ast.walk(above if isinstance(above, ast.BoolOp) else above.test)
    )


def _is_a_device(node: ast.expr, source: Source) -> bool:
    """Whether an argument of ``.cuda()`` is a ``torch.device`` already."""
    if isinstance(node, ast.Attribute) and node.attr == "device":
        return True
    return any(event.kind == "attr" and event.name == "device" for event in source.events(node))


# ---- "cuda" ---------------------------------------------------------------------------------------


def _text(finding: Finding, source: Source, project: Project) -> Change | Left | None:
    node = source.at(finding, ast.Constant) or source.at(finding, ast.JoinedStr)
    if node is None:
        return None
    text = patterns.outermost_text(source, node)
    if text is None:
        return Left(
            finding,
            "unclear",
            "the text is put together in a way that is not followed",
            ("device_name(index) of the project's seam",),
        )
    if patterns.is_guarded(finding):
        return None
    if _is_one_of_several(source, text):
        return Left(
            finding,
            "needs-a-person",
            "several devices of one process are told apart here, and a Neuron process has one",
            ("one process per device under torchrun", "the number as a parameter"),
        )
    if finding.confidence is Confidence.POSSIBLE and not _is_place(source, text.node):
        return Left(
            finding,
            "unclear",
            "it is not certain that the text means a device here",
            ("device_name() of the project's seam, if it does",),
        )
    parent = source.parent(text.node)
    if isinstance(parent, ast.IfExp) and parent.test is not text.node:
        return None
    if isinstance(parent, ast.keyword):
        above = source.parent(parent)
        name = parent.arg or ""
    else:
        above, name = parent, ""
    if isinstance(above, ast.Call):
        return _argument(finding, source, project, text, above, name)
    return _placed(finding, source, project, text, patterns.device_name(text.number))


def _is_one_of_several(source: Source, text: patterns.CudaText) -> bool:
    """Whether ``"cuda:0"`` stands beside ``"cuda:1"`` in one function: as one device they would be
    the same, where as names they are not, on the CPU too."""
    if not text.number.isdigit():
        return False
    scope: ast.AST = next(
        (
            n
            for n in source.above(text.node)
            if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
        ),
        source.tree,
    )
    numbers = {
        found.number
        for node in ast.walk(scope)
        if (found := patterns.cuda_text(source, node)) is not None and found.number.isdigit()
    }
    return len(numbers) > 1


def _is_place(source: Source, node: ast.AST) -> bool:
    """Whether a text can only be a device, whatever else is not known about the place."""
    parent = source.parent(node)
    if isinstance(parent, ast.keyword):
        return parent.arg in ("device", "map_location")
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        target = parent.targets[0]
        return isinstance(target, ast.Name) and target.id == "device"
    if not isinstance(parent, ast.Call) or parent.args[:1] != [node]:
        return False
    if isinstance(parent.func, ast.Attribute) and parent.func.attr == "to":
        return len(parent.args) == 1
    return source.called(parent) == "torch.device"


def _argument(
    finding: Finding,
    source: Source,
    project: Project,
    text: patterns.CudaText,
    call: ast.Call,
    name: str,
) -> Change | Left | None:
    called = source.called(call)
    if called in _ELSEWHERE:
        return None
    if called == "functools.partial" and call.args and source.dotted(call.args[0]) in _ELSEWHERE:
        return _partial(finding, source, text, call, name)
    if name == "accelerator":
        return Left(
            finding,
            "needs-a-person",
            "a framework takes the accelerators that it knows, and Neuron may be none of them",
            ("what the framework has for Neuron, an accelerator of your own, or plain PyTorch",),
        )
    if called in _MESHES:
        return _placed(finding, source, project, text, patterns.device_name())
    if called == "torch.Generator":
        return Left(
            finding,
            "needs-a-person",
            "samplers draw on the CPU and want a CPU generator; what draws on the device wants the "
            "device's",
            ("torch.Generator().manual_seed(seed) for samplers and loaders",),
        )
    if called == "torch.device" and not name:
        if len(call.args) == 1 and not call.keywords:
            return _placed(
                finding, source, project, text, patterns.get_device(text.number), whole=call
            )
        if (
            len(call.args) == 2
            and not call.keywords
            and not text.number
            and not isinstance(call.args[1], ast.Starred)
        ):
            start, _ = source.span(call)
            inner, end = source.span(call.args[1])
            last = source.span(call)[1]
            edits = (
                Edit(start, inner, patterns.get_device()[:-1]),
                Edit(end, last, ")"),
            )
            return _change(finding, source, project, edits, text.node)
    if name == "pin_memory_device":
        return _pin(finding, source, call)
    if name in ("device_type",) or (name and "type" in name and text.number == ""):
        return _placed(finding, source, project, text, patterns.device_name())
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    is_device = (
        (name in ("device", "map_location") and called.startswith("torch."))
        or (not name and method in _PLACING and not called and call.args[:1] == [text.node])
        or (name == "device" and method in _PLACING)
    )
    spelled = patterns.get_device if is_device else patterns.device_name
    return _placed(finding, source, project, text, spelled(text.number))


def _partial(
    finding: Finding, source: Source, text: patterns.CudaText, call: ast.Call, name: str
) -> Change | Left:
    """``partial(autocast, device_type="cuda")``: on the CPU it was off, and stays off."""
    words = {k.arg for k in call.keywords}
    if (
        "autocast" not in (source.dotted(call.args[0]) or "")
        or name != "device_type"
        or len(call.args) > 1
        or words & {"enabled", None}
    ):
        return Left(
            finding,
            "unclear",
            "its arguments are not written out",
            ("torch.autocast(device.type, dtype=…, enabled=device.type != 'cpu')",),
        )
    dtype = "" if "dtype" in words else f", dtype={seam('half_dtype')}()"
    new = f'{patterns.device_name()}{dtype}, enabled={patterns.device_name()} != "cpu"'
    return Change(
        finding,
        "device-seam",
        FixSafety.REVIEW if dtype else FixSafety.SAFE,
        "Mixed precision of the device that is there",
        (patterns.replace(source, text.node, new),),
    )


def _unpinned(finding: Finding, source: Source) -> Change | Left | None:
    """The call whose ``pin_memory_device`` a finding is about; of ``pin_memory`` nothing is written."""
    start, end = source.place(finding.location)
    for node in source.nodes:
        if isinstance(node, ast.Call):
            word = patterns.keyword(node, "pin_memory_device")
            if word is not None and start <= source.span(word.value)[0] < end:
                return _pin(finding, source, node)
    return None


def _pin(finding: Finding, source: Source, call: ast.Call) -> Change | Left:
    """``pin_memory_device="cuda"``: the default, spelled for one vendor."""
    word = patterns.keyword(call, "pin_memory_device")
    assert word is not None
    start, end = source.span(word.value)
    at = start
    before = [source.span(a)[1] for a in call.args] + [
        source.span(k.value)[1] for k in call.keywords if source.span(k.value)[1] < start
    ]
    if not before:
        return Left(finding, "unclear", "nothing stands before the argument", ("leave it out",))
    at = max(before)
    return Change(
        finding,
        "device-seam",
        FixSafety.SAFE,
        "leave pin_memory_device out: without it the accelerator's is taken",
        (Edit(at, end, ""),),
    )


def _placed(
    finding: Finding,
    source: Source,
    project: Project,
    text: patterns.CudaText,
    new: str,
    whole: ast.AST | None = None,
) -> Change | Left:
    edit = patterns.replace(source, whole or text.node, new)
    return _change(finding, source, project, (edit,), text.node)


def _change(
    finding: Finding,
    source: Source,
    project: Project,
    edits: tuple[Edit, ...],
    node: ast.AST,
    title: str = "the device from one place",
) -> Change:
    safety, note = patterns.when_asked(source, project, node)
    return Change(finding, "device-seam", safety, title, edits, note=note)


# ---- numbers --------------------------------------------------------------------------------------


def _integer(finding: Finding, source: Source, project: Project) -> Change | Left | None:
    call = source.at(finding, ast.Call)
    node: ast.expr | None = None
    if call is not None:
        word = patterns.keyword(call, "device") or patterns.keyword(call, "map_location")
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        called = source.called(call)
        if word is not None and (called.startswith("torch.") or method in _PLACING):
            node = word.value
        elif method == "to" and call.args and not called:
            node = call.args[0]
        elif called == "torch.device" and len(call.args) == 1 and not call.keywords:
            if patterns.is_guarded(finding):
                return None
            start, _ = source.span(call)
            inner, _ = source.span(call.args[0])
            return _change(
                finding,
                source,
                project,
                (Edit(start, inner, patterns.get_device()[:-1]),),
                call,
                "the device type from one place, the number as it is",
            )
    if node is None or isinstance(node, ast.Starred | ast.Dict):
        return Left(
            finding,
            "needs-a-person",
            "a number is a CUDA device here, by the call's own convention",
            ("torch.device(device_type, index)", "no device map, and model.to(device)"),
        )
    if patterns.is_guarded(finding):
        return None
    if isinstance(node, ast.Call) and source.called(node).startswith("torch.cuda."):
        return None
    edits = (
        patterns.before(source, node, patterns.get_device()[:-1]),
        patterns.after(source, node, ")"),
    )
    return _change(
        finding, source, project, edits, node, "the device type from one place, the number as it is"
    )


# ---- "cuda" if torch.cuda.is_available() else "cpu" ------------------------------------------------


class _Branch:
    """One branch of a choice: a CUDA device as text or ``torch.device``, the CPU, or neither."""

    def __init__(self, source: Source, node: ast.expr) -> None:
        self.node = node
        self.is_device = patterns.is_device_call(source, node)
        inner: Any = node.args[0] if self.is_device else node  # type: ignore[attr-defined]
        self.text = patterns.cuda_text(source, inner)
        self.is_cpu = patterns.is_cpu(source, node)

    def new(self) -> str:
        assert self.text is not None
        spelled = patterns.get_device if self.is_device else patterns.device_name
        return spelled(self.text.number)


def _choice(finding: Finding, source: Source, project: Project) -> Change | Left | None:
    node = source.at(finding, ast.IfExp)
    if node is None:
        return None
    body, orelse = _Branch(source, node.body), _Branch(source, node.orelse)
    test = node.test
    negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    asked = test.operand if isinstance(test, ast.UnaryOp) and negated else test
    cuda, cpu = (orelse, body) if negated else (body, orelse)
    above = source.parent(node)
    if (
        isinstance(above, ast.IfExp)
        and above.orelse is node
        and "neuron" in source.text_of(above.body)
    ):
        return Left(finding, "done", "Neuron is asked for before", ())
    if cuda.text is None or not cpu.is_cpu or cuda.is_device is not cpu.is_device:
        return _unclear(finding, source, node)
    by_text = _by_text(finding, source, node, cuda, asked, negated)
    if by_text is not None:
        return by_text
    title = "Choose the device in one place that knows Neuron"
    if patterns.is_available(source, asked):
        whole: ast.AST = node
        new = cuda.new()
        parent = source.parent(node)
        if not cuda.is_device and patterns.is_device_call(source, parent):
            assert parent is not None
            whole, new = parent, patterns.get_device(cuda.text.number)
        # CUDA was asked at this place before: asking again at import changes nothing.
        return Change(
            finding, "device-seam", FixSafety.SAFE, title, (patterns.replace(source, whole, new),)
        )
    if isinstance(asked, ast.BoolOp) and isinstance(asked.op, ast.And) and not negated:
        rest = [v for v in asked.values if not patterns.is_available(source, v)]
        if len(rest) + 1 == len(asked.values) and not patterns.mentions_request(rest):
            edits = [patterns.replace(source, cuda.node, cuda.new())]
            values = asked.values
            i = next(i for i, v in enumerate(values) if patterns.is_available(source, v))
            if i + 1 < len(values):
                cut = (source.span(values[i])[0], source.span(values[i + 1])[0])
            else:
                cut = (source.span(values[i - 1])[1], source.span(values[i])[1])
            between = source.text[cut[0] : cut[1]]
            if "(" in between.replace("()", "") or ")" in between.replace("()", ""):
                return _unclear(finding, source, node)
            edits.append(Edit(*cut, ""))
            return _change(finding, source, project, tuple(edits), node, title)
    if isinstance(asked, ast.Name | ast.Attribute) and not negated:
        change = by_switch(finding, source)
        if change is not None and _is_option(asked):
            note = f"{source.text_of(asked)} then asks for the accelerator that is there"
            return replace(change, safety=FixSafety.REVIEW, note=note)
    return _unclear(finding, source, node)


def _is_option(node: ast.expr) -> bool:
    """``args.cuda``: set on the command line, most likely."""
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in ("args", "opt", "options", "opts", "flags", "FLAGS", "hparams", "cfg")
    )


def by_switch(finding: Finding, source: Source) -> Change | None:
    """The CUDA side of a choice, where the condition is rewritten elsewhere."""
    node = source.at(finding, ast.IfExp)
    if node is None:
        return None
    body, orelse = _Branch(source, node.body), _Branch(source, node.orelse)
    cuda, cpu = (body, orelse) if body.text is not None else (orelse, body)
    if cuda.text is None or not cpu.is_cpu or cuda.is_device is not cpu.is_device:
        return None
    edit = patterns.replace(source, cuda.node, cuda.new())
    return Change(finding, "device-seam", FixSafety.SAFE, TITLE, (edit,))


def _by_text(
    finding: Finding,
    source: Source,
    node: ast.IfExp,
    cuda: _Branch,
    asked: ast.expr,
    negated: bool,
) -> Change | None:
    """``"cuda" if "cuda" in device else "cpu"``: the type of a device that was chosen before.

    The same question for Neuron is put first, so that every other answer stays.
    """
    if negated or cuda.is_device or cuda.text is None or cuda.text.number:
        return None
    spot = _cuda_of_question(source, asked)
    if spot is None:
        return None
    word = source.text_of(cuda.node)
    neuron = word.replace("cuda", "neuron")
    question = source.text_of(asked)
    start, end = source.span(spot)
    at = source.span(asked)[0]
    question = f"{question[: start - at]}{neuron}{question[end - at :]}"
    return Change(
        finding,
        "device-seam",
        FixSafety.SAFE,
        "ask for Neuron the way CUDA is asked for",
        (patterns.before(source, node, f"{neuron} if {question} else "),),
        covers=(source.span(asked),),
    )


def _cuda_of_question(source: Source, asked: ast.expr) -> ast.expr | None:
    """The ``"cuda"`` in ``"cuda" in x``, ``x.startswith("cuda")``, ``x.type == "cuda"``."""
    if isinstance(asked, ast.Compare) and len(asked.ops) == 1:
        if isinstance(asked.ops[0], ast.In) and _is_cuda(asked.left):
            return asked.left
        if isinstance(asked.ops[0], ast.Eq) and _is_cuda(asked.comparators[0]):
            return asked.comparators[0]
    if (
        isinstance(asked, ast.Call)
        and isinstance(asked.func, ast.Attribute)
        and asked.func.attr == "startswith"
        and len(asked.args) == 1
        and _is_cuda(asked.args[0])
    ):
        return asked.args[0]
    return None


def _is_cuda(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == "cuda"


def _unclear(finding: Finding, source: Source, node: ast.IfExp) -> Left:
    return Left(
        finding,
        "needs-a-person",
        "the choice rests on more than whether CUDA is there: what was asked for comes first",
        (
            patterns.ASKED_FIRST,
            "get_device() of the project's seam where nothing was asked for",
        ),
    )
