"""What runs every step: ``forward`` and what it calls, training and generation loops and what they
call. Code elsewhere may be slow; here a host round trip or a new shape is paid every time."""

from __future__ import annotations

import re
from functools import cache

from neuronport.findings import Role
from neuronport.readers.python.facts import MODULE_BODY, Loop, ModuleFacts, Value
from neuronport.source.index import Call, TreeIndex
from neuronport.source.kinds import Kinds, table
from neuronport.source.summary import Summary
from neuronport.workspace.roles import role_of_path

METHODS = frozenset(("backward", "step", "zero_grad", "manual_backward"))
"""What the reader has to show for loops to be recognised."""
SELDOM = ", though not in every step"
"""How the reason of what runs every so many steps ends."""
_MAX_HOPS = 8
_STEP_METHODS = frozenset(
    [
        "forward",
        "training_step",
        "validation_step",
        "test_step",
        "predict_step",
        "training_step_end",
        "train_step",
        "val_step",
        "loss_and_grads",
        "optimizer_step",
        "on_train_batch_start",
        "on_train_batch_end",
        "compute_loss",
        "prediction_step",
        "prepare_inputs_for_generation",
        "_sample",
        "denoise",
        "p_sample",
        "ddim_step",
    ]
)
_TRAINS = re.compile(r"opt|scaler|trainer|engine|solver|sgd|adam|model|accel|strategy|fabric", re.I)
"""In a name: what it steps is the training of a model."""
_SEVERAL = re.compile(r"^_?(\w*(optimi[sz]er|optim|scaler|scheduler)s|opts|\w*param_groups)$", re.I)
"""What holds the optimizers of a program, or the groups of one of them."""
_WHOLE = frozenset(("main", "run", "train", "fit"))
"""What functions are called that hold a whole training: what stands outside of its loops runs once."""
_GENERATING = re.compile(
    r"generat|sampl|decod|denois|beam_search|greedy|infer|predict|rollout|evaluat|validat|translat(?!ion)"
    r"|transcri(b|pt(?!s))",
    re.I,
)
_STEPS = re.compile(r"(next|new|predict|sample|decode|generate)_?\w*tokens?$|^decode_one\w*$", re.I)
"""What functions are called that make the next token by the model they are given first."""


def training_loops(facts: ModuleFacts) -> dict[int, str]:
    """Loops in which a backward pass or an optimizer step happens (``training``), or something else
    steps: an environment, a search (``stepping``); the innermost ones."""
    found: dict[int, str] = {}
    for event in facts.events:
        if event[0] == "method" and event[3] in METHODS:
            _, _, ctx, name, value, *_ = event
            loops = [i for i in facts.contexts[ctx].loops if not _is_aside(facts.loops[i], facts)]
            if loops and name != "zero_grad" and not _is_scheduler(value, facts):
                if name != "step" or _TRAINS.search(_named(value, facts)):
                    found[loops[-1]] = "training"
                else:
                    found.setdefault(loops[-1], "stepping")
    return found


def hot_loops(facts: ModuleFacts) -> dict[int, str]:
    """Likewise, and the loops in which a model is run, ``generation``, as far as names tell: what is
    called in them is what their callers in other modules ask about."""
    found = training_loops(facts)
    named = table()["by_name"]
    for caller, calls in facts.calls.items():
        name = caller[len(facts.module) + 1 :]
        if name != MODULE_BODY and not _GENERATING.search(name):
            continue
        for callee, args, _kwargs, _line, loops, _guards in calls:
            if not loops or callee is None:
                continue
            run = _run(callee, args)
            if run is None or (
                callee[0] != "self"
                and named.get(_named(run, facts)) != "module"
                and not any(
                    named.get(_named(r, facts)) == "module" for r in _runs_of(facts, callee)
                )
            ):
                continue
            inner = _innermost(facts, loops)
            if inner >= 0:
                found.setdefault(inner, "generation")
    return found


def _run(callee: Value, args: tuple[Value, ...]) -> Value:
    """What may be a model that a call runs: what is called, or what a function that makes the next
    token takes first: ``next_token(model, x)``."""
    if callee is None:
        return None
    if callee[0] == "ref":
        steps = bool(args) and _STEPS.search(callee[1].rpartition(".")[2])
        return args[0] if steps else None
    return callee if callee[0] in ("v", "attr", "self", "param") else None


def _runs_of(facts: ModuleFacts, callee: Value) -> list[Value]:
    """What a method of ``self`` may run that is called."""
    if callee is None or callee[0] != "attr" or callee[1] is None or callee[1][0] != "self":
        return []
    calls = facts.calls.get(f"{callee[1][1]}.{callee[2]}", ())
    return [_run(inner, args) for inner, args, *_ in calls]


def _innermost(facts: ModuleFacts, loops: tuple[int, ...]) -> int:
    """The innermost loop that is no comprehension; -1: there is none."""
    return next((i for i in reversed(loops) if facts.loops[i].kind != "comprehension"), -1)


def _is_aside(loop: Loop, facts: ModuleFacts) -> bool:
    """Whether a loop says nothing of steps: it goes over the optimizers of one step."""
    if loop.kind == "comprehension":
        return True
    over = loop.over
    while over is not None and over[0] == "call" and over[2]:
        over = over[2][0]  # enumerate(…), zip(…)
    if over is not None and over[0] == "call" and over[1] is not None and over[1][0] == "attr":
        over = over[1][1]  # .values(), .items()
    return loop.kind == "for" and bool(_SEVERAL.search(_named(over, facts)))


def _is_scheduler(value: object, facts: ModuleFacts) -> bool:
    """``scheduler.step()`` stands in the loop over epochs, which is not hot."""
    return "sched" in _named(value, facts).lower()


def _named(value: object, facts: ModuleFacts) -> str:
    if isinstance(value, tuple) and value:
        if value[0] == "v":
            return str(facts.definitions[value[1]][2])
        if value[0] in ("attr", "param"):
            return str(value[2])
        if value[0] in ("item", "elem", "unpack"):
            return _named(value[1], facts)
    return ""


class Hot:
    """Tells whether a place runs every step, and why."""

    def __init__(
        self, facts: ModuleFacts, summary: Summary, index: TreeIndex, kinds: Kinds
    ) -> None:
        self.facts = facts
        self.summary = summary
        self.index = index
        self.kinds = kinds
        self._training = training_loops(facts)
        self._backward: frozenset[int] | None = None

    def reason(self, scope: int, loops: tuple[int, ...]) -> str:
        """Why a place is hot, in words; empty: it is not, as far as is known."""
        for i in reversed(loops):
            loop = self.facts.loops[i]
            if i in self._training:
                return f"in the {self._training[i]} loop of line {loop.line}"
            if loop.kind != "comprehension" and self._generates(scope, i):
                return f"in the loop of line {loop.line} that runs the model"
        return self._scope_reason(scope)

    def _scope_reason(self, scope: int) -> str:
        while scope >= 0:
            info = self.facts.scopes[scope]
            if info.kind == "function":
                reason = self.function(f"{self.facts.module}.{info.qualname}")
                if reason:
                    return reason
                if self._backward is None:
                    self._backward = _backward_scopes(self.facts)
                if scope in self._backward and info.qualname.rpartition(".")[2] not in _WHOLE:
                    return f"beside the backward pass of {info.qualname}"
            scope = info.parent
        return ""

    def _generates(self, scope: int, loop: int) -> bool:
        """Whether a loop runs a model again and again. Of a function only its name says so; of the
        body of a module, where loops over epochs stand as well, that no loop within runs it."""
        info = self.facts.scopes[scope]
        if info.kind == "function" and not _GENERATING.search(info.qualname):
            return False
        where = self.facts.loops[loop]
        caller = f"{self.facts.module}.{info.qualname or MODULE_BODY}"
        for callee, args, _kwargs, line, loops, _guards in self.facts.calls.get(caller, ()):
            if (
                not where.line <= line <= where.end_line
                or (info.kind != "function" and _innermost(self.facts, loops) != loop)
                or callee is None
            ):
                continue
            if callee[0] == "ref" and info.kind != "function":
                continue
            run = _run(callee, args)
            if run is not None and (
                self.kinds.of(self.summary, run).kind == "module" or self._runs_model(callee)
            ):
                return True
        return False

    def _runs_model(self, callee: Value) -> bool:
        """Whether a method of the same object runs a model: ``self._predict(x)``."""
        return any(
            run is not None and self.kinds.of(self.summary, run).kind == "module"
            for run in _runs_of(self.facts, callee)
        )

    def function(self, dotted: str) -> str:
        """Why a function of the tree is hot; empty: it is not, as far as is known."""
        return self.index.answer("hot", dotted, self._function)

    def _function(self, dotted: str) -> str:
        seen = {dotted}
        pending = [(dotted, 0, "")]
        tested = _is_test(self.index.place(dotted)[0])
        later: list[tuple[str, int, str]] = []
        """Who calls it the first time only: asked when nobody else is left."""
        now_and_then = ""
        """Why it is hot, though not in every step: what holds if nobody calls it in every one."""
        while pending or later:
            name, hops, often = (pending or later).pop(0)
            if often:
                if name in seen:
                    continue
                seen.add(name)
            reason = self._is_root(name)
            if reason:
                if hops == 0:
                    return reason
                return f"called from {_short(name)}{often or f', {reason}'}"
            if hops >= _MAX_HOPS:
                continue
            for call in self.index.callers(name):
                if not tested and _is_test(call.module):
                    continue
                how = _in_loop(call)
                first = call.in_hot_loop[-1:] == "?" or self._is_off(call)
                if how:
                    if not (first or often):
                        return how
                    now_and_then = now_and_then or how + SELDOM
                    continue
                if call.caller in seen or len(seen) >= 200 or _is_body(call.caller):
                    continue
                if first or often:
                    later.append((call.caller, hops + 1, SELDOM))
                else:
                    seen.add(call.caller)
                    pending.append((call.caller, hops + 1, ""))
            if now_and_then and not pending:
                break
        return now_and_then

    def by(self, call: Call) -> str:
        """Why what one call comes to is hot; empty: it is not, as far as is known."""
        if _is_test(call.module) or _is_body(call.caller):
            return ""
        often = SELDOM if call.in_hot_loop[-1:] == "?" or self._is_off(call) else ""
        how = _in_loop(call)
        if how:
            return how + often
        reason = self.function(call.caller)
        if not reason or reason.endswith(SELDOM):
            return reason
        if reason.startswith("called"):
            return reason + often
        return f"called from {_short(call.caller)}{often or f', {reason}'}"

    def _is_optimizer(self, owner: str) -> bool:
        if self.index.class_(owner) is None:
            return False
        names = self.index.ancestors(owner)
        return any(n.startswith("torch.optim.") and ".lr_scheduler" not in n for n in names)

    def _is_off(self, call: Call) -> bool:
        """Whether a call is made only where a parameter is on that nobody in the tree turns on, as
        far as is known who calls."""
        return any(
            not any(
                value != ("const", False)
                for around in self.index.callers(call.caller)
                for value in (
                    *around.args[at : at + 1],
                    *(v for k, v in around.kwargs if k == name),
                )
            )
            for name, at in call.switches
        )

    def _is_root(self, dotted: str) -> str:
        owner, _, name = dotted.rpartition(".")
        if name == "step":
            return "the step of an optimizer" if self._is_optimizer(owner) else ""
        if name not in _STEP_METHODS:
            return ""
        if self.index.class_(owner) is None:
            return ""
        if self.kinds.is_module_class(owner) or name != "forward":
            return f"{name} runs every step"
        return ""


@cache
def _is_test(module: str) -> bool:
    """Whether a module is of tests: what they repeat is not repeated in a program."""
    path = module.lstrip("@").replace(".", "/").replace("·", ".")
    return role_of_path(f"{path}.py") is Role.TEST


def _backward_scopes(facts: ModuleFacts) -> frozenset[int]:
    """The functions that run a backward pass, and no loop of them: one is a step, whoever calls it.
    Not tests, which do it once."""
    if _is_test(facts.module):
        return frozenset()
    contexts = (
        facts.contexts[event[2]]
        for event in facts.events
        if event[0] == "method" and event[3] in ("backward", "manual_backward")
    )
    return frozenset(
        ctx.scope
        for ctx in contexts
        if _innermost(facts, ctx.loops) < 0
        and not facts.scopes[ctx.scope].qualname.rpartition(".")[2].startswith("test")
    )


def _in_loop(call: Call) -> str:
    """In what loop a call is made, in words; empty: in no hot one."""
    word = call.in_hot_loop.rstrip("?")
    if word == "generation":
        return f"called in the loop of {_short(call.caller)} that runs the model"
    return f"called in the {word} loop of {_short(call.caller)}" if word else ""


def _is_body(caller: str) -> bool:
    """What runs when a module is imported: once, wherever that is."""
    return caller.endswith(MODULE_BODY)


def _short(dotted: str) -> str:
    return ".".join(dotted.lstrip("@").split(".")[-2:])
