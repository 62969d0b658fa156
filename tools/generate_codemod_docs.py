"""Write docs/codemods.md from the codemods, the rules that name them and their fixtures.

    python tools/generate_codemod_docs.py           write the page
    python tools/generate_codemod_docs.py --check   only say whether it is stale; exit 1 if so

A test runs the check.
"""

from __future__ import annotations

import argparse
import difflib
import inspect
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from neuronport.codemods import codemods, codemods_for  # noqa: E402
from neuronport.rulebook.load import rulebook  # noqa: E402
from neuronport.rulebook.model import Spec  # noqa: E402

PAGE = ROOT / "docs" / "codemods.md"
FIXTURES = ROOT / "tests" / "codemods"
_MOST_RULES = 12

HEAD = """<!-- Made by tools/generate_codemod_docs.py; change the codemods, rules or fixtures. -->

# Codemods

What `neuronport port` writes, one section for each codemod. `safe`: the same behaviour on CUDA and on
the CPU, where the program ran there; written by default. `review`: likely right, a person must look;
written with `--review`. Every other finding is left with its reason and the ways to do it by hand,
and so is a place whose meaning is not certain. The examples are fixtures that the tests run.
"""


def page() -> str:
    by_codemod: dict[str, list[Spec]] = {}
    for spec in rulebook().all():
        if spec.fix is not None:
            for module in codemods_for(spec.id, spec.fix.codemod):
                name = module.__name__.rpartition(".")[2].replace("_", "-")
                by_codemod.setdefault(name, []).append(spec)
    parts = [HEAD]
    for name, module in codemods().items():
        lines = inspect.cleandoc(module.__doc__ or "").replace("``", "`").splitlines()
        text = "\n".join(lines).strip()
        parts.append(f"\n## {name}\n\n{text}\n\n{_rules(by_codemod.get(name, []))}\n")
        parts += [f"\n```diff\n{_example(path)}```\n" for path in _chosen(name)]
    return "".join(parts)


def _rules(specs: list[Spec]) -> str:
    names = sorted({s.id.partition(":")[0] for s in specs})
    shown = ", ".join(f"`{n}`" for n in names[:_MOST_RULES])
    more = f" and {len(names) - _MOST_RULES} more" if len(names) > _MOST_RULES else ""
    safeties = ", ".join(sorted({str(s.fix.safety) for s in specs if s.fix is not None}))
    return f"Rules ({safeties}): {shown}{more}."


def _chosen(name: str) -> list[Path]:
    """One example that is safe and one under review, the shortest of each."""
    folder = FIXTURES / name.replace("-", "_")
    pairs = sorted(folder.glob("*.in.py"), key=lambda p: (len(p.read_text("utf-8")), p.name))
    safe = [p for p in pairs if ".review." not in p.name]
    review = [p for p in pairs if ".review." in p.name]
    return [*safe[:1], *review[:1]]


def _example(before: Path) -> str:
    after = before.with_name(before.name.replace(".in.py", ".out.py"))
    lines = difflib.unified_diff(
        before.read_text("utf-8").splitlines(), after.read_text("utf-8").splitlines(), n=1
    )
    kept = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
    return "".join(f"{line}\n" for line in kept)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    text = page()
    if PAGE.is_file() and PAGE.read_text("utf-8") == text:
        return 0
    print(f"{PAGE.relative_to(ROOT)} is stale")
    if arguments.check:
        return 1
    PAGE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
