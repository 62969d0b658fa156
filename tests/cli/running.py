"""Running the command line as a person does: another process, its streams, its exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    env["PYTHONPATH"] = str(ROOT)
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    return {**env, **(extra or {})}


def neuronport(
    *arguments: str | Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    timeout: float = 60,
) -> subprocess.CompletedProcess[str]:
    """Run ``neuronport``; output decoded as UTF-8, newlines as they are."""
    done = subprocess.run(
        [sys.executable, "-m", "neuronport", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        cwd=cwd or ROOT,
        env=environment(env),
        timeout=timeout,
        check=False,
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
    )
