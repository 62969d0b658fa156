"""Porting small trees in tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from neuronport.codemods.engine.plan import Options, Plan, make_plan
from neuronport.codemods.engine.project import Project
from neuronport.findings import FixSafety
from neuronport.targets import default_target
from neuronport.workspace import open_workspace

SAFE = frozenset({FixSafety.SAFE})
REVIEW = frozenset({FixSafety.SAFE, FixSafety.REVIEW})


def plant(root: Path, files: Mapping[str, str | bytes]) -> None:
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode("utf-8") if isinstance(content, str) else content
        target.write_bytes(data)


def plan_for(root: Path, review: bool = False, annotate: bool = False) -> tuple[Project, Plan]:
    project = Project(open_workspace([str(root)]), [default_target()], lambda _: None)
    options = Options(safeties=REVIEW if review else SAFE, annotate=annotate)
    return project, make_plan(project, options)


def port(root: Path, review: bool = False) -> dict[str, str]:
    """Port a tree in place; the new texts by path."""
    _, plan = plan_for(root, review)
    assert not plan.failed, plan.failed
    for item in plan.rewritten:
        (root / item.path).write_bytes(item.after.encode("utf-8"))
    return {item.path: item.after for item in plan.rewritten}


def ported(root: Path, code: str, review: bool = False) -> str:
    """What becomes of one program."""
    plant(root, {"case.py": code})
    return port(root, review).get("case.py", code)
