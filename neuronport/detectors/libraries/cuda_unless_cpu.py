"""A kernel of CUDA's is taken for every tensor that is not on the CPU."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.findings import Confidence, Related
from neuronport.readers.python.facts import MODULE_BODY, Event, Value
from neuronport.source.summary import Summary
from neuronport.source.view import ModuleView

EVENTS = ("str",)
STRINGS = r"^cpu$"
_LOADERS = frozenset(f"torch.utils.cpp_extension.{name}" for name in ("load", "load_inline"))
_COMPILED = re.compile(r"(^|_)cuda(_ext|_kernels?|_ops|_lib)?$|_cuda_ext$|_ext$|^_C$")
_FUNCTIONS = ("torch.autograd.Function", "torch.autograd.function.Function")


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    role = event.role
    if event.name != "cpu" or role[0] != "compare" or role[1] not in ("==", "!="):
        return
    asked: Value = role[2]
    if asked is None or asked[0] != "attr" or asked[2] != "type":
        return
    device = asked[1]
    if device is None or device[0] != "attr" or device[2] != "device":
        return
    scope = view.scope(event)
    caller = f"{view.facts.module}.{scope or MODULE_BODY}"
    for callee, _args, _kwargs, line, _loops, guards in view.facts.calls.get(caller, ()):
        if callee is None or callee[0] != "ref" or not str(callee[1]).endswith(".apply"):
            continue
        if not any(_is_other_way(view, i, event, asked) for i in guards):
            continue
        name = view.index.canonical(str(callee[1]), view.summary).removesuffix(".apply")
        kernel = _beside(name, view)
        if kernel is None:
            continue
        tensor, short = view.text(device[1], whole=True), name.rpartition(".")[2]
        yield Hit(
            event.span,
            f"a tensor that is not on the CPU goes to {short}, which has a kernel of CUDA's: a "
            "Neuron tensor does too",
            Confidence.LIKELY,
            related=(kernel, Related(view.facts.path, line, f"{short} is applied")),
            replacement=f'the plain way wherever {tensor}.device.type != "cuda"',
        )
        return


def _is_other_way(view: ModuleView, i: int, event: Event, asked: Value) -> bool:
    guard = view.facts.guards[i]
    test = guard.test
    if test is None or test[0] != "cmp" or test[1] != asked or guard.line != event.at[0]:
        return False
    return guard.polarity is (test[2] == "!=")


def _beside(name: str, view: ModuleView) -> Related | None:
    """The compiled module beside an autograd function of the tree; None: there is none."""
    found = view.index.class_(name)
    if found is None or not any(base in _FUNCTIONS for base in view.index.ancestors(name)):
        return None
    module = found[0]
    for local, value in module.exports.items():
        line = _compiled(value, module, view)
        if line:
            return Related(module.path, line, f"{local} is compiled for CUDA")
    return None


def _compiled(value: Value, module: Summary, view: ModuleView) -> int:
    """The line where something compiled for CUDA is loaded; 0: it is something else."""
    line = 1
    if value is not None and value[0] == "v":
        line, value = module.definitions[value[1]].line, module.definitions[value[1]].value
    if value is None:
        return 0
    if value[0] == "call" and value[1] is not None and value[1][0] == "ref":
        called = view.index.canonical(value[1][1], module)
        return line if called in _LOADERS else 0
    if value[0] == "ref":
        name = view.index.canonical(value[1], module)
        known = view.index.split(name)
        if known is not None and not known[1]:
            return 0  # the source of it is there
        return line if _COMPILED.search(name.rpartition(".")[2]) else 0
    return 0
