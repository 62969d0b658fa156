"""What a port says in the end: what it changed, what it could not, what is left to people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from neuronport.codemods.engine.model import DONE, KEPT_FOR_CUDA, Left
from neuronport.codemods.engine.plan import Plan
from neuronport.findings import NotLookedAt

_KINDS = 25
"""How many kinds of work are listed; --format json lists all."""
_PLACES = 6


def summary(
    plan: Plan, written: Collection[str] | None, missed: Sequence[NotLookedAt] = ()
) -> Iterator[str]:
    """``written``: the files that were; None: nothing is to be written now. ``missed``: the files
    that could not be read, and so were not ported."""
    done = {x.path for x in plan.rewritten if written is None or x.path in written}
    changes = [c for c in plan.changes if c.file in done]
    line = f"{_count(len(changes), 'change')} in {_count(len(done), 'file')} "
    line += "to write" if written is None else "written"
    if len(done) == len(plan.rewritten):
        line += f", {_count(len(plan.converted), 'finding')} converted"
    yield line
    for change in changes:
        if change.note:
            yield f"  {change.file}:{change.finding.location.line}: {change.note}"
    if plan.held_back:
        yield f"{len(plan.held_back)} more with --review"
    for failed in plan.failed:
        yield f"left as it was: {failed.path}: {failed.reason}: {failed.detail}"
    if missed:
        yield f"{_count(len(missed), 'file')} not looked at, and so not ported:"
        for file in missed[:_KINDS]:
            place = file.path if file.line is None else f"{file.path}:{file.line}"
            yield f"  {place}: {file.reason}: {file.detail}"
        if len(missed) > _KINDS:
            yield f"  … and {len(missed) - _KINDS} more; --format json lists all"
    counted = Counter(x.reason for x in plan.left)
    left = [x for x in plan.left if x.reason not in (KEPT_FOR_CUDA, DONE)]
    if plan.left:
        why = ", ".join(f"{n} {r}" for r, n in sorted(Counter(x.reason for x in left).items()))
        parts = [f"{len(left)} to people ({why})"] if left else []
        parts += [f"{counted[KEPT_FOR_CUDA]} kept for CUDA"] if counted[KEPT_FOR_CUDA] else []
        parts += [f"{counted[DONE]} done already"] if counted[DONE] else []
        yield f"{_count(len(plan.left), 'finding')} left: {', '.join(parts)}"
    yield from _left(left)


def _left(left: list[Left]) -> Iterator[str]:
    """What is left, places of one kind together."""
    kinds: dict[tuple[str, str, tuple[str, ...]], list[Left]] = {}
    for item in left:
        kinds.setdefault((item.finding.rule, item.says, item.ways[:3]), []).append(item)
    for (rule, says, ways), items in list(kinds.items())[:_KINDS]:
        places = Counter(f"{x.finding.location.path}:{x.finding.location.line}" for x in items)
        shown = [f"{p} ({n})" if n > 1 else p for p, n in places.items()][:_PLACES]
        more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
        yield f"  {', '.join(shown)}{more}: {rule}: {says}"
        for way in ways:
            yield f"      - {way}"
    if len(kinds) > _KINDS:
        rest = sum(len(items) for items in list(kinds.values())[_KINDS:])
        yield f"  … and {rest} more of {_count(len(kinds) - _KINDS, 'kind')}; --format json lists all"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
