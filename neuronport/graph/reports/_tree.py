"""The tree of modules, equal neighbours drawn once."""

from __future__ import annotations

from dataclasses import dataclass, field

from neuronport.findings import Verdict
from neuronport.graph.result import GraphResult, module_verdicts
from neuronport.targets import Target


@dataclass
class Branch:
    """A module, and what is below it."""

    name: str
    path: str
    cls: str
    verdict: Verdict | None
    children: list[Branch] = field(default_factory=list)
    repeated: int = 1
    """How many equal neighbours this one stands for."""

    @property
    def title(self) -> str:
        times = f" × {self.repeated}" if self.repeated > 1 else ""
        return f"{self.name or '(model)'}{times}"

    def signature(self) -> tuple[object, ...]:
        return (self.cls, self.verdict, tuple(c.signature() for c in self.children))


def tree(result: GraphResult, target: Target) -> Branch:
    verdicts = module_verdicts(result, target)
    by_path: dict[str, Branch] = {}
    for module in result.record.modules:
        branch = Branch(
            module.path.rpartition(".")[2], module.path, module.cls, verdicts.get(module.path)
        )
        by_path[module.path] = branch
        if module.path:
            parent = by_path.get(module.path.rpartition(".")[0])
            if parent is not None:
                parent.children.append(branch)
    root = by_path.get("") or Branch("", "", result.record.cls, None)
    _fold(root)
    return root


def _fold(branch: Branch) -> None:
    """Layers that look alike become one: a model of eighty layers is still one page."""
    for child in branch.children:
        _fold(child)
    kept: list[Branch] = []
    for child in branch.children:
        if kept and kept[-1].signature() == child.signature() and child.name.isdigit():
            kept[-1].repeated += 1
        else:
            kept.append(child)
    branch.children = kept


COLORS = {
    Verdict.BREAKS: "#c62828",
    Verdict.FALLS_BACK: "#ef6c00",
    Verdict.DIVERGES: "#8e24aa",
    Verdict.RECOMPILES: "#f9a825",
    Verdict.SYNCS: "#f9a825",
    Verdict.SLOW: "#fdd835",
}
FINE, UNSEEN = "#66bb6a", "#bdbdbd"


def color(verdict: Verdict | None) -> str:
    """The fill of a module; grey: no node of it was seen."""
    if verdict is None:
        return UNSEEN
    return COLORS.get(verdict, FINE)
