"""The sentences that the page and the Markdown share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neuronport.codemods.engine.model import STANDINGS as STANDINGS
from neuronport.findings import Verdict
from neuronport.reporting.screen import ROLE_NAMES
from neuronport.reporting.summary import EFFORT_KEY as _EFFORT_KEY
from neuronport.reporting.summary import VERDICT_PHRASES

LEVEL_WORK: Mapping[str, str] = {
    "error": "to run correctly",
    "warning": "to run fast",
    "note": "to stay portable",
}
EFFORT_KEY = _EFFORT_KEY[0].upper() + _EFFORT_KEY[1:]
LEVEL_MEANING: Mapping[str, str] = {
    "error": "raises, does not compile, leaves the chip idle, or may compute something else",
    "warning": "runs, and costs time in every step",
    "note": "ties the code to one vendor",
}
EVIDENCE: Mapping[str, str] = {
    "observed": "seen on a user's own Neuron compile or run",
    "documented": "stated in public Neuron documentation",
    "source": "read in the source or tests of the software that runs",
    "measured": "measured by an experiment that can be repeated, without a Neuron device",
    "reported": "reported in a public issue",
    "inferred": "deduced; nobody states it outright",
    "none": "no evidence is recorded",
}
STATES: Mapping[str, str] = {
    "current": "holds: what it looked at is unchanged",
    "stale": "stale: what it looked at has changed",
    "digests not known": "whether it still holds is not known",
    "unusable": "cannot be used",
}
VERDICTS: Mapping[str, str] = {str(v): many for v, (_, many) in VERDICT_PHRASES.items()} | {
    "unknown": "no table knows the operator"
}
NODES: Mapping[str, str] = {
    "breaks": "raises or does not compile",
    "falls-back": "runs on the host CPU",
    "diverges": "may compute something else",
    "recompiles": "makes new graphs at run time",
    "syncs": "waits for the host",
    "slow": "runs on the device, far from what it could do",
    "locks-in": "ties to one vendor",
    "benign": "harmless",
    "portable": "works, as far as the tables say",
    "unknown": "no table knows the operator",
}
NOT_TRACED = (
    "Not traced: loops around the model such as generate(), the optimizer’s step, and whatever else "
    "happens outside of it."
)
MODULE_VERDICT = "the worst word of the operators in it and below it"


def phrase(verdict: str, number: int) -> str:
    one, many = VERDICT_PHRASES[Verdict(verdict)]
    return one if number == 1 else many


def role(name: str) -> str:
    return next((text for key, text in ROLE_NAMES.items() if str(key) == name), name)


def run_as(mode: str, stage: str = "") -> str:
    """What a row of a graph speaks of: ``, training, eager``; empty where it is not known."""
    return "".join(f", {word}" for word in (mode, stage) if word)


def both(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def s(number: int | None, noun: str, many: str = "") -> str:
    """A noun for a number that stands before it."""
    return noun if number == 1 else many or noun + "s"
