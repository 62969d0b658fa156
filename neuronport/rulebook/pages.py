"""What is said about a rule or a row, in words and as data: the stuff of `explain`, `rules`, `api`
and of the generated documentation. How it looks is for ``reporting.pages``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from neuronport.findings import Confidence, EvidenceKind
from neuronport.rulebook.model import Condition, Fixture, Spec, Window
from neuronport.targets import Target, paths, resolve

_MAPPINGS = {
    "same": "the same name and arguments work",
    "renamed": "another name or argument",
    "composite": "several calls, or a part of the program written differently",
    "context": "depends on what the program does with it",
    "none": "there is no equivalent",
}
_WEAK = frozenset((EvidenceKind.INFERRED, EvidenceKind.REPORTED))


def newest_targets() -> list[Target]:
    """Every path at the newest SDK that has it."""
    return [resolve(path) for path in paths()]


def verdict_words(spec: Spec, targets: Sequence[Target]) -> dict[str, str]:
    """Target → its verdict, or nothing where nothing is said about it."""
    words = {}
    for target in targets:
        verdict = spec.verdict(target)
        if verdict is not None:
            words[str(target)] = str(verdict)
    return words


def window_words(window: Window) -> str:
    """When a verdict holds: ``SDK 2.31 to 2.32, trn2``; empty: always."""
    if window.since and window.until:
        sdk = f"SDK {window.since} to {window.until}"
    elif window.since:
        sdk = f"since SDK {window.since}"
    elif window.until:
        sdk = f"up to SDK {window.until}"
    else:
        sdk = ""
    return ", ".join(part for part in (sdk, " and ".join(window.chips)) if part)


def condition_words(condition: Condition) -> str:
    """An argument condition as a sentence's part: ``backend is "nccl"``."""
    said = []
    if condition.given is not None:
        said.append("is given" if condition.given else "is not given")
    if condition.is_ is not None:
        said.append("is " + " or ".join(map(_literal, condition.is_)))
    if condition.not_ is not None:
        said.append("is not " + " or ".join(map(_literal, condition.not_)))
    if condition.matches:
        said.append(f"matches /{condition.matches}/")
    return f"{condition.arg} {' and '.join(said)}"


def _literal(value: object) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return repr(value)


def mapping_words(spec: Spec) -> str:
    """How a row's replacement relates to it."""
    return _MAPPINGS.get(spec.kind, spec.kind)


def limits(spec: Spec) -> list[str]:
    """What a finding of this rule does not know, read off its data."""
    return list(_limits(spec))


def _limits(spec: Spec) -> Iterator[str]:
    if spec.on == "call":
        yield "Speaks where it is called, not where it is only named."
    elif spec.on == "import":
        yield "Speaks at the import statement."
    elif spec.on == "method":
        unsure = "likely" if spec.distinctive else "possible"
        yield (
            "A method: certain where the receiver's kind is known, "
            f"`{unsure}` where it is not, silent where the receiver is something else."
        )
    if spec.name.endswith(".*"):
        yield "Stands for every name below it that has no row of its own."
    if spec.when:
        yield f"Only where {', and '.join(condition_words(c) for c in spec.when)}."
        if spec.unknown == "possible":
            yield "Where the argument's value cannot be known, the finding is `possible`."
        else:
            yield "Silent where the argument's value cannot be known."
    if spec.confidence is not Confidence.CERTAIN:
        yield f"Never surer than `{spec.confidence}`."
    if spec.seldom is not Confidence.CERTAIN:
        yield f"Never surer than `{spec.seldom}` outside of loops and of what runs every step."
    weak = [
        path
        for path in spec.verdicts
        if (kinds := {e.kind for e in spec.evidence_for(path)}) and kinds <= _WEAK
    ]
    if weak:
        yield (
            f"Its evidence on {' and '.join(weak)} is only inferred or reported: never surer than "
            "`likely` there."
        )
    for paths_, window in _by_window(spec.guarded):
        when = window_words(window)
        yield (
            f"Where the code runs only if CUDA is there: `{window.verdict}` on {paths_}"
            f"{f' ({when})' if when else ''}."
        )


def _by_window(by_path: Mapping[str, Sequence[Window]]) -> Iterator[tuple[str, Window]]:
    together: dict[Window, list[str]] = {}
    for path, windows in by_path.items():
        for window in windows:
            together.setdefault(window, []).append(path)
    for window, names in together.items():
        yield " and ".join(names), window


def example(spec: Spec) -> Fixture | None:
    """A program in which it fires."""
    return spec.fires[0] if spec.fires else None


def as_json(spec: Spec) -> dict[str, Any]:
    """Everything that is said, as data."""
    row: dict[str, Any] = {
        "id": spec.id,
        "form": "row" if spec.name else "rule",
        "title": spec.title,
        "area": spec.area,
        "effort": str(spec.effort),
        "why": spec.why,
        "verdict": _windows(spec.verdicts),
        "guarded": _windows(spec.guarded),
        "newest": verdict_words(spec, newest_targets()),
        "replacement": dict(spec.replacement),
        "fix": spec.fix.as_json() if spec.fix else None,
        "confidence": str(spec.confidence),
        "limits": limits(spec),
        "evidence": [e.as_json() for e in spec.evidence],
        "fires": [_fixture(f) for f in spec.fires],
        "silent": [_fixture(f) for f in spec.silent],
        "file": f"rules/{spec.file}",
    }
    if spec.name:
        row["name"] = spec.name
        row["on"] = spec.on
        row["mapping"] = spec.kind
        row["when"] = [condition_words(c) for c in spec.when]
        row["note"] = spec.note
    return row


def brief_json(spec: Spec, targets: Sequence[Target]) -> dict[str, Any]:
    """One line of a list, as data."""
    row: dict[str, Any] = {
        "id": spec.id,
        "title": spec.title,
        "area": spec.area,
        "effort": str(spec.effort),
        "verdict": verdict_words(spec, targets),
        "replacement": dict(spec.replacement),
        "fix": spec.fix.as_json() if spec.fix else None,
    }
    if spec.name:
        row["name"] = spec.name
        row["note"] = spec.note
    return row


def _windows(by_path: Mapping[str, Sequence[Window]]) -> dict[str, list[dict[str, Any]]]:
    result: dict[str, list[dict[str, Any]]] = {}
    for path, windows in by_path.items():
        result[path] = []
        for window in windows:
            row: dict[str, Any] = {
                "verdict": str(window.verdict),
                "level": str(window.verdict.level),
            }
            if window.since:
                row["since"] = window.since
            if window.until:
                row["until"] = window.until
            if window.chips:
                row["chips"] = list(window.chips)
            result[path].append(row)
    return result


def _fixture(fixture: Fixture) -> dict[str, Any]:
    row: dict[str, Any] = {"file": fixture.file, "code": fixture.code}
    if fixture.lines:
        row["lines"] = list(fixture.lines)
    if fixture.target:
        row["target"] = fixture.target
    return row
