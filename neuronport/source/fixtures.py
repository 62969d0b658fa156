"""Tests that what is run before them skips where there is no CUDA: ``setUp``, a fixture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuronport.readers.python.facts import Ctx

if TYPE_CHECKING:
    from neuronport.source.view import ModuleView

_USES_FIXTURES = ("ref", "pytest.mark.usefixtures")
_SET_UP = ("setUp", "setUpClass", "setup_method", "setup_class", "setUpTestData")


def skipped_before(ctx: Ctx, view: ModuleView) -> int:
    """The line in which what is run before a test skips it without CUDA; 0: nothing does."""
    skippers = view.once("skippers", lambda: _skippers(view))
    if not skippers:
        return 0
    facts = view.facts
    for i in ctx.guards:
        test = facts.guards[i].test if facts.guards[i].kind == "decorator" else None
        if test is not None and test[0] == "call" and test[1] == _USES_FIXTURES:
            for used in test[2]:
                if used is not None and used[0] == "const" and used[1] in skippers:
                    return skippers[used[1]]
    scope = ctx.scope
    while scope >= 0:
        info = facts.scopes[scope]
        if info.qualname in skippers:
            return 0
        owner = info.qualname if info.kind == "class" else info.qualname.rpartition(".")[0]
        for name in _SET_UP if owner else ():
            if f"{owner}.{name}" in skippers:
                return skippers[f"{owner}.{name}"]
        function = facts.functions.get(f"{facts.module}.{info.qualname}")
        for param in function.params if function is not None else ():
            if param[0] in skippers and _is_fixture(param[0], view):
                return skippers[param[0]]
        scope = info.parent
    return 0


def _skippers(view: ModuleView) -> dict[str, int]:
    """Functions that skip the test that they are run for where there is no CUDA, with the line where
    they ask."""
    found: dict[str, int] = {}
    for guard in view.facts.guards:
        if guard.kind == "skip" and view.truth.skipped(view.summary, guard):
            inside = [s for s in view.facts.scopes if s.line <= guard.line]
            home = max(inside, key=lambda s: s.line)
            if home.kind == "function":
                found[home.qualname] = guard.line
    return found


def _is_fixture(name: str, view: ModuleView) -> bool:
    function = view.facts.functions.get(f"{view.facts.module}.{name}")
    return function is not None and any(
        view.callee(d[1] if d is not None and d[0] == "call" else d).endswith("fixture")
        for d in function.decorators
    )
