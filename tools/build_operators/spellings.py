"""Which operators a Python name reaches: functions, methods and modules, by running them."""

from __future__ import annotations

import inspect
import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from neuronport.operators.tables import written

from .record import NO_WORK
from .samples import clone, name_of, opinfo_calls, opinfos, overloads

_NAMESPACES = (
    ("torch", torch),
    ("torch.nn.functional", torch.nn.functional),
    ("torch.linalg", torch.linalg),
    ("torch.fft", torch.fft),
    ("torch.special", torch.special),
    ("torch.Tensor", torch.Tensor),
)
_PREFIXES = {"torch.linalg": "linalg_", "torch.fft": "fft_", "torch.special": "special_"}
_TRIVIAL = NO_WORK | {
    "is_floating_point",
    "is_complex",
    "size.int",
    "dim",
    "numel",
    "result_type.Tensor",
}


class _Top(TorchDispatchMode):
    """The operators as they are called, composites whole."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(name_of(func))
        return func(*args, **(kwargs or {}))


def _run(function: Callable[..., Any], args: Any, kwargs: Any) -> set[str] | None:
    try:
        with warnings.catch_warnings(), torch.inference_mode():
            warnings.simplefilter("ignore")
            args, kwargs = clone((tuple(args), dict(kwargs)))
            with _Top() as top:
                function(*args, **kwargs)
    except Exception:
        return None
    return set(top.names) - _TRIVIAL


def _entry(runs: list[set[str]]) -> list[str]:
    """``add`` if all runs stay in one family, else overloads, ``?`` where only some reach them."""
    everything = set().union(*runs)
    families = {name.split(".")[0] for name in everything}
    if len(families) == 1:
        return sorted(families)
    return [name if all(name in run for run in runs) else f"{name}?" for name in sorted(everything)]


def _places(function: Any) -> Iterator[str]:
    for prefix, namespace in _NAMESPACES:
        for name in dir(namespace):
            if getattr(namespace, name, None) is function and not name.startswith("__"):
                yield f"{prefix}.{name}"


def functions() -> dict[str, list[str]]:
    families = {name.split(".")[0] for name in overloads()}
    found: dict[str, list[str]] = {}
    ran: dict[str, list[str]] = {}
    # a builtin is bound to the operator of its name; what is written in Python and could not be
    # run most likely ends there too
    for prefix, namespace in _NAMESPACES:
        for name in sorted(dir(namespace)):
            family = _PREFIXES.get(prefix, "") + name
            if name.startswith("__") or family not in families:
                continue
            if callable(getattr(namespace, name)):
                found[f"{prefix}.{name}"] = [family]
    for op in opinfos():
        if op.name.startswith("_foreach_") or not hasattr(op.op, "__code__"):
            continue
        runs = [
            names
            for function, (args, kwargs) in opinfo_calls(op)
            if function is op.op and (names := _run(function, args, kwargs))
        ]
        if not runs:
            continue
        for place in _places(op.op):
            ran[place] = _join(ran[place], _entry(runs)) if place in ran else _entry(runs)
    return found | ran


def _join(one: list[str], other: list[str]) -> list[str]:
    """Two OpInfos of one function (``interpolate``): what both always reach is always reached."""
    if one == other:
        return one
    always = {n for n in one if not n.endswith("?")} & {n for n in other if not n.endswith("?")}
    names = {n.rstrip("?") for n in (*one, *other)}
    return [n if n in always else f"{n}?" for n in sorted(names)]


def modules() -> dict[str, list[str]]:
    from torch.testing._internal.common_modules import module_db

    found: dict[str, list[str]] = {}
    for info in module_db:
        name = f"torch.nn.{info.module_cls.__name__}"
        if getattr(torch.nn, info.module_cls.__name__, None) is not info.module_cls:
            continue
        runs = []
        for training in (False, True):
            try:
                inputs = info.module_inputs_func(
                    info, device="cpu", dtype=torch.float32, requires_grad=False, training=training
                )
                for sample in itertools.islice(inputs, 6):
                    module = info.module_cls(
                        *sample.constructor_input.args, **sample.constructor_input.kwargs
                    ).train(training)
                    if sample.forward_input is None:
                        continue
                    names = _run_module(module, sample.forward_input)
                    if names:
                        runs.append(names)
            except Exception:
                continue
        if runs:
            found[name] = _entry(runs)
    return found


def _run_module(module: torch.nn.Module, given: Any) -> set[str] | None:
    try:
        with warnings.catch_warnings(), torch.inference_mode():
            warnings.simplefilter("ignore")
            args, kwargs = clone((tuple(given.args), dict(given.kwargs)))
            # parameters made outside inference mode carry the autograd key: copy them here
            state = {
                k: v.detach().clone()
                for k, v in itertools.chain(module.named_parameters(), module.named_buffers())
            }
            with _Top() as top:
                torch.func.functional_call(module, state, args, kwargs)
    except Exception:
        return None
    return set(top.names) - _TRIVIAL


def spellings() -> dict[str, list[str]]:
    return functions() | modules()


def signatures(names: Iterable[str]) -> dict[str, str]:
    """The parameters of what is written in Python, for those who read calls of it.

    Builtins have none: theirs are the schemas'. ``*`` comes before keyword-only ones.
    """
    found = {}
    for name in names:
        value: Any = torch
        try:
            for part in name.split(".")[1:]:
                value = getattr(value, part)
            parameters = list(inspect.signature(value).parameters.values())
        except (AttributeError, TypeError, ValueError):
            continue
        if any(p.kind is p.VAR_POSITIONAL for p in parameters):
            continue
        parts = []
        for parameter in parameters:
            if parameter.kind is parameter.VAR_KEYWORD or parameter.name == "self":
                continue
            if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
                parts.append("*")
            text = parameter.name
            default = parameter.default
            if default is not parameter.empty:
                plain = default is None or isinstance(default, (bool, int, float, str))
                text += f"={written(default).replace(' ', '_') if plain else '?'}"
            parts.append(text)
        if parts:
            found[name] = " ".join(parts)
    return found
