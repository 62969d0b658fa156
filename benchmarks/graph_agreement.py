"""Whether the operator table's verdicts and what torch_xla does agree, node by node.

    python benchmarks/graph_agreement.py --xla-python FILE [--results FILE.jsonl] [--only NAME]

Ten models that the table was not made from (``rules/operators/models`` names those that it was),
chosen before anything was measured: eight of transformers and timm, a denoiser of diffusers, and one
written here in the manner of people's own code. Each is captured for inference and for training;
every node's verdict for lazy tensors (path ``xla``, stage ``eager``) is held against the fallbacks
that torch_xla counts when it runs the node with real values.

Nodes that only handle sizes are no operators and are left out; what the table says that the compiler
refuses cannot be seen here and is counted apart, as is what was not run.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tabulate import tabulate  # noqa: E402

from neuronport.graph.lowering.agreement import Comparison, by_operator, compare  # noqa: E402
from neuronport.graph.lowering.calls import lower  # noqa: E402
from neuronport.graph.run import Request, run  # noqa: E402
from neuronport.graph.verdicts import Judge  # noqa: E402
from neuronport.targets import resolve  # noqa: E402
from neuronport.xla_environment import XlaPython  # noqa: E402

_SECONDS, _MEGABYTES = 500, 8000
UNET = {
    "_class_name": "UNet2DConditionModel",
    "sample_size": 8,
    "in_channels": 4,
    "out_channels": 4,
    "block_out_channels": [32, 64],
    "down_block_types": ["CrossAttnDownBlock2D", "DownBlock2D"],
    "up_block_types": ["UpBlock2D", "CrossAttnUpBlock2D"],
    "layers_per_block": 1,
    "cross_attention_dim": 32,
    "attention_head_dim": 8,
    "norm_num_groups": 8,
}
OWN = '''
import torch
from torch import nn
import torch.nn.functional as F


class Detector(nn.Module):
    """Anchors, masks, a top-k of boxes, a running average, an upsampled pyramid."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU6())
        self.down = nn.Conv2d(16, 32, 3, 2, 1, groups=16)
        self.head = nn.Conv2d(48, 5, 1)
        self.register_buffer("seen", torch.zeros(5))

    def forward(self, images):
        fine = self.stem(images)
        coarse = F.hardswish(self.down(fine))
        up = F.interpolate(coarse, scale_factor=2, mode="bilinear", align_corners=False)
        pooled = F.adaptive_avg_pool2d(fine, 5)
        maps = self.head(torch.cat([up, fine], 1)).flatten(2).transpose(1, 2)
        scores = maps[..., 4].sigmoid()
        best = scores.topk(20, dim=1)
        boxes = torch.gather(maps[..., :4], 1, best.indices[..., None].expand(-1, -1, 4))
        kept = torch.where(best.values[..., None] > 0.5, boxes, torch.zeros_like(boxes))
        order = torch.argsort(kept[..., 0], dim=1)
        wide = torch.cumsum(kept.abs(), 1).clamp(max=10).index_select(1, torch.arange(0, 20, 2))
        return wide.mean() + pooled.std() + F.pixel_shuffle(coarse, 2).norm() + order.float().var()


def model():
    return Detector()


def inputs():
    return torch.randn(2, 3, 32, 32)
'''


@dataclass(frozen=True)
class Subject:
    name: str
    source: str
    """``transformers``, ``timm``, ``diffusers`` or ``own``."""


SUBJECTS = (
    Subject("xlnet", "transformers"),
    Subject("fnet", "transformers"),
    Subject("longformer", "transformers"),
    Subject("rwkv", "transformers"),
    Subject("deepseek_v3", "transformers"),
    Subject("dpt", "transformers"),
    Subject("mobilenetv3_small_050", "timm"),
    Subject("edgenext_xx_small", "timm"),
    Subject("UNet2DConditionModel", "diffusers"),
    Subject("detector", "own"),
)


def named(subject: Subject, folder: Path) -> str:
    """What ``neuronport graph`` would be given."""
    if subject.source == "timm":
        return f"timm:{subject.name}"
    if subject.source == "diffusers":
        (folder / "config.json").write_text(json.dumps(UNET), encoding="utf-8")
        return str(folder / "config.json")
    if subject.source == "own":
        (folder / "detector.py").write_text(OWN, encoding="utf-8")
        return str(folder / "detector.py")
    from tools.sweep_architectures.sweep import smallest

    row: dict[str, Any] = {}
    found = smallest(subject.name, folder, row, lambda **more: row.update(more))
    if not found:
        raise SystemExit(f"{subject.name}: {row.get('reason')}")
    return found


def measured(subject: Subject, python: XlaPython) -> dict[str, Any]:
    target = resolve("xla")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        row: dict[str, Any] = {"model": subject.name, "source": subject.source}
        pairs = []
        model = named(subject, folder)
        failed: list[str] = []
        for mode in ("inference", "training"):
            values = folder / "values"
            request = Request(
                model, modes=(mode,), sequence=16, seconds=_SECONDS, megabytes=_MEGABYTES
            )
            record = run(request, values)
            failed += [f"{f.step} of {f.graph}: {f.reason}" for f in record.failures]
            lowering = lower(record, python, values, _SECONDS, _MEGABYTES, whole=False)
            failed += [f"{g.graph}: {g.why}" for g in lowering.graphs if g.why]
            judge = Judge([target])
            pairs += [
                (found, judge.graph(graph))
                for found, graph in zip(lowering.graphs, record.graphs, strict=True)
            ]
        found = compare(pairs, target)
        return row | {
            "versions": dict(python.versions()),
            "graphs": [f"{g.graph} ({g.mode})" for g, _ in pairs],
            "agree": found.agree,
            "compared": found.compared,
            "compiler": found.compilers,
            "not_run": found.not_run,
            "disagreements": _rows(found),
            "failed": failed,
        }


def _rows(found: Comparison) -> list[dict[str, Any]]:
    rows = []
    for (operator, says, was), count in by_operator(found.disagreements).items():
        one = next(
            d
            for d in found.disagreements
            if (d.node.operator, d.says, d.measured) == (operator, says, was)
        )
        rows.append(
            {
                "operator": operator,
                "table": says,
                "measured": was,
                "nodes": count,
                "direction": one.node.direction,
                "fallback": list(one.call.fallback),
                "error": one.call.error,
                "args": list(one.node.args),
                "kwargs": dict(one.node.kwargs),
                "unless": list(one.unless),
            }
        )
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--xla-python", required=True)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--only", action="append", default=[])
    options = parser.parse_args(arguments)
    rows = []
    for subject in SUBJECTS:
        if options.only and subject.name not in options.only:
            continue
        row = measured(subject, XlaPython(options.xla_python))
        rows.append(row)
        print(f"{subject.name}: {row['agree']} of {row['compared']}", file=sys.stderr, flush=True)
        if options.results:
            with options.results.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row) + "\n")
    total = sum(r["compared"] for r in rows)
    agree = sum(r["agree"] for r in rows)
    table = [
        (r["model"], r["source"], len(r["graphs"]), r["compared"], r["agree"], r["compiler"],
         r["not_run"]) for r in rows
    ]  # fmt: skip
    print(
        tabulate(
            table,
            headers=("model", "of", "graphs", "nodes compared", "agree", "compiler", "not run"),
        )
    )
    print(f"\n{agree} of {total} nodes agree ({agree / max(total, 1):.2%})")
    for row in rows:
        for found in row["disagreements"]:
            print(
                f"{row['model']}: {found['operator']} ({found['direction']}), {found['nodes']} nodes:"
                f" the table says {found['table']}, measured {found['measured']}"
                f" {' '.join(found['fallback'])} {found['error']}"
            )
        for text in row["failed"]:
            print(f"{row['model']}: {text}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
