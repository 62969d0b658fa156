"""What the records do not say, and how to learn it. Nothing is concluded where one is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from neuronport.reporting.joined.compiles import another_ran

Json = Mapping[str, Any]


def unknowns(data: Json) -> list[dict[str, Any]]:
    """Rows of ``what``, ``why``, ``how`` and, where something is counted, ``number``."""
    # What nobody looked at comes before what was looked at and is not sure.
    found = [*_records(data), *_source(data), *_compiling(data), *_running(data), *_models(data)]
    return sorted(found, key=lambda row: row["number"] is not None)


def _row(what: str, why: str, how: str = "", number: int | None = None) -> dict[str, Any]:
    return {"what": what, "number": number, "why": why, "how": how}


def _source(data: Json) -> Iterator[dict[str, Any]]:
    audit = data["audit"]
    if audit is None:
        yield _row(
            "Which places of the source stop it on Neuron",
            "There is no usable record of an audit.",
            "neuronport audit PATH --record",
        )
        return
    tree = audit["tree"]
    if not tree["looked_at"]:
        yield _row(
            "Which places of the source stop it on Neuron",
            "The audit looked at no file, so it says nothing.",
            "neuronport audit PATH --record",
        )
    missed = sum(row["number"] for row in audit["not_looked_at"])
    if missed:
        reasons = ", ".join(row["reason"] for row in audit["not_looked_at"])
        yield _row(
            "What stands in the places that could not be looked at",
            f"They are listed under Method, with the reason: {reasons}.",
            number=missed,
        )
    if tree["not_read"]:
        yield _row(
            "What stands in files of kinds that neuronport does not read",
            "Nothing is said of them, neither good nor bad.",
            number=tree["not_read"],
        )
    if audit["possible"]:
        yield _row(
            "Whether the findings marked “possible” are so",
            "The code around them was not understood well enough to be sure.",
            "Look at each; those of no surer cause are the last wave of the plan.",
            number=audit["possible"],
        )
    weak = sum(r["number"] for r in audit["evidence"] if r["kind"] in ("inferred", "none"))
    if weak:
        yield _row(
            "Whether the findings that rest on inference alone are right",
            "No document, source, measurement or report says it outright; it was deduced.",
            "neuronport explain RULE shows the reasoning.",
            number=weak,
        )


def _models(data: Json) -> Iterator[dict[str, Any]]:
    if not data["graphs"]:
        yield _row(
            "Which operators the model executes, inside libraries too",
            "There is no usable record of a graph: the source alone does not show them.",
            "neuronport graph MODEL --record",
        )
        return
    yield _row(
        "Which operators run outside of the traced passes of the model",
        "A graph is one pass of the model. Loops around it such as generate(), and the optimizer’s "
        "step, are not in it.",
        "What a loop repeats can be traced as a module: neuronport graph module:factory --record",
    )
    modes = {g["mode"] for part in data["graphs"] for g in part["graphs"]}
    if modes and "training" not in modes:
        yield _row(
            "Which operators training executes",
            "Only inference was traced, so the backward pass is in no graph.",
            "neuronport graph MODEL --mode both --record",
        )
    unseen = sum(n.get("unknown", 0) for g in data["graphs"] for n in g["nodes"].values())
    if unseen:
        yield _row(
            "What becomes of nodes whose operator no table has",
            "They may run, fall back or break.",
            "neuronport operators show NAME",
            number=unseen,
        )
    failed = sum(len(g["failures"]) for g in data["graphs"])
    if failed:
        yield _row(
            "What happens in the parts that could not be traced",
            "Tracing them failed; the reasons are with the graph.",
            number=failed,
        )


def _compiling(data: Json) -> Iterator[dict[str, Any]]:
    if not data["compile"]:
        yield _row(
            "Whether it compiles for Neuron, and how long that takes",
            "There is no usable record of compiling.",
            "neuronport compile MODEL --record",
        )
    elif not any(c["by_neuron"] for c in data["compile"]):
        another = any(another_ran(c) for c in data["compile"])
        yield _row(
            "Whether it compiles for Neuron, and how long that takes",
            "No compiler of Neuron's was there."
            + (" What another compiler did says nothing of it." if another else ""),
            "neuronport compile MODEL --record, where the Neuron SDK is installed",
        )


def _running(data: Json) -> Iterator[dict[str, Any]]:
    performance = next(row for row in data["levels"] if row["level"] == "performance")
    if performance["verdict"] == "not measured":
        yield _row(
            "How fast it runs on Neuron, and what that costs",
            "No run on a Neuron device was handed in. Nothing here predicts one.",
            "neuronport portability, with a contract and run records",
        )
    artifact = next(row for row in data["levels"] if row["level"] == "artifact")
    if artifact["verdict"] == "not measured":
        yield _row(
            "Whether checkpoints and models can be moved and come back unchanged",
            "No round trip was made.",
            "neuronport portability --roundtrip CHECKPOINT",
        )


def _records(data: Json) -> Iterator[dict[str, Any]]:
    for row in data["records"]["rows"]:
        if row["state"] == "stale":
            yield _row(
                f"Whether the record {row['file']} still holds",
                "; ".join(row["changes"][:3])
                + ("; and more" if len(row["changes"]) > 3 else "")
                + ".",
                "Record again.",
            )
    for row in data["records"]["problems"]:
        yield _row(f"What {row['file']} says", f"{row['reason']}.", row["remedy"])
