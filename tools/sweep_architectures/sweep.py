"""One architecture after the other, each in a forked process with limits; results to a JSONL file.

Forked, not started: torch and transformers are imported once.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tools.sweep_architectures import components
from tools.sweep_architectures.tiny import variants

_SECONDS = 180
"""Of processor time: what else a machine does is no fact about an architecture."""
_PATIENCE = 1200
"""Of any time."""
_MEGABYTES = 6000
_LARGEST = 450_000_000
"""Parameters of what is still run on the CPU."""


def architectures() -> list[str]:
    """Every model type that the installed transformers has a model class for.

    In an order that has nothing to do with the names: what an unfinished sweep has is a sample.
    """
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    names = set(CONFIG_MAPPING_NAMES) & set(MODEL_MAPPING_NAMES)
    return sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())


def sweep(results: Path, wanted: Iterable[str], training: bool, again: bool = False) -> None:
    """Adds to ``results`` what it does not have yet; with ``again``, everything wanted: of two rows
    of one architecture the later counts."""
    import torch
    import transformers

    torch.set_num_threads(1)
    done = set() if again else {row["architecture"] for row in read(results)}
    with results.open("a", encoding="utf-8") as stream:
        for name in wanted:
            if name in done:
                continue
            started = time.monotonic()
            row = _one(name, training)
            if components.is_component(name):
                row["library"] = components.library(name)
            row |= {
                "architecture": name,
                "seconds": round(time.monotonic() - started, 1),
                "transformers": transformers.__version__,
                "torch": str(torch.__version__),
            }
            stream.write(json.dumps(row) + "\n")
            stream.flush()


def read(results: Path) -> list[dict[str, Any]]:
    """The last row of each architecture."""
    if not results.is_file():
        return []
    lines = results.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line]
    return list({row["architecture"]: row for row in rows}.values())


def _one(name: str, training: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "row.json"
        child = os.fork()
        if child == 0:
            try:
                _in_child(name, training, folder, out)
            finally:
                os._exit(0)
        return _waited(child, out)


def _waited(child: int, out: Path) -> dict[str, Any]:
    """What the child has written so far, and how it ended if it did not end by itself."""
    deadline = time.monotonic() + _PATIENCE
    ended, used = False, 0.0
    while time.monotonic() < deadline and not ended:
        pid, _, usage = os.wait4(child, os.WNOHANG)
        ended, used = pid != 0, usage.ru_utime + usage.ru_stime
        time.sleep(0.05)
    if not ended:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    row: dict[str, Any] = json.loads(out.read_text(encoding="utf-8")) if out.is_file() else {}
    if not row.get("finished") and not row.get("reason"):
        row["reason"] = (
            f"not finished after {_PATIENCE} s"
            if not ended
            else f"not finished after {_SECONDS} s of processor time"
            if used > _SECONDS - 2
            else "the process ended, as happens when memory does"
        )
    return row


def _in_child(name: str, training: bool, folder: str, out: Path) -> None:
    import resource

    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    resource.setrlimit(resource.RLIMIT_DATA, (_MEGABYTES << 20, _MEGABYTES << 20))
    row: dict[str, Any] = {}

    def note(**more: Any) -> None:
        row.update(more)
        part = out.with_suffix(".part")
        part.write_text(json.dumps(row), encoding="utf-8")
        part.replace(out)

    find_one = _component if components.is_component(name) else smallest
    config = find_one(name, Path(folder), row, note)
    if config:
        _captured(config, training, note)
    note(finished=True)


def _component(name: str, folder: Path, row: dict[str, Any], note: Any) -> str:
    """The same for what has one size."""
    import torch

    from neuronport.graph.capture.sources import Request, find

    config = components.named(name, folder)
    try:
        model = find(Request(config))  # importing makes constants: not without storage
        with torch.device("meta"):
            module = model.build()
    except Exception as error:
        note(reason=f"instantiation: {_line(error)}")
        return ""
    size = sum(p.numel() for p in module.parameters())
    note(instantiated=True, cls=type(module).__name__, parameters=size)
    if size > _LARGEST:
        note(reason=f"eager: not run with {size} parameters", eager=False)
        return config
    try:
        _run(config)
    except Exception as error:
        note(eager=False, reason=f"eager: {_line(error)}")
        return config
    note(eager=True, reason="")
    return config


def smallest(name: str, folder: Path, row: dict[str, Any], note: Any) -> str:
    """The file of the smallest configuration with which the model runs, else of the smallest of
    which one can be made; empty: of none."""
    import torch
    import transformers

    from neuronport.graph.capture.sources import Request, find

    made = ""
    try:
        own = transformers.AutoConfig.for_model(name).to_dict()
    except Exception as error:
        note(reason=f"configuration: {_line(error)}")
        return ""
    for number, data in enumerate(variants(own)):
        file = folder / f"config-{number}.json"
        file.write_text(json.dumps({**data, "model_type": name}, default=str), encoding="utf-8")
        try:
            model = find(Request(str(file), sequence=16))
            with torch.device("meta"):
                module = model.build()
            size = sum(p.numel() for p in module.parameters())
        except Exception as error:
            if not made:
                note(reason=f"instantiation: {_line(error)}")
            continue
        if not made:
            made = str(file)
            note(instantiated=True, variant=number, cls=type(module).__name__, parameters=size)
        if size > _LARGEST:
            if "eager" not in row:
                note(reason=f"eager: not run with {size} parameters", eager=False)
            continue
        try:
            _run(str(file))
        except Exception as error:
            if "eager" not in row:
                note(eager=False, reason=f"eager: {_line(error)}")
            continue
        note(eager=True, variant=number, parameters=size, reason="")
        return str(file)
    return made


def _run(config: str) -> None:
    """Once, on the CPU, with the inputs that the capture will use."""
    import torch

    from neuronport.graph.capture.sources import Request, find

    torch.manual_seed(0)
    model = find(Request(config, sequence=16))
    module = model.build().eval()
    with torch.no_grad():
        for given in model.inputs(module):
            output = module(*given.args, **given.kwargs)
            following = given.following and given.following(output)
            if following:
                module(*following.args, **following.kwargs)


def _captured(config: str, training: bool, note: Any) -> None:
    from neuronport.graph.capture.session import captured
    from neuronport.graph.record import read as read_record
    from neuronport.graph.result import judge
    from neuronport.targets import resolve

    targets = [resolve("native"), resolve("xla")]
    for mode in ("inference", *(("training",) if training else ())):
        record = captured({"model": config, "modes": [mode], "sequence": 16})
        if "error" in record:
            note(**{mode: {"how": [], "reason": record["error"]}})
            continue
        text = json.dumps({**record, "torch": "", "python": "", "seconds": 0})
        result = judge(read_record(text), targets, with_audit=False)
        whole = [g for g in result.record.graphs if not g.module]
        failed = result.record.failures
        note(
            **{
                mode: {
                    "how": [g.how for g in result.record.graphs],
                    "graphs": [g.title for g in whole],
                    "nodes": sum(len(g.nodes) for g in result.record.graphs),
                    "verdicts": {str(t): dict(result.counts(t)) for t in targets},
                    "operators": {str(t): _bad(result, t) for t in targets},
                    "reason": f"{failed[-1].step}: {failed[-1].reason}" if failed else "",
                }
            }
        )


def _bad(result: Any, target: Any) -> dict[str, str]:
    """Operators that are not on the device → verdict."""
    found: dict[str, str] = {}
    for _, verdicts in result.verdicts:
        for item in verdicts:
            judged = item.at(target)
            if judged is None or (judged.verdict and judged.verdict.is_reference):
                continue
            found[item.node.operator] = str(judged.verdict or "unknown")
    return found


def _line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:200] if lines else ''}"
