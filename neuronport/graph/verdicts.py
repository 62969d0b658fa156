"""Every node asked of the operator table, for each target and stage."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from neuronport.findings import VERDICT_ORDER, Confidence, Evidence, Verdict
from neuronport.graph.record import Graph, Node, Tensor
from neuronport.operators import (
    DEFAULT_STAGE,
    STAGES,
    UNKNOWN,
    Answer,
    Argument,
    CallFacts,
    Index,
    UnknownOperatorError,
    bind,
    lookup,
    shared,
)
from neuronport.operators.tables import Status
from neuronport.targets import Target

HOST = ("python::", "aten::sym_", "aten::_assert")
"""Arithmetic on sizes: it runs on the host on every path, and costs nothing."""
CONSTANTS = ("aten::lift_fresh_copy", "aten::lift_fresh", "aten::lift", "aten::_to_copy_constant")
"""How a constant of the program enters the graph; on a device it is copied there once."""


_PLAIN = {
    f"aten::__{word}__": f"aten::bitwise_{name}"
    for word, name in (("and", "and"), ("or", "or"), ("xor", "xor"))
}
"""Python's operators on integers and booleans: aten writes them in terms of these."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What the table says of a node on one target, at one stage."""

    status: Status
    verdict: Verdict | None
    confidence: Confidence
    evidence: tuple[Evidence, ...]
    because: tuple[str, ...] = ()
    """The conditions that hold."""
    unless: tuple[str, ...] = ()
    """Conditions that would change the answer and that even the graph does not decide."""
    via: tuple[str, ...] = ()
    workarounds: tuple[str, ...] = ()
    known: bool = True
    """False: no table has the operator."""


def stage_of(target: Target, mode: str) -> str:
    """The stage in which a graph runs unless told otherwise: what traces compiles only forwards."""
    return "eager" if mode == "training" else DEFAULT_STAGE[target.path]


@dataclass(frozen=True)
class NodeVerdicts:
    node: Node
    mode: str
    """``inference`` or ``training``."""
    by_target: Mapping[str, Mapping[str, Judged]]
    """Target → stage → what the table says."""

    def at(self, target: Target) -> Judged | None:
        """At the stage in which the graph runs unless told otherwise."""
        return self.by_target.get(str(target), {}).get(stage_of(target, self.mode))


@dataclass
class Judge:
    """Asks the table once for calls that look alike."""

    targets: Sequence[Target]
    index: Index = field(default_factory=shared)
    _memo: dict[str, Mapping[str, Mapping[str, Judged]]] = field(default_factory=dict)

    def graph(self, graph: Graph) -> list[NodeVerdicts]:
        tensors = graph.tensors()
        return [self.node(node, graph.mode, tensors) for node in graph.nodes]

    def node(
        self, node: Node, mode: str, tensors: Mapping[tuple[str, int], Tensor]
    ) -> NodeVerdicts:
        if node.symbolic or node.operator.startswith(HOST) or node.operator in CONSTANTS:
            return NodeVerdicts(node, mode, {})
        positional = [argument(a, tensors) for a in node.args]
        keywords = {k: argument(v, tensors) for k, v in node.kwargs.items()}
        key = json.dumps(
            [
                node.operator,
                [_key(a) for a in positional],
                {k: _key(v) for k, v in keywords.items()},
            ],
            sort_keys=True,
            default=str,
        )
        found = self._memo.get(key)
        if found is None:
            base, dot, overload = node.operator.partition(".")
            operator = _PLAIN.get(base, base) + dot + overload
            found = self._memo[key] = self._asked(operator, positional, keywords)
        return NodeVerdicts(node, mode, found)

    def _asked(
        self, operator: str, positional: list[Argument], keywords: dict[str, Argument]
    ) -> Mapping[str, Mapping[str, Judged]]:
        call = bind(self.index, operator, positional, keywords)
        return {
            str(target): {stage: self._one(operator, target, stage, call) for stage in STAGES}
            for target in self.targets
        }

    def _one(self, operator: str, target: Target, stage: str, call: CallFacts | None) -> Judged:
        name = operator if "." in operator else f"{operator}.default"
        try:
            if call is None:
                answer = lookup(name, target, stage=stage, index=self.index)
            else:
                answer = lookup(name, target, stage=stage, call=call, index=self.index)
        except UnknownOperatorError:
            return Judged(Status.UNKNOWN, None, Confidence.POSSIBLE, (), known=False)
        return _judged(answer)


def _judged(answer: Answer) -> Judged:
    worse = [
        p
        for p in answer.conditions_unknown
        if p.verdict is not None and not p.verdict.is_reference and p.when
    ]
    return Judged(
        answer.status,
        answer.verdict,
        answer.confidence,
        answer.evidence,
        answer.conditions_met,
        tuple(p.when for p in worse),
        answer.via,
        tuple(w.id for w in answer.workarounds),
    )


def worst(verdicts: Sequence[Verdict]) -> Verdict | None:
    return min(verdicts, key=VERDICT_ORDER.__getitem__, default=None)


# -- arguments --------------------------------------------------------------------------------------


def argument(value: Any, tensors: Mapping[tuple[str, int], Tensor]) -> Argument:
    """What is known of an argument of the record."""
    if isinstance(value, dict):
        if "ref" in value:
            tensor = tensors.get((value["ref"], int(value.get("index", 0))))
            if tensor is None:
                return Argument()
            return Argument(
                dtype=tensor.dtype,
                shape=tuple(s if isinstance(s, int) else None for s in tensor.shape),
                contiguous=tensor.contiguous,
            )
        if "dtype" in value:
            return Argument(value=value["dtype"])
        if "word" in value:
            return Argument(value=value["word"])
        if "float" in value:
            return Argument(value=float(value["float"]))
        return Argument()
    if isinstance(value, (list, tuple)):
        items = [argument(item, tensors) for item in value]
        # a list of tensors has the dtype that decides: one that is bool among indices
        dtypes = [i.dtype for i in items if i.dtype]
        if dtypes:
            return Argument(dtype="bool" if "bool" in dtypes else dtypes[0])
        return Argument(value=[i.value for i in items])
    return Argument(value=value)


def _key(argument_: Argument) -> Any:
    value = "?" if argument_.value is UNKNOWN else argument_.value
    return [value, argument_.dtype, argument_.shape, argument_.contiguous]
