"""What a graph's record says: operators and modules by verdict, partitions, what fits."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from neuronport.findings import VERDICT_ORDER, Verdict

Json = Mapping[str, Any]

UNKNOWN = "unknown"
"""A node of an operator that no table has."""
OPERATORS = 200
"""How many rows the table of operators has at most; the rest is counted."""
_RUN = 4000
"""How many stretches the strip of a graph is drawn with at most."""


def graph(body: Json, roots: Sequence[str] = ()) -> dict[str, Any]:
    """``roots``: folders that files are named relative to, the first that holds them."""
    targets = list(body["targets"])
    return {
        "model": body["model"],
        "targets": targets,
        "nodes": {t: dict(body["summary"].get(t, {})) for t in targets},
        "graphs": [_graph(g, targets, roots) for g in body["graphs"]],
        "partitions": _moded([_partition(p) for p in body["partitions"]], body["graphs"]),
        "fits": _moded([dict(f) for f in body["fits"]], body["graphs"]),
        "graph_count": dict(body["graph_count"]),
        "findings": len(body["findings"]),
        "failures": [dict(f) for f in body["failures"]],
        "graph_breaks": [dict(f) for f in body["graph_breaks"]],
        "redirects": len(body["redirects"]),
        "lowering": _lowering(body.get("lowering")),
        "notes": list(body["notes"]),
    }


def _lowering(row: Json | None) -> dict[str, Any] | None:
    """What running the calls on torch_xla said of the operator table; ``None``: they were not."""
    said = row["operator_table"] if row else None
    if said is None:
        return None
    return {
        "agrees": said["agrees"],
        "compared": said["compared"],
        "not_run": said["not_run"],
        "disagreements": [
            {"operator": d["operator"], "table": d["table"], "measured": d["measured"]}
            for d in said["disagreements"]
        ],
    }


def _graph(row: Json, targets: Sequence[str], roots: Sequence[str]) -> dict[str, Any]:
    return {
        "name": row["name"],
        "module": row["module"],
        "mode": row["mode"],
        "stages": {t: _stage(t, row["mode"]) for t in targets},
        "how": row["how"],
        "inputs": [
            {"name": i["name"], "dtype": i["dtype"], "shape": [str(s) for s in i["shape"]]}
            for i in row["inputs"]
            if i["kind"] == "input"
        ],
        "cost": dict(row["cost"]),
        "operators": {t: _operators(row, t, roots) for t in targets},
        "modules": {t: _tree(row, t) for t in targets},
        "strip": {t: _strip(row, t) for t in targets},
    }


def _moded(rows: list[dict[str, Any]], graphs: Sequence[Json]) -> list[dict[str, Any]]:
    """Rows with the mode of their graph, and the stage if they name a target: they come graph by graph, and two graphs of a model can
    have one name. Where that is not so the mode is left empty."""
    each = len(rows) // len(graphs) if graphs else 0
    whole = each * len(graphs) == len(rows)
    for number, row in enumerate(rows):
        graph = graphs[number // each] if whole and each else None
        row["mode"] = graph["mode"] if graph and row["graph"].endswith(graph["name"]) else ""
        if "target" in row:
            row["stage"] = _stage(row["target"], row["mode"]) if row["mode"] else ""
    return rows


def _partition(row: Json) -> dict[str, Any]:
    return {
        **row,
        "host_operators": [{"operator": o, "nodes": n} for o, n in row["host_operators"].items()],
    }


def _stage(target: str, mode: str) -> str:
    """Whether what is said of a graph is said of it run eagerly or compiled."""
    from neuronport.graph.verdicts import stage_of
    from neuronport.targets import resolve

    return stage_of(resolve(target), mode)


def _judged(row: Json, target: str) -> Iterator[tuple[Json, str, Json]]:
    """Each node that is judged on ``target``, its word, and what the table says of it.

    At the stage in which the path runs unless told otherwise, as the command says it.
    """
    stage = _stage(target, row["mode"])
    for node in row["nodes"]:
        said = node["by_target"].get(target, {}).get(stage)
        if said is not None:
            yield node, said["verdict"] or UNKNOWN, said


def badness(word: str | None) -> int:
    """Lower is worse; what nobody knows stands before what is known to be harmless."""
    if word is None:
        return len(VERDICT_ORDER) + 1
    if word == UNKNOWN:
        return VERDICT_ORDER[Verdict.LOCKS_IN]
    return VERDICT_ORDER[Verdict(word)]


def _operators(row: Json, target: str, roots: Sequence[str]) -> dict[str, Any]:
    found: dict[tuple[str, str], list[int]] = {}
    because: dict[tuple[str, str], list[str]] = {}
    lines: dict[tuple[str, str], tuple[str, int]] = {}
    for node, word, said in _judged(row, target):
        key = (word, node["operator"])
        found.setdefault(key, []).append(1)
        because.setdefault(key, list(said["because"]))
        site = node["user"] or node["library"]
        if site:
            lines.setdefault(key, (_named(site["file"], roots), site["line"]))
    rows: list[dict[str, Any]] = []
    for (word, operator), nodes in found.items():
        key = (word, operator)
        path, line = lines.get(key, ("", 0))
        rows.append(
            {
                "operator": operator,
                "verdict": word,
                "nodes": len(nodes),
                "because": because[key],
                "first": {"path": path, "line": line} if path else None,
            }
        )
    rows.sort(key=lambda r: (badness(r["verdict"]), -r["nodes"], r["operator"]))
    return {"rows": rows[:OPERATORS], "left_out": max(0, len(rows) - OPERATORS)}


def _named(file: str, roots: Sequence[str]) -> str:
    for root in roots:
        base = os.path.abspath(root)
        if file.startswith(base + os.sep):
            return os.path.relpath(file, base).replace(os.sep, "/")
    return file


def _tree(row: Json, target: str) -> dict[str, Any]:
    """The modules that the nodes name, with the worst word in and below each."""
    root: dict[str, Any] = _branch("", row["module"])
    for node, word, _ in _judged(row, target):
        branch = root
        _count(branch, word)
        for name in node["module"].split(".") if node["module"] else ():
            path = f"{branch['path']}.{name}" if branch["path"] else name
            branch = branch["children"].setdefault(name, _branch(name, path))
            _count(branch, word)
    return _finished(root)


def _branch(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "path": path, "nodes": Counter(), "children": {}}


def _count(branch: dict[str, Any], word: str) -> None:
    branch["nodes"][word] += 1


def _finished(branch: Json) -> dict[str, Any]:
    """Worst word first; equal neighbours of a numbered list are one, so that eighty layers fit."""
    children: list[dict[str, Any]] = []
    for child in map(_finished, branch["children"].values()):
        if children and child["name"].isdigit() and _same(children[-1], child):
            children[-1]["repeated"] += 1
        else:
            children.append(child)
    nodes: Counter[str] = branch["nodes"]
    words = dict(sorted(nodes.items(), key=lambda item: badness(item[0])))
    return {
        "name": branch["name"],
        "path": branch["path"],
        "verdict": next(iter(words), None),
        "nodes": words,
        "repeated": 1,
        "children": children,
    }


def _same(one: Json, other: Json) -> bool:
    return _shape(one) == _shape(other)


def _shape(branch: Json) -> tuple[Any, ...]:
    children = tuple((c["name"], c["repeated"], _shape(c)) for c in branch["children"])
    return (tuple(branch["nodes"].items()), children)


def _strip(row: Json, target: str) -> list[list[Any]]:
    """The graph from first node to last as stretches of one word: ``[word, nodes]``."""
    runs: list[list[Any]] = []
    for _, word, _ in _judged(row, target):
        if runs and runs[-1][0] == word:
            runs[-1][1] += 1
        else:
            runs.append([word, 1])
    # What is drawn narrower than a hair is not seen; then the graph's table has to do.
    return runs if len(runs) <= _RUN else []
