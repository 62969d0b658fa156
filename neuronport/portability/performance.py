"""The performance level: is the contract met on Neuron? From run records that a user supplies.

Without a contract, or without a run on Neuron that is about what the contract is about, it is not
measured; nothing is estimated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from neuronport.portability import runs as measured
from neuronport.portability import verdict as words
from neuronport.portability.contract import Contract
from neuronport.portability.runs import Run
from neuronport.portability.verdict import Ground, Holds


@dataclass(frozen=True, slots=True)
class Clause:
    """One limit of the contract, held against one run."""

    what: str
    limit: str
    value: float | None
    met: bool | None
    """None: not measured."""
    how: str

    def as_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "limit": self.limit,
            "value": self.value,
            "met": self.met,
            "how": self.how,
        }

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.what} {self.limit}: not measured ({self.how})"
        return f"{self.what} {self.value:g} ({self.limit}; {self.how})"


def conclude(contract: Contract | None, runs: Sequence[Run]) -> words.Level:
    """The performance level, and what it rests on."""
    because: list[Ground] = []
    not_known: list[Ground] = []
    figures: dict[str, Any] = {
        "runs": [{"file": r.file, "device": r.name, "workload": r.workload} for r in runs],
        "clauses": {},
        "comparisons": [measured.compare(a, b).as_json() for a, b in combinations(runs, 2)],
    }
    verdict = Holds.NOT_MEASURED
    if contract is None:
        not_known.append(
            Ground("what is asked of it: there is no contract", "[tool.neuronport.contract]")
        )
    elif not contract.limits:
        not_known.append(Ground("what is asked of it: the contract sets no limit", contract.file))
    if not runs:
        not_known.append(
            Ground("how it performs: no run was given", "neuronport portability --run FILE")
        )
    if contract is not None and contract.limits and runs:
        verdict = _against(contract, runs, because, not_known, figures)
    return words.Level("performance", verdict, because, not_known, {}, figures)


def _against(
    contract: Contract,
    runs: Sequence[Run],
    because: list[Ground],
    not_known: list[Ground],
    figures: dict[str, Any],
) -> Holds:
    fitting = []
    for run in runs:
        differs = mismatches(contract, run)
        if differs:
            not_known.append(
                Ground(f"the run is about something else: {'; '.join(differs)}", run.file)
            )
            continue
        clauses = check(contract, run)
        figures["clauses"][run.file] = [c.as_json() for c in clauses]
        if run.device == "neuron":
            fitting.append((run, clauses))
        else:
            # What the contract is like where the program runs today.
            listed = "; ".join(str(c) for c in clauses)
            because.append(Ground(f"on {run.name}: {listed}", run.file))
    if not fitting:
        not_known.append(
            Ground("how it performs on Neuron: no run there is about the contract", contract.file)
        )
        return Holds.NOT_MEASURED
    newest = max(run.made for run, _ in fitting)
    verdicts = []
    for run, clauses in fitting:
        if run.made < newest:
            because.append(Ground(f"an older run on {run.name} is not counted", run.file))
            continue
        verdict = _of_run(contract, run, clauses)
        verdicts.append(verdict)
        for clause in clauses:
            if clause.met is None:
                not_known.append(Ground(f"on {run.name}: {clause}", run.file))
            else:
                word = Holds.HOLDS if clause.met else Holds.FAILS
                because.append(Ground(f"on {run.name}: {clause}", run.file, word))
        if not run.completed:
            error = f": {run.error}" if run.error else ""
            because.append(
                Ground(f"the run on {run.name} did not complete{error}", run.file, Holds.FAILS)
            )
        elif verdict is Holds.WITH_CHANGES:
            precision = run.about["precision"]
            because.append(
                Ground(
                    f"in {precision} where {contract.precision[0]} is agreed and {precision} allowed",
                    run.file,
                    Holds.WITH_CHANGES,
                )
            )
    return words.weakest(verdicts)


def _of_run(contract: Contract, run: Run, clauses: Sequence[Clause]) -> Holds:
    if not run.completed or any(c.met is False for c in clauses):
        return Holds.FAILS
    if any(c.met is None for c in clauses):
        return Holds.NOT_MEASURED
    if contract.precision and run.about.get("precision") != contract.precision[0]:
        return Holds.WITH_CHANGES
    return Holds.HOLDS


def mismatches(contract: Contract, run: Run) -> list[str]:
    """In what a run is not about what the contract is about; what it does not say counts."""
    found = []
    for key, asked in contract.conditions.items():
        said = run.about.get(key)
        if said != asked:
            found.append(f"{key} is {measured._said(said)}, the contract's {measured._said(asked)}")
    if contract.precision and run.about.get("precision") not in contract.precision:
        said = measured._said(run.about.get("precision"))
        found.append(f"precision is {said}, the contract's {' or '.join(contract.precision)}")
    return found


def check(contract: Contract, run: Run) -> list[Clause]:
    """Every limit of the contract held against a run."""
    clauses = []
    if contract.quality is not None:
        metric, bound, limit = contract.quality
        sign = "≥" if bound == "at_least" else "≤"
        if run.quality is None or run.quality[0] != metric:
            said = "it has no quality" if run.quality is None else f"it has {run.quality[0]}"
            clauses.append(Clause(metric, f"{sign} {limit:g}", None, None, said))
        else:
            value = run.quality[1]
            met = value >= limit if bound == "at_least" else value <= limit
            clauses.append(Clause(metric, f"{sign} {limit:g}", value, met, "as the record states"))
    for word, limit in contract.latency_ms.items():
        latency, how = run.latency(word)
        met_ = None if latency is None else latency <= limit
        clauses.append(Clause(f"latency {word} (ms)", f"≤ {limit:g}", latency, met_, how))
    if contract.throughput is not None:
        least, unit = contract.throughput
        limit_text = f"≥ {least:g}"
        if run.throughput is None or run.throughput[1] != unit:
            said = "it has no throughput" if run.throughput is None else f"in {run.throughput[1]}"
            clauses.append(Clause(f"throughput ({unit})", limit_text, None, None, said))
        else:
            value = run.throughput[0]
            clauses.append(
                Clause(
                    f"throughput ({unit})",
                    limit_text,
                    value,
                    value >= least,
                    "as the record states",
                )
            )
    if contract.cost is not None:
        most, currency, per = contract.cost
        cost, how = run.cost(per)
        if cost is not None and run.cost_per_hour and run.cost_per_hour[1] != currency:
            cost, how = None, f"its cost is in {run.cost_per_hour[1]}"
        what = f"cost ({currency} for {per:,.0f})"
        clauses.append(
            Clause(what, f"≤ {most:g}", cost, None if cost is None else cost <= most, how)
        )
    return clauses
