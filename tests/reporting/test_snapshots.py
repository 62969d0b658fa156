"""What people see, kept in files and compared exactly.

To renew them after a change that is meant: ``UPDATE_SNAPSHOTS=1 pytest tests/reporting``.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from neuronport.reporting import AuditResult, RenderOptions, Tree, formats, named

from .sample import NATIVE, SOURCE, hostile, nothing, sample

FOLDER = Path(__file__).parent / "snapshots"
ENDINGS = {"json": "json", "sarif": "sarif.json", "gitlab": "gitlab.json", "markdown": "md"}


def empty() -> AuditResult:
    return nothing(tree=Tree("project", 3, 0, 0), exit_code=3)


def references_only() -> AuditResult:
    return replace(sample(), findings=(), targets=(NATIVE,), exit_code=0)


AUDITS = {
    "sample": sample,
    "nothing": nothing,
    "empty": empty,
    "hostile": hostile,
    "references": references_only,
}
CASES = [
    *((name, "text", {}) for name in AUDITS),
    *(("sample", name, {}) for name in formats() if name != "text"),
    *(("hostile", name, {}) for name in formats() if name != "text"),
    ("sample", "text", {"width": 80}),
    ("sample", "text", {"color": True, "groups": 1}),
]


@pytest.mark.parametrize(("audit", "format", "changes"), CASES)
def test_snapshot(audit: str, format: str, changes: dict[str, object]) -> None:
    options = RenderOptions(source=SOURCE.get, **changes)  # type: ignore[arg-type]
    text = "".join(named(format).render(AUDITS[audit](), options))
    variant = "".join(f"-{key}" for key in changes)
    file = FOLDER / f"{audit}{variant}.{format}.{ENDINGS.get(format, 'txt')}"
    data = text.encode("utf-8")
    if os.environ.get("UPDATE_SNAPSHOTS"):
        FOLDER.mkdir(exist_ok=True)
        file.write_bytes(data)
    assert file.read_bytes().decode("utf-8") == text


def test_no_snapshot_is_left_over() -> None:
    expected = {
        f"{audit}{''.join(f'-{k}' for k in changes)}.{fmt}.{ENDINGS.get(fmt, 'txt')}"
        for audit, fmt, changes in CASES
    }
    assert {f.name for f in FOLDER.iterdir()} == expected
