"""Run everything once, in child processes: a sample that kills the interpreter costs one overload."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any

import torch

from . import record
from .samples import (
    Call,
    clone,
    collect,
    collect_modules,
    opinfos,
    overloads,
    relatives,
    synthesized,
)
from .spellings import spellings

Table = dict[str, Any]
KINDS = ("body", "decomposition", "backward")


def survey() -> dict[str, Table]:
    """``{"body": …, "decomposition": …, "backward": …}``: overload → callee → how it is called."""
    torch.set_num_threads(1)
    torch._C._set_mkldnn_enabled(False)  # a way that only the CPU has
    torch.manual_seed(0)
    known: dict[str, list[Call]] = {}
    for op in opinfos():
        collect(op, known)
    collect_modules(known)
    functions = overloads()
    tables: dict[str, Table] = {kind: {} for kind in (*KINDS, "samples")}
    names = sorted(functions)
    done = 0
    while done < len(names):
        done = _child(names, done, functions, known, tables)
    tables["spellings"] = spellings()
    return tables


def _child(
    names: list[str],
    start: int,
    functions: dict[str, Any],
    known: dict[str, list[Call]],
    tables: dict[str, Table],
) -> int:
    """Work from ``start`` in a fork until the end or a crash; the place to go on from."""
    with tempfile.NamedTemporaryFile("r", suffix=".jsonl") as file:
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                with open(file.name, "w", buffering=1) as out:
                    for index in range(start, len(names)):
                        out.write(json.dumps({"start": index}) + "\n")
                        out.write(json.dumps(_one(names[index], functions, known)) + "\n")
                status = 0
            finally:
                os._exit(status)  # nothing of the parent's is cleaned up here
        os.waitpid(pid, 0)
        at = start
        for line in file:
            row = json.loads(line)
            if "start" in row:
                at = row["start"] + 1
                continue
            for table in tables:
                if row[table] is not None:
                    tables[table][row["name"]] = row[table]
    return at


def _one(name: str, functions: dict[str, Any], known: dict[str, list[Call]]) -> dict[str, Any]:
    func = functions[name]
    table = torch._decomp.core_aten_decompositions()
    calls = list(known.get(name, ()))
    origin = "opinfo" if calls else ""
    for kind, source in (("relative", relatives(func, known)), ("schema", synthesized(func))):
        if calls:
            break
        for call in source:
            if _runs(func, call):
                calls.append(call)
                origin = kind
            if len(calls) >= 3:
                break
    runs: dict[str, list[tuple[Call, list[tuple[str, Any]]]]] = {kind: [] for kind in KINDS}
    for call in calls:
        for kind, found in (
            ("body", record.body(func, call)),
            ("decomposition", record.decomposition(table[func], call) if func in table else None),
            ("backward", record.backward(func, call)),
        ):
            if found is not None:
                runs[kind].append((call, found))
    return {
        "name": name,
        "samples": [origin, len(calls)] if calls else None,
        **{kind: record.merge(func, runs[kind]) for kind in KINDS},
    }


def _runs(func: Any, call: Call) -> bool:
    try:
        with torch.inference_mode():
            args, kwargs = clone(call)
            func(*args, **kwargs)
    except Exception:
        return False
    return True
