"""Capturing the graph of a call, and what is done when a way fails.

1. ``torch.export`` (non-strict) on tensors without storage, CUDA placement redirected.
2. ``draft_export`` on real tensors: a branch on data takes the way the example takes, and is said.
3. ``torch._dynamo.explain``: where compiled code breaks into several graphs.
4. One run on real tensors, written down as it happens: the way the example takes, too.
5. Submodule by submodule: one that cannot be captured does not hide the others.

Every failure is listed with the user's line.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.utils import _pytree as pytree

from neuronport.graph.capture import containers, live, nodes, quick, sites
from neuronport.graph.capture.model import InputSet, Model, NamingError
from neuronport.graph.capture.placement import LEAVING, Redirects

_PARTS = 64
"""At most so many submodules are tried one by one."""


@dataclass
class Captured:
    """One graph, or what is left of one."""

    name: str
    mode: str
    how: str
    """``export``, ``draft-export``, ``run``, ``submodule``; ``given``: it came as an exported
    program."""
    record: nodes.GraphRecord
    program: torch.export.ExportedProgram | None = None
    module: str = ""
    """The submodule that was captured alone."""
    arguments: Any = None
    """What it was called with: arguments and keyword arguments."""
    held: dict[str, torch.Tensor] = field(default_factory=dict)
    """What the inputs of a run held."""
    unvalued: str = ""
    """Why its inputs' values could not be kept."""
    seconds: float = 0.0
    """What capturing it took, attempts that failed among it."""


@dataclass
class Attempt:
    """Everything learnt about one model."""

    numbers: sites.Sites
    graphs: list[Captured] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)
    breaks: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    """When what is being captured began to be."""

    def note(self, text: str) -> None:
        """Once."""
        if text not in self.notes:
            self.notes.append(text)

    def failed(self, step: str, graph: str, error: BaseException, module: str = "") -> None:
        frames = sites.of_exception(error)
        if not self.numbers.of(frames):
            with contextlib.suppress(Exception):  # code of the user's, too
                frames = sites.of_text(str(error))  # Dynamo quotes the user's code in its message
        row = {
            "step": step,
            "graph": graph,
            "error": type(error).__name__,
            "reason": reason(error),
            "module": module,
            **self.numbers.of(frames),
        }
        self.failures.append({k: v for k, v in row.items() if v not in ("", None)})

    def left(self, graph: str, what: str, frames: tuple[sites.Frame, ...]) -> None:
        """Values went to Python."""
        row = {
            "step": "run",
            "graph": graph,
            "error": "left",
            "reason": f"{what}() takes values out: what is computed with them is not in the graph",
            **self.numbers.of(frames),
        }
        if row not in self.failures:
            self.failures.append(row)


def reason(error: BaseException) -> str:
    """What an exception says, as one line."""
    try:
        said = str(error)
    except Exception:  # code of the user's, too
        said = ""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    explained = next((x for x in lines if x.startswith("Explanation:")), "")
    if explained and lines[0] not in explained:
        return f"{lines[0]}: {explained.removeprefix('Explanation:').strip()}"[:300]
    return lines[0][:300]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without warnings about attempts: what matters of them comes back as data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Builder:
    """Builds the model and its inputs, without storage where possible."""

    def __init__(self, model: Model, attempt: Attempt, redirects: Redirects) -> None:
        self.model = model
        self.attempt = attempt
        self.redirects = redirects
        self.device = "meta" if model.on_meta else "cpu"
        self._built: dict[str, torch.nn.Module] = {}

    def module(self, device: str | None = None) -> torch.nn.Module:
        """The model on a device, once each.

        Raises NamingError, and what the user's constructor raises on the CPU.
        """
        device = device or self.device
        found = self._built.get(device)
        if found is not None:
            return found
        self.redirects.device = device
        try:
            with self.redirects.active(), torch.device(device):
                found = self.model.build()
        except NamingError:
            raise
        except Exception as error:
            if device == "cpu":
                raise
            self.attempt.failed("build-without-storage", "", error)
            self.attempt.note("built on the CPU with storage: its constructor reads values")
            self.device = "cpu"
            return self.module("cpu")
        if device == "meta" and any(p.device.type != "meta" for p in found.parameters()):
            self.attempt.note("built on the CPU with storage: it names a device itself")
            self.device = "cpu"
            return self.module("cpu")
        self._built[device] = found
        return found

    def inputs(self, training: bool = False, device: str | None = None) -> list[InputSet]:
        device = device or self.device
        module = self.module(device)
        make = self.model.training_inputs if training and self.model.training_inputs else None
        with self.redirects.active(), torch.device(device):
            sets = list((make or self.model.inputs)(module))
        return [_placed(s, device) for s in sets]


def _placed(given: InputSet, device: str) -> InputSet:
    def move(value: Any) -> Any:
        return value.to(device) if isinstance(value, torch.Tensor) else value

    args, kwargs = pytree.tree_map(move, (given.args, dict(given.kwargs)))
    return replace(given, args=args, kwargs=kwargs)


def capture(builder: Builder, given: InputSet, attempt: Attempt, training: bool) -> None:
    """Captures a call of the model and those that follow from it."""
    current: InputSet | None = given
    while current is not None:
        before = len(attempt.graphs)
        _one(builder, current, attempt, training)
        made = [g for g in attempt.graphs[before:] if not g.module]
        if current.following is None or not made:
            return
        current = _next(builder, current, made[0].program, attempt)


def _next(
    builder: Builder,
    given: InputSet,
    program: torch.export.ExportedProgram | None,
    attempt: Attempt,
) -> InputSet | None:
    """The following call, from the output of one that was captured: shapes are all it takes."""
    if program is None:
        found = _step(
            "following", attempt, given.name, lambda: _followed_again(builder, given.name)
        )
        return found if isinstance(found, InputSet) else None
    (result,) = [n for n in program.graph.nodes if n.op == "output"]
    specs = program.graph_signature.output_specs
    values = [
        n.meta.get("val") if isinstance(n, torch.fx.Node) else n
        for n, spec in zip(result.args[0], specs, strict=False)
        if spec.kind.name == "USER_OUTPUT"
    ]

    def run() -> Any:
        assert given.following is not None
        output = pytree.tree_unflatten(values, program.call_spec.out_spec)
        with torch.device(builder.device):
            following = given.following(output)
        return following and _unfaked(following, builder.device)

    found = _step("following", attempt, given.name, run)
    return found if isinstance(found, InputSet) else None


def _unfaked(given: InputSet, device: str) -> InputSet:
    def made(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        sizes = [int(s) for s in value.shape]
        return torch.zeros(sizes, dtype=value.dtype, device=device)

    args, kwargs = pytree.tree_map(made, (given.args, dict(given.kwargs)))
    return replace(given, args=args, kwargs=kwargs)


def _one(builder: Builder, given: InputSet, attempt: Attempt, training: bool) -> None:
    """Captures one call, as far down the ladder as it takes."""
    mode = "training" if training else "inference"
    name = given.name
    attempt.began = time.monotonic()
    module = builder.module()
    module.train(training)
    program = _step(
        "export",
        attempt,
        name,
        lambda: _export(builder, module, given),
    )
    if program is not None:
        _keep(attempt, name, mode, "export", program, given.cache)
        return
    if builder.device == "meta" and "meta" in attempt.failures[-1]["reason"].lower():
        # code that names the CPU, or reads values of what it has made itself
        program = _step(
            "export-with-storage", attempt, name, lambda: _stored(builder, name, training)
        )
        if program is not None:
            _keep(attempt, name, mode, "export", program, given.cache)
            return
    program = _step("draft-export", attempt, name, lambda: _draft(builder, name, attempt, training))
    _explain(builder, name, attempt, training)
    if program is not None:
        _keep(attempt, name, mode, "draft-export", program, given.cache)
        return
    if _step("run", attempt, name, lambda: _run(builder, name, attempt, training)):
        return
    _parts(builder, module, given, attempt, mode)


def _run(builder: Builder, name: str, attempt: Attempt, training: bool) -> bool:
    """One run with values."""
    module, given = again(builder, name, training)
    record = nodes.GraphRecord(name, attempt.numbers)
    args, kwargs = given.args, dict(given.kwargs)
    with builder.redirects.active(reading=True):
        how, held = live.run(module, args, kwargs, record, training, builder.model.loss)
    for what, frames in builder.redirects.reads:
        if what in LEAVING:
            attempt.left(name, what, frames)
    if how:
        attempt.note(f"{name}: the loss is {how}")
    graph = Captured(name, "training" if training else "inference", "run", record, held=held)
    graph.seconds = time.monotonic() - attempt.began
    attempt.graphs.append(graph)
    return True


def _keep(
    attempt: Attempt,
    name: str,
    mode: str,
    how: str,
    program: torch.export.ExportedProgram,
    cache: bool,
    module: str = "",
    arguments: Any = None,
) -> None:
    record = nodes.GraphRecord(name, attempt.numbers)
    nodes.of_exported(program, record, cache)
    graph = Captured(name, mode, how, record, program, module, arguments)
    graph.seconds = time.monotonic() - attempt.began
    attempt.graphs.append(graph)


def _step(step: str, attempt: Attempt, graph: str, run: Callable[[], Any], module: str = "") -> Any:
    try:
        with quiet():
            return run()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # torch raises some that are no Exception; code may exit
        attempt.failed(step, graph, error, module)
        return None


def _export(builder: Builder, module: torch.nn.Module, given: InputSet) -> Any:
    with builder.redirects.active(reading=True):
        return _apart(
            lambda: torch.export.export(module, given.args, dict(given.kwargs), strict=False)
        )


def _stored(builder: Builder, name: str, training: bool) -> Any:
    module, given = again(builder, name, training)
    return _export(builder, module, given)


def _apart(export: Callable[[], Any]) -> Any:
    """Exports; of classes that torch cannot take apart it is told how, one after the other."""
    while True:
        try:
            with sites.whole_stacks(), quick.uncompiled():
                return export()
        except (RuntimeError, ValueError) as error:
            cls = containers.wanted(str(error))
            if cls is None:
                raise
        containers.register(cls)


def again(builder: Builder, name: str, training: bool) -> tuple[torch.nn.Module, InputSet]:
    """The same call with values."""
    module = builder.module("cpu")
    module.train(training)
    for given in builder.inputs(training, "cpu"):
        current: InputSet | None = given
        while current is not None:
            if current.name == name:
                return module, current
            current = followed(builder, module, current)
    raise LookupError(name)


def followed(builder: Builder, module: torch.nn.Module, given: InputSet) -> InputSet | None:
    """The following call, by running the one before."""
    if given.following is None:
        return None
    with builder.redirects.active(), torch.no_grad():
        return given.following(module(*given.args, **given.kwargs))


def _followed_again(builder: Builder, name: str) -> InputSet | None:
    module, given = again(builder, name, training=False)
    return followed(builder, module, given)


def _draft(builder: Builder, name: str, attempt: Attempt, training: bool) -> Any:
    module, given = again(builder, name, training)
    with builder.redirects.active(reading=True):
        program = _apart(lambda: torch.export.draft_export(module, given.args, dict(given.kwargs)))
    report = getattr(program, "_report", None)
    for failure in getattr(report, "failures", ()):
        row = {
            "step": "draft-export",
            "graph": name,
            "error": failure.failure_type.name.lower().replace("_", "-"),
            "reason": _assumed(failure.data),
            **attempt.numbers.of(_report_frames(failure.data.get("stack"), report)),
        }
        attempt.failures.append(row)
    return program


def _assumed(data: dict[str, Any]) -> str:
    if "expr" in data:
        return f"assumed {data['expr']}" + (f" is {data['result']}" if "result" in data else "")
    return str(data.get("reason") or data.get("op") or "").splitlines()[0][:300]


def _report_frames(stack: Any, report: Any) -> list[sites.Frame]:
    """The frames of a row of the report, which numbers the files."""
    files = getattr(report, "str_to_filename", {})
    return [
        (files[row["filename"]], int(row["line"]), str(row["name"]))
        for row in stack or ()
        if row.get("filename") in files
    ]


def _explain(builder: Builder, name: str, attempt: Attempt, training: bool) -> None:
    """Where ``torch.compile`` would cut the graph."""

    def run() -> Any:
        module, given = again(builder, name, training)
        with torch.no_grad() if not training else contextlib.nullcontext():
            return torch._dynamo.explain(module)(*given.args, **given.kwargs)

    output = _step("explain", attempt, name, run)
    for cut in getattr(output, "break_reasons", ()):
        frames = [(f.filename, f.lineno or 0, f.name) for f in cut.user_stack]
        lines = [line.strip() for line in str(cut.reason).splitlines() if line.strip()]
        attempt.breaks.append(
            {"graph": name, "reason": lines[0][:300] if lines else "", **attempt.numbers.of(frames)}
        )


# -- part by part -----------------------------------------------------------------------------------


def _parts(
    builder: Builder, module: torch.nn.Module, given: InputSet, attempt: Attempt, mode: str
) -> None:
    """Captures what can be captured alone: children first seen, failing ones split again."""
    training = mode == "training"
    seen = _step("run", attempt, given.name, lambda: _observed(builder, given.name, training))
    calls: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = seen or {}
    pending = [name for name, _ in builder.module("cpu").named_children()]
    tried = 0
    by_name = dict(builder.module("cpu").named_modules())
    while pending and tried < _PARTS:
        path = pending.pop(0)
        part = by_name[path]
        if path not in calls:
            pending = [f"{path}.{n}" for n, _ in part.named_children()] + pending
            continue
        tried += 1
        attempt.began = time.monotonic()
        args, kwargs = calls[path]

        def run(
            part: torch.nn.Module = part,
            args: tuple[Any, ...] = args,
            kwargs: dict[str, Any] = kwargs,
        ) -> Any:
            with builder.redirects.active():
                return _apart(lambda: torch.export.export(part, args, kwargs, strict=False))

        program = _step("submodule", attempt, given.name, run, path)
        if program is not None:
            _keep(attempt, given.name, mode, "submodule", program, False, path, calls[path])
        else:
            pending = [f"{path}.{n}" for n, _ in part.named_children()] + pending
    if pending:
        attempt.note(
            f"{given.name}: {_PARTS} submodules were captured one by one; not looked at:"
            f" {', '.join(pending[:8])}{' …' if len(pending) > 8 else ''}"
        )


def _observed(
    builder: Builder, name: str, training: bool
) -> dict[str, tuple[tuple[Any, ...], dict[str, Any]]]:
    """The arguments with which each submodule is called first, by running the model once."""
    module, given = again(builder, name, training)
    calls: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {}
    handles = []

    def hook(path: str) -> Callable[..., None]:
        def keep(part: torch.nn.Module, args: Any, kwargs: Any) -> None:
            calls.setdefault(path, _detached((args, kwargs)))

        return keep

    for path, part in module.named_modules():
        if path:
            handles.append(part.register_forward_pre_hook(hook(path), with_kwargs=True))
    try:
        with builder.redirects.active(), torch.no_grad():
            module(*given.args, **given.kwargs)
    except Exception as error:  # what ran before has been seen
        builder.attempt.failed("run", name, error)
    finally:
        for handle in handles:
            handle.remove()
    return calls


def _detached(value: Any) -> Any:
    return pytree.tree_map(lambda v: v.detach() if isinstance(v, torch.Tensor) else v, value)
