"""Each codemod on pairs of programs: ``NAME.in.py`` becomes ``NAME.out.py``, ``NAME.same.py`` stays.

``NAME.review.in.py`` is ported with the changes under review. A new pair needs no code here.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from neuronport.codemods import codemods
from neuronport.codemods.engine.seam import functions
from neuronport.rulebook.load import rulebook
from tests.codemods.porting import plan_for, port, ported

HERE = Path(__file__).parent
PAIRS = sorted(HERE.glob("*/*.in.py"))
SAME = sorted(HERE.glob("*/*.same.py"))


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


@pytest.mark.parametrize("before", PAIRS, ids=_name)
def test_becomes(before: Path, tmp_path: Path) -> None:
    review = ".review." in before.name
    expected = before.with_name(before.name.replace(".in.py", ".out.py")).read_text("utf-8")
    after = ported(tmp_path, before.read_text("utf-8"), review)
    assert after == expected
    ast.parse(after)
    assert port(tmp_path, review) == {}, "a second run changes something"


@pytest.mark.parametrize("program", SAME, ids=_name)
def test_stays(program: Path, tmp_path: Path) -> None:
    code = program.read_text("utf-8")
    assert ported(tmp_path, code, review=True) == code


def test_what_stays_outnumbers_what_changes_and_every_codemod_has_both() -> None:
    assert len(SAME) > len(PAIRS)
    for name in codemods():
        folder = HERE / name.replace("-", "_")
        assert list(folder.glob("*.in.py")), name
        assert list(folder.glob("*.same.py")), name


def test_every_codemod_a_rule_names_is_there_and_named() -> None:
    named = {spec.fix.codemod for spec in rulebook().all() if spec.fix is not None}
    asking = {name for name, m in codemods().items() if getattr(m, "ALSO", ())}
    assert named | asking == set(codemods())
    assert {rule for m in codemods().values() for rule in getattr(m, "ALSO", ())} <= {
        spec.id for spec in rulebook().all() if spec.fix is not None
    }


def test_a_safe_run_makes_no_change_under_review(tmp_path: Path) -> None:
    for i, before in enumerate(p for p in PAIRS if ".review." in p.name):
        root = tmp_path / str(i)
        root.mkdir()
        (root / "case.py").write_text(before.read_text("utf-8"), "utf-8")
        _, plan = plan_for(root)
        assert plan.held_back, before.name
        assert all(str(c.safety) == "safe" for c in plan.changes)


def test_the_seam_has_every_function_once() -> None:
    assert len(functions()) == len(set(functions()))


def test_the_page_of_the_codemods_is_not_stale() -> None:
    root = HERE.parents[1]
    done = subprocess.run(
        [sys.executable, str(root / "tools" / "generate_codemod_docs.py"), "--check"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
