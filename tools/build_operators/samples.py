"""Example calls of aten overloads: from torch's OpInfo database, from its relatives, from schemas.

An overload is known by the dispatcher's name, ``sort.stable``. A call is ``(args, kwargs)`` of
small CPU tensors, kept as a factory's product: callers clone before they run, for operators write
into their arguments.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

Call = tuple[tuple[Any, ...], dict[str, Any]]
PER_OVERLOAD = 6
"""How many different calls of one overload are kept."""
PER_OPINFO = 24

_SKIP = ("jiterator", "sparse.", "_segment_reduce", "to_sparse")


def overloads() -> dict[str, torch._ops.OpOverload]:
    """Every aten overload that goes through the dispatcher, by name without namespace."""
    found: dict[str, torch._ops.OpOverload] = {}
    for name in torch._C._dispatch_get_all_op_names():
        if not name.startswith("aten::"):
            continue
        base, _, overload = name[6:].partition(".")
        try:
            found[name[6:]] = getattr(getattr(torch.ops.aten, base), overload or "default")
        except (AttributeError, RuntimeError):
            continue
    return found


def name_of(func: torch._ops.OpOverload) -> str:
    """``sort.stable``; other namespaces keep theirs: ``prims::add``."""
    name = func._schema.name + (
        f".{func._schema.overload_name}" if func._schema.overload_name else ""
    )
    return name.removeprefix("aten::")


def clone(call: Call, *, grad: bool = False) -> Call:
    """A copy of ``call`` that may be written to; with ``grad`` floating tensors require gradients."""

    def one(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        copy = value.detach().clone(memory_format=torch.preserve_format)
        if grad and (copy.is_floating_point() or copy.is_complex()):
            copy.requires_grad_(True)
        return copy

    result: Call = tree_map(one, call)
    return result


def runs_composite(func: torch._ops.OpOverload) -> str | None:
    """The dispatch key under which ``func`` is written in terms of other operators, if any."""
    name = func._schema.name + (
        f".{func._schema.overload_name}" if func._schema.overload_name else ""
    )
    for key in (
        "CompositeImplicitAutograd",
        "CompositeExplicitAutograd",
        "CompositeExplicitAutogradNonFunctional",
    ):
        if torch._C._dispatch_has_kernel_for_dispatch_key(name, key):
            return key
    return None


class _Collect(TorchDispatchMode):
    """Keeps the arguments of every overload that is called, and looks inside composites."""

    def __init__(self, keep: dict[str, list[Call]]) -> None:
        super().__init__()
        self.keep = keep

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        calls = self.keep.setdefault(name_of(func), [])
        if len(calls) < PER_OVERLOAD:
            call = clone((args, kwargs))
            if not any(_same(call, other) for other in calls):
                calls.append(call)
        key = runs_composite(func)
        if key == "CompositeImplicitAutograd":
            with self:
                return func._op_dk(getattr(torch._C.DispatchKey, key), *args, **kwargs)
        return func(*args, **kwargs)


def _signature(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return (value.dtype, tuple(value.shape))
    if isinstance(value, (list, tuple)):
        return tuple(_signature(v) for v in value)
    if isinstance(value, dict):
        return tuple((k, _signature(v)) for k, v in sorted(value.items()))
    return repr(value)


def _same(one: Call, other: Call) -> bool:
    return bool(_signature(one) == _signature(other))


def _dtype(op: Any) -> torch.dtype | None:
    supported = op.supported_dtypes("cpu")
    for dtype in (torch.float32, torch.int64, torch.complex64, torch.bool):
        if dtype in supported:
            return dtype
    return None


def opinfos() -> Iterator[Any]:
    from torch.testing._internal import common_methods_invocations as invocations

    databases = [invocations.op_db]
    for name in dir(invocations):
        if name.startswith("foreach_") and name.endswith("_op_db"):
            databases.append(getattr(invocations, name))
    for op in itertools.chain.from_iterable(databases):
        if not any(op.name.startswith(prefix) for prefix in _SKIP):
            yield op


def opinfo_calls(op: Any) -> Iterable[tuple[Callable[..., Any], Call]]:
    dtype = _dtype(op)
    if dtype is None:
        return
    if op.name.startswith("_foreach_"):
        tensors = [torch.rand(2, 3) + 0.5 for _ in range(2)]
        for extra in (
            (),
            (2.0,),
            ([2.0, 3.0],),
            ([torch.rand(2, 3) for _ in range(2)],),
            (torch.tensor(2.0),),
            ([torch.rand(2, 3) for _ in range(2)], [torch.rand(2, 3) for _ in range(2)]),
            ([torch.rand(2, 3) for _ in range(2)], 0.5),
            (
                [torch.rand(2, 3) for _ in range(2)],
                [torch.rand(2, 3) for _ in range(2)],
                [1.0, 2.0],
            ),
        ):
            for variant in (op.method_variant, op.inplace_variant):
                if variant is not None:
                    yield variant, (([t.clone() for t in tensors], *extra), {})
        return
    try:
        samples = itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=False), PER_OPINFO)
        for sample in samples:
            call = ((sample.input, *sample.args), dict(sample.kwargs))
            for variant in (op.op, op.inplace_variant):
                if variant is not None:
                    yield variant, call
    except Exception:  # an OpInfo that needs what this machine has not
        return


def collect(op: Any, keep: dict[str, list[Call]]) -> None:
    """Run the samples of one OpInfo and keep every call the dispatcher sees."""
    for variant, call in opinfo_calls(op):
        args, kwargs = clone(call)
        try:
            with torch.inference_mode():
                # tensors made here carry no autograd key, so that composites arrive whole
                args, kwargs = clone((args, kwargs))
                with _Collect(keep):
                    variant(*args, **kwargs)
        except Exception:
            continue
        _collect_backward(variant, call, keep)


def collect_modules(keep: dict[str, list[Call]]) -> None:
    """Keep the calls of recurrent layers, which no OpInfo makes."""
    for make in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN):
        for options in ({}, {"bidirectional": True, "num_layers": 2, "batch_first": True}):
            module = make(3, 4, **options)
            call: Call = ((torch.rand(2, 5, 3),), {})
            _collect_backward(module, call, keep)
            state = {k: v.detach() for k, v in module.named_parameters()}
            with torch.inference_mode():
                state = {k: v.clone() for k, v in state.items()}
                args, kwargs = clone(call)
                try:
                    with _Collect(keep):
                        torch.func.functional_call(module, state, args, kwargs)
                except Exception:
                    continue
    for name, extra in (("lstm_cell", 2), ("gru_cell", 1), ("rnn_tanh_cell", 1)):
        gates = {"lstm_cell": 16, "gru_cell": 12}.get(name, 4)
        hidden = [torch.rand(2, 4) for _ in range(extra)]
        state_ = hidden if extra == 2 else hidden[0]
        args = (torch.rand(2, 3), state_, torch.rand(gates, 3), torch.rand(gates, 4),
                torch.rand(gates), torch.rand(gates))  # fmt: skip
        keep.setdefault(name, []).append((args, {}))


def _collect_backward(variant: Callable[..., Any], call: Call, keep: dict[str, list[Call]]) -> None:
    """Keep the calls that the gradient makes: nobody calls ``convolution_backward`` by hand."""
    args, kwargs = clone(call, grad=True)
    inputs = [
        t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor) and t.requires_grad
    ]
    try:
        result = variant(*args, **kwargs)
        outputs = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor) and t.grad_fn]
        if not inputs or not outputs:
            return
        with _Collect(keep):
            torch.autograd.grad(
                outputs, inputs, [torch.ones_like(t) for t in outputs], allow_unused=True
            )
    except Exception:  # no gradient, or an operand that is written in place
        return


# -- overloads that no OpInfo reaches -------------------------------------------------------------


def _value(kind: str, name: str, choice: int) -> Any:
    square = choice >= 2
    base = kind.removesuffix("?")
    if kind.endswith("?") and choice % 2 == 0:
        return None
    if base == "Tensor":
        shapes = [(2, 3), (2, 3), (3, 3), (1, 3, 3), (1, 2, 4, 4), (3,)]
        shape = shapes[choice % len(shapes)]
        if name in ("indices", "index", "repeats", "lengths", "offsets", "target"):
            return torch.zeros(shape, dtype=torch.int64)
        if name in ("mask", "condition"):
            return torch.ones(shape, dtype=torch.bool)
        return torch.rand(shape) + (0.5 * torch.eye(3) if square and shape[-2:] == (3, 3) else 0.5)
    if base in ("List[Tensor]", "List[Optional[Tensor]]"):
        return [torch.rand(2, 3) + 0.5, torch.rand(2, 3) + 0.5]
    if base in ("int", "SymInt"):
        return 0 if "dim" in name or name in ("index", "start", "offset", "diagonal") else 1
    if base == "float":
        return 0.5
    if base in ("bool",):
        return choice % 2 == 1
    if base in ("number", "Scalar"):
        return 2
    if base in ("List[int]", "List[SymInt]"):
        if "dim" in name or name == "shifts":
            return [0]
        if name in ("size", "shape"):
            return [2, 3]
        return [1, 1]
    if base in ("List[float]",):
        return [1.0, 1.0]
    if base in ("List[number]", "List[Scalar]"):
        return [2, 2]
    if base == "str":
        return {"reduce": "sum", "indexing": "ij", "UPLO": "L", "mode": "reduced"}.get(name, "sum")
    if base == "ScalarType":
        return torch.float32
    if base == "Layout":
        return torch.strided
    if base == "Device":
        return torch.device("cpu")
    if base in ("Dimname",):
        return "N"
    if base == "MemoryFormat":
        return torch.contiguous_format
    return None


def synthesized(func: torch._ops.OpOverload) -> Iterator[Call]:
    """Calls made from the schema alone; many will be refused, some run."""
    schema = func._schema
    for choice in range(6):
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for argument in schema.arguments:
            if argument.has_default_value() and not argument.is_out and choice < 4:
                if argument.kwarg_only:
                    continue
                args.append(argument.default_value)
                continue
            if argument.is_out:
                kwargs[argument.name] = torch.empty(0)
                continue
            kind = str(argument.type)
            if kind.startswith("Optional["):
                kind = kind.removeprefix("Optional[").removesuffix("]") + "?"
            value = _value(kind, argument.name, choice)
            if argument.kwarg_only:
                kwargs[argument.name] = value
            else:
                args.append(value)
        yield tuple(args), kwargs


def _as(argument: Any, value: Any) -> Any:
    """A relative's value as ``argument`` wants it: a number for a tensor, and the reverse."""
    kind = str(argument.type)
    if kind == "number" and isinstance(value, torch.Tensor):
        return 2.0 if value.is_floating_point() else 2
    if kind == "Tensor" and isinstance(value, (int, float)):
        return torch.tensor(value)
    return value


def relatives(func: torch._ops.OpOverload, known: dict[str, list[Call]]) -> Iterator[Call]:
    """Calls of an out or in-place overload made from those of another overload of its family."""
    schema = func._schema
    base = schema.name.removeprefix("aten::")
    wanted = [a for a in schema.arguments if not a.is_out]
    outs = [a for a in schema.arguments if a.is_out]
    stem = base.removesuffix("_") if base.endswith("_") and not base.endswith("__") else base
    candidates = [n for n in known if n.split(".")[0] in (stem, base, stem + "_", "_" + stem)]
    for name in sorted(candidates, key=lambda n: (n.split(".")[0] != stem, n)):
        for args, kwargs in known[name]:
            others = getattr(
                getattr(torch.ops.aten, name.split(".")[0]), name.partition(".")[2] or "default"
            )._schema.arguments
            given = {a.name: v for a, v in zip(others, args, strict=False)} | dict(kwargs)
            if not all(a.name in given or a.has_default_value() for a in wanted):
                continue
            positional = tuple(
                _as(a, given.get(a.name, a.default_value if a.has_default_value() else None))
                for a in wanted
                if not a.kwarg_only
            )
            named = {
                a.name: _as(a, given[a.name]) for a in wanted if a.kwarg_only and a.name in given
            }
            for out in outs:
                listed = str(out.type).startswith("List")
                named[out.name] = (
                    [torch.empty_like(t) for t in positional[0]] if listed else torch.empty(0)
                )
            yield positional, named
