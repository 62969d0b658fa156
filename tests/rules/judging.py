"""Judging a small program in memory, as ``audit`` judges a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from neuronport.audit import Part, audit_serially
from neuronport.targets import resolve
from neuronport.workspace import open_workspace


def judge_files(
    folder: Path, files: Mapping[str, str], targets: tuple[str, ...] = ("native", "xla")
) -> Part:
    """What the audit says of ``files`` written below ``folder``."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    workspace = open_workspace([str(folder)])
    python = [f for f in workspace.files if f.kind in ("python", "stub")]
    return audit_serially(python, [resolve(t) for t in targets], lambda phase: None)
