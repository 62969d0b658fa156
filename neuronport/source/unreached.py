"""Whether the program comes to a function on a Neuron host: who calls it may ask for CUDA first."""

from __future__ import annotations

from neuronport.findings import Related, Role
from neuronport.readers.python.facts import Value
from neuronport.source.index import MOST_CALLERS, Call, TreeIndex
from neuronport.source.truth import Truth
from neuronport.workspace.roles import role_of_path

_MAX_DEPTH = 4
_HARMLESS = frozenset(
    (
        "staticmethod",
        "classmethod",
        "property",
        "no_grad",
        "inference_mode",
        "contextmanager",
        "lru_cache",
        "cache",
        "wraps",
        "jit",
    )
)
"""Decorators that call nothing themselves; others may register what they decorate."""


class Callers:
    """Tells what is only called where CUDA was asked for."""

    def __init__(self, index: TreeIndex, truth: Truth) -> None:
        self.index = index
        self.truth = truth
        self._known: dict[str, Related | None] = {}

    def unreached(self, dotted: str) -> Related | None:
        """The condition of a caller for which a function is not reached, if all callers have one."""
        return self._function(dotted, 0)

    def _function(self, dotted: str, depth: int) -> Related | None:
        if dotted not in self._known:
            self._known[dotted] = None  # who calls itself is reached from elsewhere or not at all
            found = None if depth > _MAX_DEPTH else self._asked(dotted, depth)
            self._known[dotted] = found
        return self._known[dotted]

    def _asked(self, dotted: str, depth: int) -> Related | None:
        home = self.index.function(dotted)
        if home is None:
            return None
        function = home[1]
        if any(_last(d) not in _HARMLESS for d in function.decorators):
            return None
        name = dotted.rpartition(".")[2]
        dunder = name[:2] == "__" and name[-2:] == "__"
        if function.owner:
            # Who makes the object is known; who calls a method of it is not, unless it is private.
            made = self._guarded(self._made(function.owner), home[0].path, depth)
            if made is not None or dunder or name[:1] != "_":
                return made
        elif dunder:
            return None
        return self._guarded(dotted, home[0].path, depth)

    def _made(self, owner: str) -> str:
        cls = self.index.class_(owner)
        return "" if cls is None or cls[1].decorators else owner

    def _guarded(self, called: str, path: str, depth: int) -> Related | None:
        """The condition of the first call, when every call stands under one. What only tests call is
        for others to call as well."""
        if not called or not 0 < self.index.times_called(called) < MOST_CALLERS:
            return None
        # Mostly the first says it.
        first = self._condition(self.index.callers(called, 1)[0], depth)
        if first is None:
            return None
        calls = self.index.callers(called)
        if any(self._condition(call, depth) is None for call in calls[1:]):
            return None
        if role_of_path(path) is Role.CODE and not any(self._in_code(call) for call in calls):
            return None
        return first

    def _in_code(self, call: Call) -> bool:
        module = self.index.module(call.module)
        return module is not None and role_of_path(module.path) is Role.CODE

    def _condition(self, call: Call, depth: int) -> Related | None:
        module = self.index.module(call.module)
        if module is None:
            return None
        for i in call.guards:
            guard = module.guards[i]
            if self.truth.skipped(module, guard):
                return Related(
                    module.path,
                    guard.line,
                    "whoever calls this asks first: this condition does not hold on a Neuron host",
                )
        return self._function(call.caller, depth + 1)


def _last(decorator: Value) -> str:
    while decorator is not None and decorator[0] == "call":
        decorator = decorator[1]
    if decorator is None or decorator[0] not in ("ref", "attr"):
        return ""
    return str(decorator[-1]).rpartition(".")[2]
