"""The source level: does one source run on both? From what the audit found and what a port changed.

It *holds* when nothing in the code is an error on the target and nothing ties it to Neuron; it holds
*with changes* when every error has a way round it; it *fails* when one of them needs a redesign.
Nothing is concluded from an audit that is stale, was not of everything, or is not there.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from neuronport.codemods.engine.model import TO_PEOPLE
from neuronport.findings import Confidence, Level, Role, Verdict
from neuronport.portability import verdict as words
from neuronport.portability.runs import Run
from neuronport.portability.verdict import Ground, Holds
from neuronport.records import Record, Records, digests

LOST = frozenset({"excluded", "excluded-by-default", "ignored", "link-out-of-tree", "broken-link"})
"""Reasons for not looking that the project itself or the nature of the file gives; any other means
that code was there and could not be judged."""
LOST_TOO = frozenset({"link-to-excluded", "not-a-regular-file"})
LOCK_IN = "lock-in"
"""The area of rules about code that only Neuron has."""
_PLACES = 5
Row = Mapping[str, Any]


def conclude(records: Records, runs: Sequence[Run]) -> words.Level:
    """The source level, and what it rests on."""
    audit = records.audit
    because: list[Ground] = []
    not_known: list[Ground] = []
    figures: dict[str, Any] = {"by_target": {}}
    by_target: dict[str, Holds] = {}
    if audit is None:
        not_known.append(Ground("what the code does on Neuron", "neuronport audit --record"))
    elif audit.stale:
        first = "; ".join(str(c) for c in audit.stale[:3])
        not_known.append(
            Ground(
                f"what the code does now: the audit is stale ({first})", "neuronport audit --record"
            )
        )
    else:
        lost = _lost(audit, not_known)
        if not audit.digests_known:
            not_known.append(
                Ground("whether the audit still holds: no digests", "neuronport audit --record")
            )
        for target in _targets(audit):
            known, grounds, counted = _of_target(audit, target, lost)
            by_target[target] = known
            because += grounds
            figures["by_target"][target] = counted
        unread = audit.body["tree"].get("not_read", 0)
        if unread:
            not_known.append(
                Ground(f"what is in {unread} files of kinds that are not read", "by hand")
            )
    _churn(records, because, not_known, figures)
    _compiled(records, by_target, because, not_known)
    _ran(records, runs, because, not_known, figures)
    level = words.weakest(by_target.values())
    return words.Level("source", level, because, not_known, by_target, figures)


def _targets(audit: Record) -> list[str]:
    return [str(t.get("target")) for t in audit.body["targets"] if isinstance(t, dict)]


def _lost(audit: Record, not_known: list[Ground]) -> bool:
    """Whether code was not judged, so that silence says nothing of it."""
    rows = [
        row
        for row in audit.not_looked_at
        if row.get("reason") not in LOST and row.get("reason") not in LOST_TOO
    ]
    chosen = [r for r in rows if r.get("reason") == "not-selected"]
    others = [r for r in rows if r.get("reason") != "not-selected"]
    for row in chosen:
        detail = row.get("detail", "")
        not_known.append(
            Ground(f"what other rules say: the audit was asked for {detail}", audit.file)
        )
    if others:
        reasons = Counter(str(r.get("reason")) for r in others)
        listed = ", ".join(f"{n} {r}" for r, n in sorted(reasons.items()))
        places = tuple(str(r.get("path")) for r in others[:_PLACES])
        not_known.append(
            Ground(
                f"what is in files that could not be judged: {listed}", audit.file, places=places
            )
        )
    if not audit.body["tree"].get("looked_at"):
        not_known.append(Ground("anything of the code: no Python file was looked at", audit.file))
        return True
    return bool(rows)


def _of_target(
    audit: Record, target: str, lost: bool
) -> tuple[Holds, list[Ground], dict[str, Any]]:
    code = [f for f in audit.body["findings"] if _role(f) == Role.CODE and _verdict(f, target)]
    references = [r for r in audit.body["references"] if _role(r) == Role.CODE]
    failing = [f for f in code if _is_error(f, target)]
    redesign = [f for f in failing if f.get("effort") == "redesign"]
    neuron_only = [f for f in code if f.get("area") == LOCK_IN and _sure(f, target)]
    cuda_only = [
        f for f in code if _verdict(f, target) == Verdict.LOCKS_IN and f.get("area") != LOCK_IN
    ]
    by_way = Counter(_way(f) for f in failing)
    portable = [r for r in references if _verdict(r, target) in (Verdict.PORTABLE, Verdict.BENIGN)]
    possible = [
        f
        for f in code
        if Verdict(_verdict(f, target)).level is Level.ERROR and not _sure(f, target)
    ]
    counted = {
        "references_portable": len(portable),
        "findings": len(code),
        "errors": len(failing),
        "errors_by_way": {w: by_way.get(w, 0) for w in ("safe", "review", "manual")},
        "redesign": len(redesign),
        "possible_errors": len(possible),
        "guarded": sum(1 for f in (*code, *references) if f["context"].get("guarded_by")),
        "lock_in": {"cuda_only": len(cuda_only), "neuron_only": len(neuron_only)},
        "apart": sum(
            1 for f in audit.body["findings"] if _role(f) != Role.CODE and _verdict(f, target)
        ),
        "suppressed": len(audit.body.get("suppressed", ())) + len(audit.body.get("baselined", ())),
    }
    grounds = [
        Ground(
            f"{_works(len(portable))}; {_places_word(len(failing))} "
            f"{'is an error' if len(failing) == 1 else 'are errors'}: "
            f"{by_way['safe']} with a safe rewrite, {by_way['review']} with one to review, "
            f"{by_way['manual']} by hand",
            audit.file,
            Holds.WITH_CHANGES if failing else None,
            target,
            _places(failing),
        )
    ]
    if redesign:
        grounds.append(
            Ground(
                f"{_places_word(len(redesign))} for which there is no way but another design",
                audit.file,
                Holds.FAILS,
                target,
                _places(redesign),
            )
        )
    if neuron_only:
        grounds.append(
            Ground(
                f"{_places_word(len(neuron_only))} outside a seam that only Neuron (or PyTorch/XLA) has",
                audit.file,
                Holds.WITH_CHANGES,
                target,
                _places(neuron_only),
            )
        )
    if cuda_only:
        grounds.append(
            Ground(
                f"{_places_word(len(cuda_only))} for CUDA alone, which do no harm on this target",
                audit.file,
                target=target,
                places=_places(cuda_only),
            )
        )
    if redesign:
        known = Holds.FAILS
    elif failing or neuron_only:
        known = Holds.WITH_CHANGES
    elif lost:
        known = Holds.NOT_MEASURED
    else:
        known = Holds.HOLDS
        grounds.append(
            Ground("no error was found by looking at the code", audit.file, Holds.HOLDS, target)
        )
    return known, grounds, counted


def _role(row: Row) -> str:
    return str(row["context"].get("role", Role.CODE))


def _verdict(row: Row, target: str) -> str:
    return str(row["verdict"].get(target, ""))


def _sure(row: Row, target: str) -> bool:
    """Confidence ``likely`` or more, as what makes an audit fail."""
    on = row.get("by_target", {}).get(target, {})
    return str(on.get("confidence", row.get("confidence"))) != Confidence.POSSIBLE


def _is_error(row: Row, target: str) -> bool:
    return Verdict(_verdict(row, target)).level is Level.ERROR and _sure(row, target)


def _way(row: Row) -> str:
    return str((row.get("fix") or {}).get("safety", "manual"))


def _places(rows: Iterable[Row]) -> tuple[str, ...]:
    return tuple(f"{r['path']}:{r['line']}" for r in list(rows)[:_PLACES])


def _works(number: int) -> str:
    return (
        f"{number} {'reference works as it is' if number == 1 else 'references work as they are'}"
    )


def _places_word(count: int) -> str:
    return "1 place" if count == 1 else f"{count} places"


# ---- churn, divergence ----------------------------------------------------------------------------


def _churn(
    records: Records, because: list[Ground], not_known: list[Ground], figures: dict[str, Any]
) -> None:
    record = records.churn or records.port
    if record is not None and record.stale:
        changed = "; ".join(str(c) for c in record.stale[:2])
        not_known.append(Ground(f"churn: the record is stale ({changed})", record.file))
        record = None
    elif record is None:
        not_known.append(Ground("churn: no port was recorded", "neuronport port --record"))
    if record is None:
        now = _divergence_now(records.audit)
        if now is not None and records.audit is not None:
            figures["divergence"] = {"now": now["divergence"]}
            figures["device_lines"] = {"now": now["lines"]}
            because.append(
                Ground(
                    f"code divergence {now['divergence']:.3f} (cuda, neuron, cpu)",
                    records.audit.file,
                )
            )
        return
    churn = record.body["churn"] if record.kind == "port" else record.body
    try:
        references, base, lines = churn["references"], churn["code_base"], churn["lines"]
        shown = record.kind == "port" and not any(f.get("written") for f in record.body["files"])
        figures["churn"] = {
            "done": not shown,
            "files_touched": base["files_touched"],
            "files": base["files"],
            "share_of_lines": base["share_of_lines"],
            "lines": lines,
            "references_converted": references["converted"],
            "references_left": references["left"],
        }
        figures["divergence"] = dict(churn["divergence"])
        figures["device_lines"] = dict(churn["device_lines"])
        verb = "would convert" if shown else "converted"
        people = references.get("left_as", {}).get(TO_PEOPLE)
        to_people = "" if people is None else f" ({people} of them or of new ones to people)"
        sides = [k for k in ("before", "after") if k in churn["divergence"]]
        divergence = ", ".join(f"{churn['divergence'][k]:.3f} {k}" for k in sides)
        because.append(
            Ground(
                f"a port {verb} {references['converted']} references and leaves "
                f"{references['left']}{to_people}; it touches {base['files_touched']} of {base['files']} files "
                f"and {base['share_of_lines']:.1%} of the lines; code divergence {divergence}",
                record.file,
            )
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        not_known.append(Ground("churn: the record is not as it should be", record.file))


def _divergence_now(audit: Record | None) -> dict[str, Any] | None:
    """The divergence of the tree as it is, by the definition of the churn; None: there is no tree
    that the record still speaks of."""
    if audit is None or not audit.current or not os.path.isdir(audit.root):
        return None
    from neuronport.codemods.churn import Side, divergence, platform_lines
    from neuronport.workspace import Undecodable, decode_python

    texts = {}
    for path in audit.inputs:
        if not path.endswith(".py") or path.startswith("../") or os.path.isabs(path):
            continue
        try:
            with open(os.path.join(audit.root, digests.actual(path)), "rb") as stream:
                texts[path] = decode_python(stream.read()).text
        except (OSError, ValueError, Undecodable):
            continue
    if not texts:
        return None
    lines = platform_lines(Side("now", texts, [], []))
    return {
        "divergence": round(divergence(lines.values()), 4),
        "lines": {
            "cuda_only": len(lines["cuda"] - lines["neuron"]),
            "neuron_only": len(lines["neuron"] - lines["cuda"]),
        },
    }


# ---- what compiled and ran ------------------------------------------------------------------------


def _compiled(
    records: Records,
    by_target: dict[str, Holds],
    because: list[Ground],
    not_known: list[Ground],
) -> None:
    """What Neuron's own compiler said of a graph outweighs what looking at the code did not find."""
    for record in records.compiles:
        if record.stale:
            changed = "; ".join(str(c) for c in record.stale[:2])
            not_known.append(Ground(f"compiling: the record is stale ({changed})", record.file))
            continue
        target = str(record.body.get("target", ""))
        rows = [g for g in record.body.get("graphs", ()) if g.get("compiler") == "neuron"]
        rows = [g for g in rows if g.get("status") != "not-tried"]
        failed = [g for g in rows if g["status"] in ("failed", "crashed", "cut")]
        open_ = [g for g in rows if g["status"] in ("timed-out", "over-memory")]
        name = record.subject
        if failed:
            mended = all(
                g["status"] == "cut" or any(p.get("remedy") for p in g.get("problems", ()))
                for g in failed
            )
            word = Holds.WITH_CHANGES if mended else Holds.FAILS
            said = "; ".join(
                f"{g['graph']} {g['mode']}: {g['because'] or g['status']}" for g in failed[:3]
            )
            because.append(
                Ground(f"Neuron's compiler does not take {name}: {said}", record.file, word, target)
            )
            # Without an audit a failure is still one; that changes would do is not known then.
            known = by_target.get(target, Holds.NOT_MEASURED)
            by_target[target] = max(known, word, key=words.order)
        elif open_:
            not_known.append(
                Ground(f"whether Neuron's compiler takes {name}: {open_[0]['status']}", record.file)
            )
        elif rows:
            because.append(Ground(f"Neuron's compiler takes {name}", record.file, None, target))


def _ran(
    records: Records,
    runs: Sequence[Run],
    because: list[Ground],
    not_known: list[Ground],
    figures: dict[str, Any],
) -> None:
    """One program on two kinds of device, one of them Neuron: what no look at the code can show."""
    seen: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
    for run in runs:
        if run.completed and run.program.get("name"):
            seen.setdefault(tuple(sorted(run.program.items())), {})[run.device] = run.file
    for record in records.compiles:
        if record.stale:
            continue
        for graph in record.body.get("graphs", ()):
            key = (
                ("graph", str(graph.get("graph"))),
                ("mode", str(graph.get("mode"))),
                ("name", record.subject),
            )
            for device, seconds in (("neuron", "neuron_seconds"), ("cpu", "xla_cpu_seconds")):
                if (graph.get(seconds) or {}).get("first_run") is not None:
                    seen.setdefault(key, {})[device] = record.file
    both = []
    for found, devices in seen.items():
        if "neuron" in devices and len(devices) > 1:
            program = dict(found)
            both.append({"program": program, "devices": sorted(devices)})
            files = ", ".join(sorted(set(devices.values())))
            because.append(
                Ground(
                    f"{program['name']} ran to its end on {' and '.join(sorted(devices))}", files
                )
            )
    figures["ran_on_two_devices"] = both or None
    if not both:
        not_known.append(
            Ground(
                "that one program ran on two devices, one of them Neuron: no record shows it",
                "neuronport portability --run FILE, twice",
            )
        )
