"""The page: the chain, then architectures × verdicts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_PATH = re.compile(r"(?:/[\w.\-]+){2,}/")


def page(rows: Sequence[dict[str, Any]], total: int) -> str:
    rows = sorted(rows, key=lambda r: str(r["architecture"]))
    made = [r for r in rows if r.get("instantiated")]
    run = [r for r in made if r.get("eager")]
    whole = [r for r in run if _whole(r, "inference")]
    parts = [r for r in run if r not in whole and r.get("inference", {}).get("how")]
    trained = [r for r in run if "training" in r]
    whole_training = [r for r in trained if _whole(r, "training")]
    versions = sorted({f"transformers {r['transformers']}, torch {r['torch']}" for r in rows})
    lines = [
        "# Architectures",
        "",
        "Tiny random models of the architectures of transformers, traced and judged by the operator"
        " table: what would have to change for Neuron. Sizes change neither the operators nor, with"
        " few exceptions, the verdicts; nothing was compiled for Neuron. Made by"
        f" `python -m tools.sweep_architectures` with {'; '.join(versions) or 'nothing'}.",
        "",
        "| step | architectures | of the step before |",
        "|---|---|---|",
        f"| in the library | {total} | |",
        f"| tried | {len(rows)} | {_share(rows, total)} |",
        f"| instantiated | {len(made)} | {_share(made, len(rows))} |",
        f"| run on the CPU | {len(run)} | {_share(run, len(made))} |",
        f"| captured whole | {len(whole)} | {_share(whole, len(run))} |",
        *_ways(whole),
        f"| captured in parts | {len(parts)} | {_share(parts, len(run))} |",
        f"| training graph (of {len(trained)} tried) | {len(whole_training)} |"
        f" {_share(whole_training, len(trained))} |",
        "",
        *(
            [f"Not all were tried: shares are of {len(rows)}, which were not drawn at random.", ""]
            if len(rows) < total
            else []
        ),
        "Operators are judged at the stage in which each path runs: native eager, xla traced;"
        " training on both eager. What is portable is left out; `unknown`: no table has it.",
        "",
        "| architecture | class | graphs | native: operators to change | xla: operators to change |"
        " training |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        if not row.get("inference", {}).get("how"):
            continue
        found = row["inference"]
        targets = list(found["operators"])
        lines.append(
            "| "
            + " | ".join(
                [
                    f"`{row['architecture']}`",
                    row.get("cls", ""),
                    _how(found["how"]),
                    *(_operators(found["operators"][t]) for t in targets),
                    _training(row),
                ]
            )
            + " |"
        )
    missed = [r for r in rows if not _whole(r, "inference") or not r.get("eager")]
    if missed:
        lines += [
            "",
            "## Not captured whole, and why",
            "",
            "| architecture | reason |",
            "|---|---|",
        ]
        lines += [f"| `{r['architecture']}` | {_reason(r)} |" for r in missed]
    return "\n".join(lines) + "\n"


_WAYS = {
    "export": "by `torch.export`",
    "draft-export": "by a draft that assumes the way of the example",
    "run": "by one run written down",
}


def _ways(whole: Sequence[dict[str, Any]]) -> list[str]:
    """How, each by the worst way that one of its graphs took."""
    order = list(_WAYS)
    worst = [max(r["inference"]["how"], key=order.index) for r in whole]
    return [
        f"| … {words} | {worst.count(way)} | {_share([w for w in worst if w == way], len(whole))} |"
        for way, words in _WAYS.items()
        if way in worst
    ]


def components_section(rows: Sequence[dict[str, Any]], families: dict[str, int]) -> str:
    """The same for timm and diffusers; ``families``: how many there are to try."""
    lines = [
        "",
        "# Components of timm and diffusers",
        "",
        "Of timm, one small model of each of its files; of diffusers, small configurations of"
        " components (`tools/sweep_architectures/diffusers.toml`), and the encoders of transformers"
        " that its pipelines are made with. Inference. Made by `python -m"
        f" tools.sweep_architectures components` with {', '.join(_libraries(rows)) or 'nothing'}.",
        "",
        "| library | there to try | tried | instantiated | run on the CPU | captured whole |"
        " captured in parts |",
        "|---|---|---|---|---|---|---|",
    ]
    for library in ("timm", "diffusers", "transformers"):
        own = [r for r in rows if str(r["architecture"]).startswith(f"{library}:")]
        if not own:
            continue
        made = [r for r in own if r.get("instantiated")]
        run = [r for r in made if r.get("eager")]
        whole = [r for r in run if _whole(r, "inference")]
        parts = [r for r in run if r not in whole and r.get("inference", {}).get("how")]
        there = families.get(library, len(own))
        counts = (there, len(own), len(made), len(run), len(whole), len(parts))
        lines.append(f"| {library} | {' | '.join(str(n) for n in counts)} |")
    lines += [
        "",
        "| model | class | graphs | native: operators to change | xla: operators to change |",
        "|---|---|---|---|---|",
    ]
    rows = sorted(rows, key=lambda r: str(r["architecture"]))
    for row in rows:
        found = row.get("inference", {})
        if not found.get("how"):
            continue
        cells = [f"`{row['architecture']}`", row.get("cls", ""), _how(found["how"])]
        cells += [_operators(found["operators"][t]) for t in found["operators"]]
        lines.append(f"| {' | '.join(cells)} |")
    missed = [r for r in rows if not _whole(r, "inference") or not r.get("eager")]
    if missed:
        lines += ["", "| not captured whole | reason |", "|---|---|"]
        lines += [f"| `{r['architecture']}` | {_reason(r)} |" for r in missed]
    return "\n".join(lines) + "\n"


def _libraries(rows: Sequence[dict[str, Any]]) -> list[str]:
    return sorted({str(r["library"]) for r in rows} | {f"torch {r['torch']}" for r in rows})


def _whole(row: dict[str, Any], mode: str) -> bool:
    return bool(row.get(mode, {}).get("graphs"))


def _share(part: Sequence[Any], whole: int) -> str:
    return f"{len(part) / whole:.0%}" if whole else ""


def _how(how: Sequence[str]) -> str:
    return ", ".join(f"{how.count(h)} {h}" for h in dict.fromkeys(how))


def _operators(bad: dict[str, str]) -> str:
    if not bad:
        return "none"
    by_word: dict[str, list[str]] = {}
    for operator, word in sorted(bad.items()):
        by_word.setdefault(word, []).append(f"`{operator.removeprefix('aten::')}`")
    return "; ".join(f"{word}: {', '.join(names)}" for word, names in sorted(by_word.items()))


def _training(row: dict[str, Any]) -> str:
    if "training" not in row:
        return ""
    found = row["training"]
    if not _whole(row, "training"):
        return "no graph"
    extra = {
        target: {o: w for o, w in bad.items() if o not in row["inference"]["operators"][target]}
        for target, bad in found["operators"].items()
    }
    words = [f"{t.partition('@')[0]}: {_operators(bad)}" for t, bad in extra.items() if bad]
    return "; ".join(words) or "the same"


def _reason(row: dict[str, Any]) -> str:
    reason = row.get("reason") or row.get("inference", {}).get("reason") or "not known"
    return _PATH.sub("…/", str(reason)).replace("|", "\\|").replace("\n", " ")
