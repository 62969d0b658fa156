"""The baseline: findings that are known and accepted, each with a reason, so that a run fails only
for new ones."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import replace

from neuronport.findings import Finding
from neuronport.workspace import atomic_write

_FORM = 1


class BaselineError(ValueError):
    """A baseline file that cannot be used."""


def load(path: str) -> dict[str, str]:
    """Fingerprint → reason, empty when none is given.

    Raises BaselineError: the file is missing, unreadable or of another form.
    """
    try:
        # A project's settings can name anything: a pipe or a device would never end.
        if not stat.S_ISREG(os.stat(path).st_mode) and not os.path.isdir(path):
            raise ValueError("not a regular file")
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except OSError as error:
        raise BaselineError(
            f"{path}: cannot be read: {error.strerror}; make one with --write-baseline {path}"
        ) from None
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"{path}: not a baseline: {error}") from None
    if not isinstance(document, dict) or document.get("neuronport_baseline") != _FORM:
        raise BaselineError(f"{path}: not a baseline of this version of neuronport")
    rows = document.get("findings")
    if not isinstance(rows, list):
        raise BaselineError(f"{path}: findings is to be a list")
    result = {}
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("fingerprint"), str):
            raise BaselineError(f"{path}: every row needs a fingerprint")
        result[row["fingerprint"]] = str(row.get("reason") or "")
    return result


def split(
    findings: Iterable[Finding], known: dict[str, str]
) -> tuple[list[Finding], list[Finding]]:
    """``(new, in the baseline)``."""
    new: list[Finding] = []
    old: list[Finding] = []
    for finding in findings:
        reason = known.get(finding.fingerprint)
        if reason is None:
            new.append(finding)
        else:
            old.append(replace(finding, suppressed=reason or "in the baseline"))
    return new, old


def write(path: str, findings: Sequence[Finding], reasons: dict[str, str]) -> None:
    """Write a baseline; reasons that an earlier one gave are kept."""
    document = {
        "neuronport_baseline": _FORM,
        "findings": [
            {
                "fingerprint": f.fingerprint,
                "rule": f.rule,
                "path": f.location.path,
                "scope": f.context.scope,
                "line": f.snippet,
                "reason": reasons.get(f.fingerprint, ""),
            }
            for f in findings
        ],
    }
    text = json.dumps(document, indent=1, ensure_ascii=True) + "\n"
    atomic_write(path, text.encode("ascii"))
