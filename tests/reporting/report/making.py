"""Folders of records to report on: a whole one, one of hostile text, one of many findings.

The audit's is made by its own reporter from the sample audits. The others are written out here, small
enough to count by hand, and checked against their schemas.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from neuronport.findings import Context, Effort, Finding, Verdict, fingerprinted
from neuronport.records import Records, load
from neuronport.reporting.formats import json_
from neuronport.reporting.result import AuditResult, RenderOptions, Tree
from neuronport.targets import default_target

from ..sample import DOCUMENT, HOSTILE, finding, hostile, judged, nothing, rule, sample

Json = dict[str, Any]
TARGET = "native@2.33"
STATUS = {
    "portable": "device",
    "falls-back": "cpu-fallback",
    "diverges": "device",
    None: "unknown",
}


def audit_body(audit: AuditResult) -> Json:
    body: Json = json.loads("".join(json_.render(audit, RenderOptions())))
    return body


def _node(name: str, operator: str, module: str, word: str | None, line: int = 3) -> Json:
    judged = {
        "status": STATUS[word],
        "verdict": word,
        "confidence": "likely",
        "because": ["dtype == int64"] if word == "diverges" else [],
        "unless": [],
        "via": [],
        "workarounds": [],
        "evidence": [0],
    }
    return {
        "name": name,
        "operator": operator,
        "direction": "forward",
        "args": [],
        "kwargs": {},
        "outputs": [{"dtype": "float32", "shape": [2, 3]}],
        "symbols": [],
        "module": module,
        "user": {"file": "model.py", "line": line, "function": "forward"},
        "library": None,
        "by_target": {TARGET: {"eager": judged, "compiled": judged}},
    }


def graph_body(name: str = "model.py", text: str = "") -> Json:
    """Seven nodes in two equal layers and a head; ``text``: put into every free text."""
    nodes = [
        _node("a", "aten::linear", "layers.0.fc", "portable"),
        _node("b", "aten::nonzero", "layers.0", "falls-back", 7),
        _node("c", "aten::linear", "layers.1.fc", "portable"),
        _node("d", "aten::nonzero", "layers.1", "falls-back", 7),
        _node("e", "aten::cumsum", "head", "diverges", 9),
        _node("f", f"other::thing{text}", "head", None),
        _node("g", "aten::relu", "", "portable"),
    ]
    cost = {
        "graph": "forward",
        "mode": "inference",
        "nodes": 7,
        "operators": 5,
        "matrix_flops": 1200,
        "other_operations": 34,
        "nodes_not_counted": 0,
        "bytes_at_least": 5120,
        "bytes_unfused": 9000,
        "peak_intermediate_bytes": 2048,
        "cache_bytes": 0,
        "constants": 0,
        "constant_bytes": 0,
        "dtypes": {"float32": 7},
        "dtype_risks": {},
        "symbols": [],
        "arithmetic_intensity": 0.2,
    }
    return {
        "schema": "neuronport/graph/1",
        "tool": {"name": "neuronport", "version": "1.2.3"},
        "model": {
            "name": name,
            "kind": "file",
            "class": f"Net{text}",
            "built_on": "meta",
            "torch": "2.13.0",
            "python": "3.11.7",
            "parameters": 4321,
            "trainable": 4321,
            "parameter_bytes": {"float32": 17284},
            "buffer_bytes": 0,
            "bytes_if": {"float32": 17284},
        },
        "targets": [TARGET],
        "graphs": [
            {
                "name": f"forward{text}",
                "module": "",
                "mode": "inference",
                "how": "export",
                "inputs": [
                    {
                        "name": "x",
                        "kind": "input",
                        "target": "",
                        "dtype": "float32",
                        "shape": [2, 3],
                    }
                ],
                "nodes": nodes,
                "cost": cost,
            }
        ],
        "evidence": [{"kind": "documented", "source": f"a.rst{text}", "says": f"so it is{text}"}],
        "summary": {TARGET: {"portable": 3, "falls-back": 2, "diverges": 1, "unknown": 1}},
        "findings": [],
        "audited": [],
        "failures": [],
        "graph_breaks": [],
        "redirects": [],
        "reads": [],
        "notes": [f"a note{text}"],
        "fits": [
            {
                "chip": "trn2",
                "graph": "forward",
                "memory_per_core": 25769803776,
                "need_bytes": 6200,
                "least_degree": 1,
                "degrees": [1, 2],
                "degrees_stated": True,
                "roofline_bound_seconds": 2.5e-06,
                "bound_by": "compute",
                "is": "a lower bound computed from the data sheet, not a prediction",
            }
        ],
        "graph_count": {
            "captured": 1,
            "sizes_that_depend_on_values": 0,
            "cache_grows_in": [],
            "ranges": [],
            "graphs_without_buckets": None,
            "graphs_with_buckets": None,
        },
        "partitions": [
            {
                "graph": f"forward{text}",
                "target": TARGET,
                "device_regions": 3,
                "host_regions": 2,
                "crossings": 4,
                "bytes_per_run": 96000,
                "crossings_of_unknown_size": 2,
                "host_operators": {"aten::nonzero": 2},
                "replacements": [
                    {
                        "operator": "aten::nonzero",
                        "nodes": 2,
                        "crossings_removed": 4,
                        "bytes_removed": 96000,
                        "workaround": "mask",
                        "title": f"a mask{text}",
                        "old": "x.nonzero()",
                        "new": f"torch.where(x){text}",
                    }
                ],
            }
        ],
        "lowering": {
            "measured_on": "XLA:CPU",
            "versions": {"torch_xla": "2.9.0"},
            "graphs": [],
            "operator_table": {
                "agrees": 3,
                "compared": 4,
                "compiler_refuses": 0,
                "not_run": 2,
                "disagreements": [
                    {
                        "graph": f"forward{text}",
                        "node": "e",
                        "operator": f"aten::cumsum{text}",
                        "table": "device",
                        "measured": "falls-back",
                    }
                ],
            },
        },
    }


def churn_body(text: str = "") -> Json:
    return {
        "schema": "neuronport/churn/1",
        "before": f"v1{text}",
        "after": "v2",
        "files": [
            {
                "path": f"src/train.py{text}",
                "status": "changed",
                "lines": {
                    "added": 5,
                    "removed": 2,
                    "changed": 3,
                    "moved": 1,
                    "bytes_changed": 210,
                },
                "references_converted": 6,
                "references_left": 4,
            }
        ],
        "code_base": {
            "files": 9,
            "files_touched": 1,
            "lines_before": 220,
            "lines_after": 223,
            "bytes_before": 7000,
            "share_of_lines": 0.05,
            "share_of_bytes": 0.03,
        },
        "lines": {"added": 5, "removed": 2, "changed": 3, "moved": 1, "bytes_changed": 210},
        "references": {
            "converted": 6,
            "left": 4,
            "left_as": {
                "done": 0,
                "kept_for_cuda": 2,
                "not_selected": 0,
                "to_people": 3,
                "to_review": 0,
                "to_write": 0,
            },
            "new": 1,
            "share_converted": 0.6,
            "by_rule": {"hardcoded-cuda-device": {"converted": 6, "left": 4}},
            "by_area": {"device": {"converted": 6, "left": 4}},
            "by_safety": {"safe": {"converted": 6, "left": 0}},
        },
        "remaining_hours": {"low": 1.0, "high": 9.0, "basis": "by convention"},
        "device_lines": {
            "before": {"cuda_only": 10, "neuron_only": 0, "naming_a_device": 12},
            "after": {"cuda_only": 4, "neuron_only": 2, "naming_a_device": 8},
        },
        "divergence": {"before": 0.25, "after": 0.125},
    }


DIFF = """--- a/src/train.py
+++ b/src/train.py
@@ -1,4 +1,5 @@
 import torch
+from neuron_device import get_device
 model = Net()
-model.to("cuda:0")
+model.to(get_device())
 for batch in loader:
"""


def port_body(audit: AuditResult, text: str = "") -> Json:
    """The first finding has a safe change, the second one to review; the third is left to
    people, besides what is kept for CUDA and what is done."""
    ordered = sorted(audit.findings, key=lambda f: f.location)
    fixed = [f for f in ordered if f.location.path == "src/train.py"] or ordered

    def change(found: Finding, safety: str) -> Json:
        return {
            "path": found.location.path,
            "line": found.location.line,
            "rule": found.rule,
            "fingerprint": found.fingerprint,
            "codemod": "device-seam",
            "safety": safety,
            "title": f"Take the device from one place{text}",
            "note": text,
        }

    left = fixed[2] if len(fixed) > 2 else fixed[0]

    def stays(reason: str, says: str) -> Json:
        return {
            "path": left.location.path,
            "line": left.location.line,
            "column": 1,
            "rule": left.rule,
            "fingerprint": left.fingerprint,
            "reason": reason,
            "says": says + text,
            "ways": [f"write it anew{text}"],
        }

    return {
        "schema": "neuronport/port/1",
        "files": [
            {
                "path": f"src/train.py{text}",
                "new": False,
                "written": False,
                "diff": DIFF + text,
            }
        ],
        "changes": [change(fixed[0], "safe")],
        "held_back": [change(f, "review") for f in fixed[1:2]],
        "left": [
            stays("by-hand", "no rewriting is known"),
            stays("cuda-only", "CUDA keeps it, Neuron skips it"),
            stays("cuda-only", "another library takes the raw stream"),
            stays("done", "asked for by device already"),
        ],
        "failed": [],
        "churn": churn_body(text),
    }


def compile_body(text: str = "", compiler: str = "xla-cpu") -> Json:
    seconds = {
        "capture": 1.25,
        "lowering": 0.5,
        "compile": 2.75,
        "first_run": None,
        "not_separable": [{"phases": ["capture", "lowering"], "seconds": 0.75}],
    }
    return {
        "schema": "neuronport/compile/1",
        "tool": {"name": "neuronport", "version": "1.2.3"},
        "neuron": {
            "compiler_here": compiler == "neuron",
            "compiled_by_neuron": compiler == "neuron",
            "missing": [],
        },
        "model": {"name": f"model.py{text}", "class": "Net"},
        "target": TARGET,
        "chip": "trn2",
        "limits": {"seconds": 1800, "megabytes": 16384},
        "compilers": {"neuron": "Neuron", "xla-cpu": "XLA:CPU"},
        "drivers": [
            {
                "driver": "neuronx-cc",
                "title": f"neuronx-cc on HLO{text}",
                "compiler": "neuron",
                "usable": compiler == "neuron",
                "because": f"neuronx-cc is not on PATH{text}",
                "versions": {},
                "get": ["install the Neuron SDK"],
                "used": compiler == "neuron",
            }
        ],
        "graphs": [
            {
                "driver": "xla-cpu",
                "compiler": compiler,
                "graph": f"forward{text}",
                "mode": "inference",
                "inputs": [{"name": "x", "dtype": "float32", "shape": [2, 3]}],
                "status": "compiled",
                "because": "",
                "ended_in": "",
                "neuron_seconds": seconds if compiler == "neuron" else None,
                "xla_cpu_seconds": seconds if compiler == "xla-cpu" else None,
                "peak_memory": {"bytes": 123_000_000, "how": "of the process"},
                "cache": {"word": "none", "how": ""},
                "programs": 1,
                "programs_compiled_by_a_second_run": 0,
                "cuts": [],
                "artifacts": [{"kind": "hlo", "bytes": 4567, "file": "", "neff": None, "note": ""}],
                "hlo_instructions": {"dot": 2},
                "flags": [],
                "device": "",
                "problems": [
                    {
                        "code": f"NCC_EVRF007{text}",
                        "said": f"too many instructions{text}",
                        "cause": f"the graph is large{text}",
                        "when": "",
                        "remedy": f"smaller graphs{text}",
                        "chips": "",
                        "inferred": [],
                        "evidence": None,
                        "operators": [],
                    }
                ],
                "notes": [],
                "last_lines": [],
            }
        ],
        "notes": [f"a note{text}"],
        "failures": [f"a failure{text}"],
        "not_looked_at": [],
    }


def portability_body(text: str = "") -> Json:
    def ground(says: str, word: str | None) -> Json:
        return {
            "says": says + text,
            "rests_on": f"audit.json{text}",
            "speaks_for": word,
            "target": TARGET,
            "places": [f"src/train.py{text}:3"],
        }

    def level(word: str, says: str, **figures: Json | list[Json]) -> Json:
        return {
            "verdict": word,
            "because": [ground("it is told, and decides nothing", None), ground(says, word)],
            "not_known": [ground("whether it computes the same", None)],
            "by_target": {TARGET: word},
            "figures": figures,
        }

    return {
        "schema": "neuronport/portability/1",
        "tree": f"project{text}",
        "contract": "pyproject.toml",
        "required": ["source"],
        "broken": [],
        "levels": {
            "source": level("holds with changes", "what is left can be mended"),
            "artifact": level("holds", "a checkpoint went there and back"),
            "performance": level(
                "not measured", "there is no run", runs=[], clauses={}, comparisons=[]
            ),
        },
        "records": [],
        "problems": [],
    }


def bodies(audit: AuditResult | None = None, text: str = "") -> dict[str, Json]:
    """File → body, of every kind."""
    audit = audit or sample()
    return {
        "audit.json": audit_body(audit),
        "port.json": port_body(audit, text),
        "churn.json": churn_body(text),
        "graph-model.json": graph_body(text=text),
        "compile-model.json": compile_body(text),
        "portability.json": portability_body(text),
    }


def folder(at: Path, found: dict[str, Json]) -> Records:
    """Writes the bodies as records into a folder, and reads them again."""
    at.mkdir(parents=True, exist_ok=True)
    for name, body in found.items():
        (at / name).write_text(json.dumps(body), encoding="utf-8")
    return load(str(at))


def whole(at: Path) -> Records:
    return folder(at, bodies())


def evil(at: Path) -> Records:
    """Hostile text wherever a record has text."""
    return folder(at, bodies(hostile(), HOSTILE))


def many(number: int) -> AuditResult:
    """As varied as a large repository: hundreds of files, dozens of rules, lines all different."""
    rules = {
        f"rule-{n}": rule(f"rule-{n}", f"Cause number {n} of a large project", "runtime")
        for n in range(60)
    }
    words = list(Verdict)[:7]

    def one(n: int) -> Finding:
        return finding(
            f"rule-{n % 60}",
            f"src/package_{n % 31}/module_{n % 900}.py",
            (n // 900 * 3 + 1, 5, 40),
            words[n % 7],
            message=f"torch.cuda.thing_{n % 900} is asked for what only CUDA has",
            effort=list(Effort)[n % 3],
            context=Context(f"Trainer.step_{n % 500}", hot=n % 5 == 0),
            by_target={
                TARGET: judged(words[n % 7], replacement="x.to(device)", evidence=(DOCUMENT,))
            },
            snippet=f"value_{n} = torch.cuda.thing_{n % 900}(model, batch[{n}], non_blocking=True)",
        )

    return replace(
        nothing(),
        tree=Tree("large", 1000, 900, 400_000, {"python": 900}),
        targets=(default_target(),),
        findings=fingerprinted(one(n) for n in range(number)),
        rules=rules,
    )


def without(found: dict[str, Json], kinds: Iterable[str]) -> dict[str, Json]:
    gone = set(kinds)
    return {n: b for n, b in found.items() if n.removesuffix(".json").split("-")[0] not in gone}
