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


_AGAIN = Related("", 0, "whoever calls this is being asked about")


class Callers:
    """Tells what is only called where CUDA was asked for."""

    def __init__(self, index: TreeIndex, truth: Truth) -> None:
        self.index = index
        self.truth = truth
        self._known: dict[str, Related | None] = {}
        self._granted: dict[str, Related] = {}
        """What is not reached if none of those is that are still being asked about, oldest first."""
        self._rests: dict[str, int] = {}
        """Of these, the oldest that it rests on, by number."""
        self._oldest = 0
        self._asked_about = 0
        self._cut = False

    def unreached(self, dotted: str) -> Related | None:
        """The condition of a caller for which a function is not reached, if all callers have one."""
        if dotted not in self._known:
            self._cut = False
            found = self._function(dotted, 0)
            self._known.update((n, f) for n, f in self._granted.items() if f is not _AGAIN)
            self._known[dotted] = found
            self._granted.clear()
            self._rests.clear()
        return self._known[dotted]

    def _function(self, dotted: str, depth: int) -> Related | None:
        """Functions that call one another are not reached if nobody else calls one of them without
        asking, and somebody asks: until that is known, it is taken for granted."""
        if dotted in self._known:
            return self._known[dotted]
        found = self._granted.get(dotted)
        if found is not None:
            if found is _AGAIN:
                self._oldest = min(self._oldest, self._rests[dotted])
            return found
        if depth > _MAX_DEPTH:
            self._cut = True
            return None
        before = len(self._granted)
        self._asked_about += 1
        own = self._rests[dotted] = self._asked_about
        self._granted[dotted] = _AGAIN
        outer, self._oldest = self._oldest, own
        found = self._asked(dotted, depth)
        if found is _AGAIN and self._oldest >= own:
            found = None  # nobody else in the tree calls it, nor who calls it
        if found is None:
            while len(self._granted) > before:
                self._granted.popitem()
            if not self._cut:
                self._known[dotted] = None
        else:
            self._granted[dotted] = found
            self._rests[dotted] = self._oldest
        if found is _AGAIN:
            outer = min(outer, self._oldest)
        self._oldest = outer
        return found

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
        before = self._oldest
        # Mostly the first says it.
        found = self._condition(self.index.callers(called, 1)[0], depth)
        if found is None:
            return None
        calls = self.index.callers(called)
        entries = [] if found is _AGAIN else [calls[0]]
        for call in calls[1:]:
            condition = self._condition(call, depth)
            if condition is None:
                self._oldest = before
                return None
            if condition is not _AGAIN:
                entries.append(call)
                if found is _AGAIN:
                    found = condition
        if entries and role_of_path(path) is Role.CODE and not any(map(self._in_code, entries)):
            self._oldest = before
            return None
        return found

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
        # Whoever is defined in a function is not reached if that is not.
        caller = call.caller
        while len(caller) > len(call.module):
            found = self._function(caller, depth + 1)
            if found is not None:
                return found
            caller = caller.rpartition(".")[0]
        return None


def _last(decorator: Value) -> str:
    while decorator is not None and decorator[0] == "call":
        decorator = decorator[1]
    if decorator is None or decorator[0] not in ("ref", "attr"):
        return ""
    return str(decorator[-1]).rpartition(".")[2]
