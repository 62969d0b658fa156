"""One request from beginning to end."""

from __future__ import annotations

import sys
import time
from typing import Any

import torch

from neuronport.graph.capture import encode, ladder, nodes, placement, sites, training, values
from neuronport.graph.capture.model import Model, NamingError
from neuronport.graph.capture.placement import Redirects
from neuronport.graph.capture.sources import Request, find


def captured(request: dict[str, Any]) -> dict[str, Any]:
    """The record of a request; ``{"error": …}`` when there is no model to look at."""
    numbers = sites.Sites()
    attempt = ladder.Attempt(numbers)
    wanted = Request(
        request["model"],
        request.get("inputs", ()),
        request.get("dtype", ""),
        request.get("batch", 1),
        request.get("sequence", 128),
        request.get("cache", 0),
        request.get("overrides", ()),
    )
    redirects = Redirects("meta")
    what = "the model cannot be built"
    try:
        with redirects.active():
            model = find(wanted)
        builder = ladder.Builder(model, attempt, redirects)
        module = builder.module()
        what = "its inputs cannot be made"
        builder.inputs()
    except NamingError as error:
        return {"error": str(error)}
    except Exception as error:
        attempt.failed("build", "", error)
        where = attempt.failures[-1]
        return {
            "error": f"{what}: {where['error']}: {where['reason']}",
            "failures": attempt.failures,
            "sites": numbers.as_json(),
        }
    store = values.Store(request["values"]) if request.get("values") else None
    for mode in request.get("modes", ("inference",)):
        _mode(builder, model, attempt, mode, store)
    return {
        "model": {
            "name": model.name,
            "kind": model.kind,
            "class": type(module).__name__,
            "device": builder.device,
            "parameters": _tensors(module.named_parameters(), trainable=True),
            "buffers": _tensors(module.named_buffers()),
            "modules": _modules(module),
        },
        "graphs": [
            {
                "name": g.name,
                "mode": g.mode,
                "how": g.how,
                "module": g.module,
                "loss": getattr(g, "loss", ""),
                "unvalued": g.unvalued,
                "seconds": round(g.seconds, 4),
                **g.record.as_json(),
            }
            for g in attempt.graphs
        ],
        "failures": attempt.failures,
        "breaks": attempt.breaks,
        "redirects": placement.as_json(redirects.noted, numbers),
        "reads": placement.as_json(redirects.reads, numbers),
        "notes": attempt.notes,
        "sites": numbers.as_json(),
    }


def _mode(
    builder: ladder.Builder,
    model: Model,
    attempt: ladder.Attempt,
    mode: str,
    store: values.Store | None,
) -> None:
    training_ = mode == "training"
    if model.exported is not None:
        if training_:
            attempt.note("an exported program is a forward: no training graph")
            return
        record = nodes.GraphRecord("forward", attempt.numbers)
        nodes.of_exported(model.exported, record)
        graph = ladder.Captured("forward", mode, "given", record, model.exported)
        attempt.graphs.append(graph)
        if store is not None:
            values.given(store, graph, model.exported)
        return
    try:
        sets = builder.inputs(training_)
    except NamingError as error:
        attempt.note(f"{mode}: {error}")
        return
    for given in sets:
        first = len(attempt.graphs)
        ladder.capture(builder, given, attempt, training_)
        if not training_:
            for graph in attempt.graphs[first:]:
                _stored(store, builder, attempt, graph, graph.program, training_)
                graph.program = None  # graphs of large models are large
            continue
        forwards = attempt.graphs[first:]
        del attempt.graphs[first:]
        for forward in forwards:
            program = forward.program
            if forward.how == "run":  # its backward ran, too
                attempt.graphs.append(forward)
                _stored(store, builder, attempt, forward, None, training_)
                continue
            began = time.monotonic()
            _train(builder, model, attempt, forward, given)
            forward.seconds += time.monotonic() - began
            _stored(store, builder, attempt, forward, program, training_)


def _stored(
    store: values.Store | None,
    builder: ladder.Builder,
    attempt: ladder.Attempt,
    graph: ladder.Captured,
    program: torch.export.ExportedProgram | None,
    training_: bool,
) -> None:
    if store is not None and graph.held:
        values.hold(store, graph)
    graph.held = {}
    if store is None or program is None:
        return
    why = values.keep(store, builder, graph, program, training_)
    if why:
        graph.unvalued = why
        attempt.note(f"{graph.name}: {why}")


def _train(
    builder: ladder.Builder,
    model: Model,
    attempt: ladder.Attempt,
    forward: ladder.Captured,
    given: Any,
) -> None:
    assert forward.program is not None
    record = nodes.GraphRecord(forward.name, attempt.numbers)
    trainable = {
        f"{forward.module}.{n}".removeprefix(".").removeprefix(f"{forward.module}.")
        for n, p in _part(builder, forward).named_parameters()
        if p.requires_grad
    }
    try:
        with ladder.quiet(), builder.redirects.active():
            how = training.joint(
                forward.program,
                record,
                model.loss if not forward.module else None,
                given.args,
                dict(given.kwargs),
                trainable,
            )
    except Exception as error:
        attempt.failed("backward", forward.name, error, forward.module)
        forward.program = None
        attempt.graphs.append(forward)
        return
    forward.program = None
    forward.record = record
    attempt.graphs.append(forward)
    if not forward.module:
        attempt.note(f"{forward.name}: the loss is {how}")


def _part(builder: ladder.Builder, forward: ladder.Captured) -> torch.nn.Module:
    return builder.module().get_submodule(forward.module)


def _tensors(named: Any, trainable: bool = False) -> list[dict[str, Any]]:
    rows = []
    for name, value in named:
        row: dict[str, Any] = {
            "name": name,
            "dtype": encode.dtype(value.dtype),
            "shape": [int(s) for s in value.shape],
        }
        if trainable:
            row["trainable"] = bool(value.requires_grad)
        rows.append(row)
    return rows


def _modules(module: torch.nn.Module) -> list[dict[str, Any]]:
    rows = []
    for path, part in module.named_modules():
        cls = type(part)
        file = getattr(sys.modules.get(cls.__module__), "__file__", None)
        rows.append(
            {
                "path": path,
                "class": cls.__qualname__,
                "package": cls.__module__.partition(".")[0],
                **({"file": file} if file else {}),
            }
        )
    return rows
