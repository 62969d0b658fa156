"""Suppression comments: ``# neuronport: ignore[rule] reason``.

On the line of a finding, or alone on a line for the next line that is not a comment;
``ignore-file[rule] reason`` for the whole file. Several rules are separated by commas, a prefix
may end in ``*`` or ``/``, and an area's name stands for its rules. Works in every language whose
comments begin with ``#`` or ``//``.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from neuronport.findings import Finding
from neuronport.rulebook.lookup import near_rules
from neuronport.rulebook.model import Rulebook
from neuronport.rulebook.words import fits, is_known

_MARK = re.compile(
    r"(?:#|//)\s*neuronport:\s*"
    r"(?:(?P<verb>ignore-file|ignore)\s*\[(?P<rules>[^\]]*)\]\s*(?P<reason>.*)"
    # What people write as other tools have it: it suppresses nothing, and that is reported.
    r"|(?:ignore|noqa|nolint|disable|skip|suppress)\b.*)"
)
_NO_REASON = "no reason given"


@dataclass(frozen=True, slots=True)
class Suppression:
    line: int
    """Where the comment stands."""
    applies_to: int
    """The line it is about; 0: the whole file."""
    rules: tuple[str, ...]
    reason: str
    text: str

    def covers(self, finding: Finding) -> bool:
        if self.applies_to not in (0, finding.location.line):
            return False
        return any(rule == "*" or fits(rule, finding) for rule in self.rules)


def suppressions(text: str, *, python: bool = True) -> list[Suppression]:
    """The suppression comments of a file."""
    if "neuronport:" not in text:
        return []
    # Lines as Python counts them: a lone \r ends one, a form feed or U+2028 does not.
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    found = []
    for number, comment, alone in _python(text) if python else _other(lines):
        match = _MARK.search(comment)
        if match is None:
            continue
        if match["verb"] is None:
            found.append(Suppression(number, number, (), _NO_REASON, match[0].strip()))
            continue
        if match["verb"] == "ignore-file":
            applies = 0
        else:
            applies = _next_code(lines, number) if alone else number
        rules = tuple(r.strip() for r in match["rules"].split(",") if r.strip())
        reason = match["reason"].strip().rstrip("*/").strip() or _NO_REASON
        found.append(Suppression(number, applies, rules, reason, match[0].strip()))
    return found


def problem(text: str, book: Rulebook, hint: bool = True) -> str:
    """What is wrong with a comment that suppresses nothing; empty: there was nothing to suppress."""
    match = _MARK.search(text)
    if match is None:
        return ""
    if match["verb"] is None:
        return "it names no rule: write neuronport: ignore[RULE] and the reason"
    rules = [r.strip() for r in match["rules"].split(",") if r.strip()]
    if not rules:
        return "the brackets are empty: write the rule between them"
    unknown = [r for r in rules if r != "*" and not is_known(r, book)]
    if not unknown:
        return ""
    near = near_rules(unknown[0], book) if hint else []
    perhaps = f"; did you mean {near[0]}?" if near else ""
    return f"{', '.join(unknown)}: no such rule, area or prefix{perhaps}"


def _python(text: str) -> Iterator[tuple[int, str, bool]]:
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and "neuronport:" in token.string:
                yield token.start[0], token.string, not token.line[: token.start[1]].strip()
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return


def _other(lines: Sequence[str]) -> Iterator[tuple[int, str, bool]]:
    for number, line in enumerate(lines, 1):
        if "neuronport:" in line:
            yield number, line, line.lstrip().startswith(("#", "//"))


def _next_code(lines: Sequence[str], number: int) -> int:
    for following in range(number, len(lines)):
        stripped = lines[following].strip()
        if stripped and not stripped.startswith(("#", "//")):
            return following + 1
    return number


def apply(
    findings: Iterable[Finding], marks: Sequence[Suppression]
) -> tuple[list[Finding], list[Finding], list[Suppression]]:
    """``(shown, suppressed, unused comments)``."""
    if not marks:
        return list(findings), [], []
    shown: list[Finding] = []
    hidden: list[Finding] = []
    used: set[int] = set()
    for finding in findings:
        for i, mark in enumerate(marks):
            if mark.covers(finding):
                used.add(i)
                hidden.append(replace(finding, suppressed=mark.reason))
                break
        else:
            shown.append(finding)
    return shown, hidden, [m for i, m in enumerate(marks) if i not in used]
