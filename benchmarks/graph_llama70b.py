"""What `neuronport graph` takes for a llama of 70 billion parameters, without storage.

    python benchmarks/graph_llama70b.py [--python FILE] [--layers N] [--sequence N] [--only NAME]

Three runs of the command, each a process of its own with everything that belongs to it: importing,
building, tracing, judging every node, writing JSON. Wall-clock seconds depend on what else the
machine does, so the seconds of CPU (user and system, of all processes) are told beside them; the
memory is the largest resident size of one of the processes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "rms_norm_eps": 1e-05,
    "rope_theta": 500000.0,
    "hidden_act": "silu",
    "dtype": "bfloat16",
    "tie_word_embeddings": False,
}


@dataclass(frozen=True)
class Run:
    name: str
    arguments: tuple[str, ...]
    seconds: float
    """The goal."""
    megabytes: int


RUNS = (
    Run("inference", ("--input", "input_ids=randint(0,128256,(1,{sequence}))"), 30, 1000),
    Run("prefill and decode", (), 180, 4000),
    Run("training", ("--mode", "training"), 180, 4000),
)


def measured(run: Run, options: argparse.Namespace, folder: Path) -> tuple[str | float | int, ...]:
    config = folder / "config.json"
    config.write_text(json.dumps({**CONFIG, "num_hidden_layers": options.layers}), encoding="utf-8")
    out = folder / "graph.json"
    command = [
        *(sys.executable, "-m", "neuronport", "graph", str(config)),
        *(a.format(sequence=options.sequence) for a in run.arguments),
        *("--sequence", str(options.sequence), "--no-audit", "--format", "json"),
        *("-t", "native", "-t", "xla", "--python", options.python, "--fail-on", "none"),
    ]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    with out.open("wb") as stream:
        done = subprocess.run(
            command,
            stdout=stream,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
            check=False,
        )
    wall = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{run.name}: {done.stderr.decode()[-2000:]}")
    data = json.loads(out.read_text(encoding="utf-8"))
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    # the largest of any child so far: runs are ordered by their size
    memory = after.ru_maxrss / 1e3
    nodes = sum(len(g["nodes"]) for g in data["graphs"])
    graphs = ", ".join(f"{g['name']} ({g['how']})" for g in data["graphs"])
    return (run.name, graphs, nodes, round(wall, 1), round(cpu, 1), run.seconds,
            round(memory), run.megabytes)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    from tabulate import tabulate

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", default=sys.executable, help="with torch and transformers")
    parser.add_argument("--layers", type=int, default=CONFIG["num_hidden_layers"])
    parser.add_argument("--sequence", type=int, default=2048)
    parser.add_argument("--only", action="append", default=[])
    options = parser.parse_args(arguments)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for run in RUNS:
            if not options.only or run.name in options.only:
                rows.append(measured(run, options, Path(folder)))
    print(
        tabulate(
            rows,
            headers=("run", "graphs", "nodes", "seconds", "CPU seconds", "goal", "MB", "goal"),
        )
    )
    return 0 if all(row[4] <= row[5] and row[6] <= row[7] for row in rows) else 1  # type: ignore[operator]


if __name__ == "__main__":
    raise SystemExit(main())
