"""Whether the program comes to a function, or to a module, on a Neuron host: who calls it, or
imports it, may ask for CUDA first."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.findings import Related, Role
from neuronport.readers.python.facts import MODULE_BODY, SCRIPT, Value
from neuronport.source.index import MOST_CALLERS, Call, TreeIndex
from neuronport.source.summary import Summary
from neuronport.source.truth import Truth
from neuronport.workspace.roles import role_of_path

_MAX_DEPTH = 4
_HARMLESS = frozenset(
    (
        "staticmethod",
        "classmethod",
        "property",
        "cached_property",
        "override",
        "no_grad",
        "enable_grad",
        "custom_fwd",
        "custom_bwd",
        "once_differentiable",
        "inference_mode",
        "contextmanager",
        "lru_cache",
        "cache",
        "wraps",
        "jit",
    )
)
"""Decorators that call nothing themselves; others may register what they decorate."""


OTHER_VENDOR = "asks for another vendor's accelerator first: there is none on a Neuron host"
_AGAIN = Related("", 0, "whoever calls this is being asked about")


class Callers:
    """Tells what is only called where CUDA was asked for."""

    def __init__(self, index: TreeIndex, truth: Truth, ends: bool = False) -> None:
        self.index = index
        self.truth = truth
        self.ends = ends
        """Whether a program that ends where there is no CUDA does not come to what follows."""
        self._known: dict[str, Related | None] = {}
        self._granted: dict[str, Related] = {}
        """What is not reached if none of those is that are still being asked about, oldest first."""
        self._rests: dict[str, int] = {}
        """Of these, the oldest that it rests on, by number."""
        self._oldest = 0
        self._asked_about = 0
        self._cut = False

    def unreached(self, dotted: str) -> Related | None:
        """The condition of a caller for which a function is not reached, if all callers have one;
        for the body of a module, those that import it."""
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
        if name == MODULE_BODY:
            return self._imported(dotted, home[0].path, depth)
        dunder = name[:2] == "__" and name[-2:] == "__"
        if function.owner:
            # Who makes the object is known; who calls a method of it is not, unless it is private.
            made = self._guarded(self._made(function.owner), home[0].path, depth)
            if made is not None or dunder or name[:1] != "_":
                return made
        elif dunder:
            return None
        return self._guarded(dotted, home[0].path, depth)

    def _imported(self, dotted: str, path: str, depth: int) -> Related | None:
        """The condition of the first import of a module, likewise. A package is imported with what is
        in it; what tests import is for them alone, others import it where they ask."""
        if not 0 < self.index.times_called(dotted) < MOST_CALLERS:
            return None
        test = role_of_path(path) is Role.TEST
        before = self._oldest
        found: Related | None = None
        own = dotted.removesuffix(MODULE_BODY)
        package = own.removesuffix(".").rpartition(".")[0]
        for call in self._calls(dotted):
            if f"{call.module}.".startswith(own) and not call.caller.endswith(SCRIPT):
                continue  # it is imported already where what is in it runs
            module = self.index.module(call.module)
            if module is None:
                return None
            if not test and role_of_path(module.path) is Role.TEST:
                continue
            condition = self._asks(call, module, "imports")
            if condition is None and call.module == package:
                condition = self._function(call.caller, depth + 1)
            elif condition is None and not call.caller.endswith(MODULE_BODY):
                condition = self._enclosing(call, depth)
            if condition is None:
                self._oldest = before
                return None
            if found is None or found is _AGAIN:
                found = condition
        return found

    def _calls(self, called: str) -> Iterator[Call]:
        """All calls; mostly the first of them says it."""
        yield from self.index.callers(called, 1)
        yield from self.index.callers(called)[1:]

    def _made(self, owner: str) -> str:
        cls = self.index.class_(owner)
        return "" if cls is None or cls[1].decorators else owner

    def _guarded(self, called: str, path: str, depth: int) -> Related | None:
        """The condition of the first call, when every call stands under one. What only tests call is
        for others to call as well."""
        if not called or not 0 < self.index.times_called(called) < MOST_CALLERS:
            return None
        before = self._oldest
        found: Related | None = None
        entries = []
        for call in self._calls(called):
            condition = self._condition(call, depth)
            if condition is None:
                self._oldest = before
                return None
            if condition is not _AGAIN:
                entries.append(call)
            if found is None or found is _AGAIN:
                found = condition
        role = role_of_path(path)
        if entries and role is not Role.TEST and not any(self._counts(e, role) for e in entries):
            self._oldest = before
            return None
        return found

    def _counts(self, call: Call, of: Role) -> bool:
        """Whether a call says how the program uses something: those of tests do not, nor those of
        examples what is no example."""
        module = self.index.module(call.module)
        role = Role.TEST if module is None else role_of_path(module.path)
        return role is Role.CODE or (of is not Role.CODE and role is not Role.TEST)

    def _condition(self, call: Call, depth: int) -> Related | None:
        module = self.index.module(call.module)
        if module is None:
            return None
        found = self._asks(call, module, "calls")
        if found is not None:
            return found
        return self._enclosing(call, depth)

    def _asks(self, call: Call, module: Summary, does: str) -> Related | None:
        for i in call.guards:
            guard = module.guards[i]
            if self.truth.skipped(module, guard) or (self.ends and self.truth.ended(module, guard)):
                asks = "asks first: this condition does not hold on a Neuron host"
                if self.truth.of_other_vendor(module, guard):
                    asks = OTHER_VENDOR
                return Related(module.path, guard.line, f"whoever {does} this {asks}")
        return None

    def _enclosing(self, call: Call, depth: int) -> Related | None:
        """Why the caller is not reached: whoever is defined in a function is not if that is not."""
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
