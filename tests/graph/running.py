"""Captures are slow: each model is captured once for all tests that look at it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from neuronport.graph.record import Record
from neuronport.graph.result import GraphResult, judge
from neuronport.graph.run import Request, run
from neuronport.targets import resolve

ROOT = Path(__file__).parents[2]
MODELS = Path(__file__).parent / "models"
SAMPLE = ROOT / "samples" / "gpt_trainer" / "model.py"
TARGETS = (resolve("native"), resolve("xla"))


@cache
def recorded(model: str, **options: Any) -> Record:
    return run(Request(model, seconds=240, megabytes=6000, **options))


@cache
def judged(model: str, with_audit: bool = True, **options: Any) -> GraphResult:
    return judge(recorded(model, **options), TARGETS, with_audit=with_audit)


def line_of(file: Path, text: str) -> int:
    """The number of the only line that contains ``text``."""
    rows = file.read_text(encoding="utf-8").splitlines()
    (found,) = [n for n, row in enumerate(rows, 1) if text in row]
    return found
