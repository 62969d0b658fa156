"""What users saw: reports of Neuron's own tools, read into rows that lie over the tables.

One file per format, found by being there. Each has ``recognises(text) -> bool`` and
``read(text) -> Report``; nothing here needs torch, a device or the tools that wrote the reports.
"""

from __future__ import annotations

import hashlib
import importlib
import pkgutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from neuronport import targets
from neuronport.operators.observed.report import Observation, Report
from neuronport.operators.resolve import Resolver
from neuronport.operators.tables import load, read_overlay
from neuronport.workspace import WorkspaceError
from neuronport.workspace.files import read_regular

__all__ = ["Observation", "Report", "contradictions", "formats", "overlay", "read"]


_MOST = 256 << 20
"""Bytes of a report that are read."""


def formats() -> dict[str, ModuleType]:
    """Format name → module, the specific ones first."""
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if m.name != "report")
    modules = {name: importlib.import_module(f"{__name__}.{name}") for name in names}
    return dict(sorted(modules.items(), key=lambda item: getattr(item[1], "ORDER", 50)))


def read(text: str) -> tuple[str, Report] | None:
    """The format of ``text`` and what it reports; ``None``: no format recognises it."""
    for name, module in formats().items():
        if module.recognises(text):
            return name, module.read(text)
    return None


def overlay(files: Iterable[Path]) -> tuple[str, list[str]]:
    """The overlay file for some reports, and what was not understood, as messages.

    Same files, same text: nothing of the clock or of where the files lie goes into it.
    """
    lines = [
        "# What was observed, laid over neuronport's operator table: `--overlay FILE`.",
        "# Written by `neuronport operators observe`.",
    ]
    problems: list[str] = []
    rows: list[str] = []
    for number, file in enumerate(files, 1):
        try:
            data = read_regular(str(file.resolve()), _MOST)
        except WorkspaceError as error:
            problems.append(f"{file}: not read: {error.detail}")
            continue
        if len(data) >= _MOST:
            problems.append(f"{file}: only its first {_MOST >> 20} MiB were read")
        try:
            found = read(data.decode("utf-8", "replace"))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            problems.append(f"{file}: looks like a report, but is not of its form ({error!r:.80})")
            continue
        if found is None:
            known = ", ".join(name.replace("_", " ") for name in formats())
            problems.append(f"{file}: no report that neuronport knows; it reads: {known}")
            continue
        name, report = found
        digest = hashlib.sha256(data).hexdigest()[:12]
        source = f"observed-{number}"
        lines += [
            "",
            f"[source.{source}]",
            f'kind = "{report.kind}"',
            f"source = {_quoted(f'{file.name} (sha256 {digest}…)')}",
            f"says = {_quoted(report.says)}",
        ]
        problems += [f"{file}: {text}" for text in report.not_understood]
        for seen in sorted(set(report.observations)):
            rows += [
                "",
                "[[row]]",
                f"operator = {_quoted(seen.operator)}",
                f'path = "{seen.path}"',
                f'stage = "{seen.stage}"',
                f'status = "{seen.status}"',
                *([f"when = {_quoted(seen.when)}"] if seen.when else []),
                f'evidence = ["{source}"]',
                *([f"note = {_quoted(seen.note)}"] if seen.note else []),
            ]
        if not report.observations:
            problems.append(f"{file}: read as {name} ({report.says}), names no operator")
    return "\n".join([*lines, *rows]) + "\n", problems


def contradictions(text: str) -> list[str]:
    """Where an overlay and the table that ships disagree, and names that no table has."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "overlay.toml"
        file.write_text(text, encoding="utf-8")
        tables = load()
        _, rows, unknown = read_overlay(file, tables)
    lines = [f"{name}: no such operator in the table" for name in sorted(set(unknown))]
    resolvers = {
        path.name: Resolver(tables, path.name, path.sdks[-1]) for path in targets.paths().values()
    }
    for row in rows:
        stage = row.stage if row.stage != "*" else "eager"
        known = resolvers[row.path].forward(row.operator, stage)[0]
        if row.when is None and known.status.verdict not in (None, row.status.verdict):
            lines.append(
                f"{row.operator} ({row.path}, {stage}): observed {row.status},"
                f" the table says {known.status} ({', '.join(known.evidence)})"
            )
    return sorted(set(lines))


def _quoted(text: str) -> str:
    plain = "".join(c if c.isprintable() else " " for c in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
