"""Write docs/rules/ from the rules: one page per area, one table per API namespace, an index.

    python tools/generate_docs.py           write what has changed
    python tools/generate_docs.py --check   only say what has changed; exit 1 if anything

A test runs the check, so that the pages cannot fall behind the rules.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from neuronport.findings import Evidence  # noqa: E402
from neuronport.reporting import escape  # noqa: E402
from neuronport.reporting.pages import markdown_evidence, markdown_page, markdown_table, prose  # noqa: E402
from neuronport.rulebook.load import rulebook  # noqa: E402
from neuronport.rulebook.model import Spec  # noqa: E402
from neuronport.targets import paths  # noqa: E402

FOLDER = ROOT / "docs" / "rules"
MADE = "<!-- Made by tools/generate_docs.py from rules/; change those. -->\n\n"


def documents() -> dict[str, str]:
    """Path below docs/rules/ → text, for every page."""
    book = rulebook()
    areas: dict[str, list[Spec]] = {}
    for spec in book.rules.values():
        areas.setdefault(spec.area, []).append(spec)
    tables: dict[str, list[Spec]] = {}
    for spec in book.rows.values():
        tables.setdefault(Path(spec.file).stem, []).append(spec)
    pages = {"README.md": _index(areas, tables)}
    for area, specs in areas.items():
        pages[f"{area}.md"] = _area(area, specs)
    for name, specs in tables.items():
        pages[f"api/{name}.md"] = _table(name, specs)
    return pages


def _index(areas: Mapping[str, list[Spec]], tables: Mapping[str, list[Spec]]) -> str:
    lines = [
        f"{MADE}# Rules\n",
        "What neuronport knows, by area. `neuronport explain RULE` shows the page of any rule or"
        " row, `neuronport rules` lists them, `neuronport api NAME` looks an API up.\n",
    ]
    for area in sorted(areas):
        lines.append(f"## [{area}]({area}.md)\n")
        lines += [
            f"* [`{s.id}`]({area}.md#{s.id}): {prose(s.title)}"
            for s in sorted(areas[area], key=lambda s: s.id)
        ]
        lines.append("")
    lines.append("## APIs\n\nOne table for each namespace or library.\n")
    lines += ["| names | what | area |", "|---|---|---|"]
    for name in sorted(tables, key=str.lower):
        specs = tables[name]
        belongs = ", ".join(sorted({s.area for s in specs}))
        lines.append(f"| [`{name}`](api/{name}.md) | {prose(_title(specs[0]))} | {belongs} |")
    return "\n".join(lines) + "\n"


def _area(area: str, specs: list[Spec]) -> str:
    parts = [MADE, f"# Rules: {area}\n"]
    for spec in sorted(specs, key=lambda s: s.id):
        parts += ["\n", *markdown_page(spec, level=2)]
    return "".join(parts)


def _table(name: str, specs: list[Spec]) -> str:
    ordered = sorted(specs, key=lambda s: (s.name.lower(), s.id))
    parts = [MADE, f"# {prose(_title(specs[0]))}\n\n"]
    parts.append(
        f"From `rules/api/{name}.toml`. A row's id is its rule; `api/` stands before it.\n\n"
    )
    parts += markdown_table(ordered, list(paths()), prefix="api/")
    notes = [s for s in ordered if s.note]
    if notes:
        parts.append("\n## Notes\n\n")
        parts += [
            f"* {escape.markdown_code(s.id.removeprefix('api/'))}: {prose(s.note)}\n" for s in notes
        ]
    parts.append("\n## Evidence\n\n")
    parts += _evidence(e for s in ordered for e in s.evidence)
    return "".join(parts)


def _evidence(cited: Iterable[Evidence]) -> list[str]:
    return [markdown_evidence(e) for e in dict.fromkeys(cited)]


def _title(spec: Spec) -> str:
    """A row's title is that of its table and its name."""
    return spec.title.removesuffix(f": {spec.name}")


def changes() -> list[str]:
    """Pages that are missing, stale or left over, as paths below docs/rules/."""
    wanted = documents()
    there = {p.relative_to(FOLDER).as_posix(): p for p in FOLDER.rglob("*.md")}
    stale = [
        name
        for name, text in wanted.items()
        if name not in there or there[name].read_text(encoding="utf-8") != text
    ]
    return sorted([*stale, *(set(there) - set(wanted))])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    wanted = documents()
    changed = changes()
    for name in changed:
        print(f"docs/rules/{name}")
        if arguments.check:
            continue
        path = FOLDER / name
        if name in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[name], encoding="utf-8", newline="\n")
        else:
            path.unlink()
    return 1 if arguments.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
