"""Runs cases on torch_xla; a process of its own, in an environment of its own.

    python worker.py run OUTPUT < cases.jsonl
    python worker.py opinfos                      # the names of torch's OpInfo database
    python worker.py versions

Every case is announced before it runs, so that whoever started this process knows which one ended
it. One line of JSON per outcome; see ``outcomes.py`` for the form. Needs torch, torch_xla and the
standard library, nothing of neuronport.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
os.environ.setdefault("PJRT_DEVICE", "CPU")
warnings.filterwarnings("ignore")

import torch  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils._pytree import tree_leaves, tree_map  # noqa: E402

from neuronport.xla_environment import hlo  # noqa: E402
from neuronport.xla_environment.metrics import fallbacks, status_of  # noqa: E402

LONGEST_LIST = 12
LONGEST_ERROR = 160
OPINFO_SAMPLES = 6
NAMES = {
    "f64": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16,
    "i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8,
    "u8": torch.uint8, "bool": torch.bool, "c64": torch.complex64,
}  # fmt: skip
_TENSOR = re.compile(
    r"(?P<dtype>[a-zA-Z]\w*)\[(?P<size>[\d,]*)\](?P<t>\.t)?(?:@(?P<fill>\w+))?(?:=(?P<values>[-\d.,]+))?"
)


# -- making arguments -----------------------------------------------------------------------------


def built(spec: Any, dtype: torch.dtype) -> Any:
    """The value that ``spec`` (see calls.toml) describes, on the CPU."""
    if isinstance(spec, list):
        return [built(item, dtype) for item in spec]
    if not isinstance(spec, str):
        return spec
    if spec == "none":
        return None
    if spec.startswith("dtype:"):
        name = spec.removeprefix("dtype:")
        return dtype if name == "T" else getattr(torch, name)
    found = _TENSOR.fullmatch(spec)
    return spec if found is None else _tensor(found, dtype)


def _tensor(found: re.Match[str], dtype: torch.dtype) -> torch.Tensor:
    kind = dtype if found["dtype"] == "T" else NAMES[found["dtype"]]
    size = [int(x) for x in found["size"].split(",") if x]
    if found["values"]:
        values = [float(x) for x in found["values"].split(",")]
        return torch.tensor(values).reshape(size).to(kind)
    if found["fill"] == "eye":
        count = size[-1]
        made = torch.eye(count) * 2 + torch.full((count, count), 0.25)
        return made.expand(size).clone().to(kind)
    if found["fill"] == "zeros":
        return torch.zeros(size, dtype=kind)
    count = 1
    for x in size:
        count *= x
    steps = torch.arange(count)
    if found["fill"] == "mask" or kind is torch.bool:
        made = steps % 2 == 0
    elif kind.is_floating_point or kind.is_complex:
        made = (steps * 7 % 11 + 1).float() / 12  # in (0, 1): within the domain of most functions
    else:
        made = steps * 7 % 11 + 1
    made = made.reshape(size).to(kind)
    if found["t"]:
        made = made.transpose(-1, -2).contiguous().transpose(-1, -2)
    return made


def described(value: Any) -> Any:
    """What is recorded of an argument."""
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided:
            return [str(value.layout), str(value.dtype).removeprefix("torch."), list(value.shape)]
        row = ["T", str(value.dtype).removeprefix("torch."), list(value.shape)]
        if not value.is_contiguous():
            row.append("strided")
        return row
    if isinstance(value, (list, tuple)):
        return [described(v) for v in value[:LONGEST_LIST]]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, complex):
        return ["complex"]
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    return [type(value).__name__]


def moved(value: Any, device: Any, *, grad: bool = False) -> Any:
    def one(item: Any) -> Any:
        if isinstance(item, torch.device):
            return device
        if not isinstance(item, torch.Tensor):
            return item
        copy = item.detach().clone(memory_format=torch.preserve_format).to(device)
        if grad and (copy.is_floating_point() or copy.is_complex()):
            copy.requires_grad_(True)
        return copy

    return tree_map(one, value)


def name_of(func: Any) -> str:
    schema = func._schema
    name = schema.name + (f".{schema.overload_name}" if schema.overload_name else "")
    return str(name).removeprefix("aten::")


def overload(name: str) -> Any:
    base, _, rest = name.partition(".")
    return getattr(getattr(torch.ops.aten, base), rest or "default")


# -- looking at torch_xla -------------------------------------------------------------------------


def first_line(error: BaseException) -> str:
    text = f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"
    text = re.sub(r"(/[\w.+-]+){3,}", "<path>", text)
    return re.sub(r"\s+", " ", re.sub(r"0x[0-9a-f]+", "<address>", text))[:LONGEST_ERROR]


class Watch(TorchDispatchMode):
    """Every operator that reaches the device, with its arguments and what its counters say."""

    def __init__(self, met: Any) -> None:
        super().__init__()
        self.met = met
        self.names: set[str] = set()
        self.calls: list[dict[str, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        schema = [a.name for a in func._schema.arguments]
        given = dict(zip(schema, args, strict=False)) | dict(kwargs)
        row = {"operator": name_of(func), "arguments": {k: described(v) for k, v in given.items()}}
        self.met.clear_counters()
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            self.calls.append(row | {"status": "raises", "error": first_line(error)})
            raise
        names = fallbacks(self.met)
        self.names.update(names)
        self.calls.append(row | {"status": status_of(names), "fallback": _short(names)})
        return result


def _short(names: list[str]) -> list[str]:
    return [n.removeprefix("aten::") for n in names]


class Runner:
    def __init__(self, output: Path) -> None:
        import torch_xla
        import torch_xla.debug.metrics as met

        torch.set_num_threads(1)
        self.xla = torch_xla
        self.met = met
        self.device = torch_xla.device()
        self.out = output.open("a", buffering=1, encoding="utf-8")
        self.seen: set[str] = set()

    def write(self, row: dict[str, Any]) -> None:
        self.out.write(json.dumps(row, separators=(",", ":")) + "\n")

    def run(self, case: dict[str, Any]) -> None:
        self.write({"begin": case["key"]})
        torch.manual_seed(0)
        try:
            if case["source"] == "opinfo":
                self._opinfo(case)
            else:
                self._ordinary(case)
        except Exception as error:  # arguments that cannot be made, or told: nothing about XLA
            kept = {k: case[k] for k in ("key", "operator", "dtype", "varied", "source")}
            self.write(
                kept | {"direction": "forward", "status": "refused", "error": first_line(error)}
            )
        self.write({"done": case["key"]})

    # one overload with written arguments

    def _ordinary(self, case: dict[str, Any]) -> None:
        base = {k: case[k] for k in ("key", "operator", "dtype", "varied", "source")}
        try:
            func = overload(case["operator"])
        except (AttributeError, RuntimeError):
            self.write(base | {"direction": "forward", "status": "missing"})
            return
        dtype = getattr(torch, case["dtype"])
        given = {k: built(v, dtype) for k, v in case["arguments"].items()}
        known = {a.name for a in func._schema.arguments}
        given = {k: v for k, v in given.items() if k in known}
        factory = "device" in known and not any(isinstance(v, torch.Tensor) for v in given.values())
        base["arguments"] = {k: described(v) for k, v in given.items()}

        def call(values: dict[str, Any]) -> Any:
            device = values.pop("__device__")
            return func(**values, **({"device": device} if factory else {}))

        settled = not (
            torch.Tag.nondeterministic_seeded in func.tags or "empty" in func._schema.name
        )
        self._both(
            base,
            call,
            given,
            checked=settled and not case["varied"],
            mutable=func._schema.is_mutable,
        )

    def _both(
        self,
        base: dict[str, Any],
        call: Callable[[dict[str, Any]], Any],
        given: dict[str, Any],
        *,
        checked: bool,
        mutable: bool = False,
    ) -> None:
        cpu = torch.device("cpu")
        try:
            with torch.no_grad():
                expected = call({**moved(given, cpu), "__device__": cpu})
        except Exception as error:
            self.write(
                base | {"direction": "forward", "status": "refused", "error": first_line(error)}
            )
            return
        self.write({"reached": base["key"]})  # what ends the process from here on is not the CPU's
        self.write(
            base | {"direction": "forward"} | self._forward(base, call, given, expected, checked)
        )
        self.write_calls(base)
        if not any(
            isinstance(t, torch.Tensor) and (t.is_floating_point() or t.is_complex())
            for t in tree_leaves(given)
        ):
            return
        try:
            if self._gradient(call, given, cpu, mutable) is None:
                return
        except Exception:  # no gradient on the CPU either
            return
        watch = Watch(self.met)
        row: dict[str, Any] = base | {"direction": "backward"}
        try:
            grads = self._gradient(call, given, self.device, mutable, watch)
            row |= {
                "status": status_of(sorted(watch.names)),
                "fallback": _short(sorted(watch.names)),
            }
            row["hlo"] = self._hlo(grads or [])
        except Exception as error:
            row |= {
                "status": "raises",
                "error": first_line(error),
                "fallback": _short(sorted(watch.names)),
            }
        self.write(row)
        self.write_calls(base, watch, "gradient")

    def _forward(
        self,
        base: dict[str, Any],
        call: Callable[[dict[str, Any]], Any],
        given: dict[str, Any],
        expected: Any,
        checked: bool,
    ) -> dict[str, Any]:
        self.watch = Watch(self.met)
        try:
            values = {**moved(given, self.device), "__device__": self.device}
            with torch.no_grad(), self.watch:
                result = call(values)
            names = sorted(self.watch.names)
            row: dict[str, Any] = {
                "status": status_of(names),
                "fallback": _short(names),
            }
            outputs = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor)]
            row["hlo"] = self._hlo(outputs)
            wanted = [t for t in tree_leaves(expected) if isinstance(t, torch.Tensor)]
            notes = _differences(wanted, outputs, checked)
            if notes:
                row["note"] = "; ".join(notes)
        except Exception as error:
            names = sorted(self.watch.names)
            return {"status": "raises", "error": first_line(error), "fallback": _short(names)}
        return row

    def _gradient(
        self,
        call: Callable[[dict[str, Any]], Any],
        given: dict[str, Any],
        device: Any,
        mutable: bool,
        watch: Watch | None = None,
    ) -> list[torch.Tensor] | None:
        values = moved(given, device, grad=True)
        leaves = [t for t in tree_leaves(values) if isinstance(t, torch.Tensor) and t.requires_grad]
        if mutable:  # leaves may not be written to
            values = tree_map(lambda t: t.clone() if isinstance(t, torch.Tensor) else t, values)
        result = call({**values, "__device__": device})
        outputs = [
            t
            for t in tree_leaves(result)
            if isinstance(t, torch.Tensor) and t.requires_grad and t.grad_fn is not None
        ]
        if not leaves or not outputs:
            return None
        seeds = [torch.ones_like(t) for t in outputs]
        if watch is None:
            grads = torch.autograd.grad(outputs, leaves, seeds, allow_unused=True)
        else:
            with watch:
                grads = torch.autograd.grad(outputs, leaves, seeds, allow_unused=True)
        found = [g for g in grads if g is not None]
        return found or None

    def _hlo(self, outputs: list[torch.Tensor]) -> list[str]:
        lazy = [t for t in outputs if t.device.type == "xla"]
        if not lazy:
            return []
        found: list[str] = hlo.tokens(self.xla._XLAC._get_xla_tensors_hlo(lazy))
        return found

    def write_calls(
        self, base: dict[str, Any], watch: Watch | None = None, how: str = "part"
    ) -> None:
        """What other operators the case reached, each different call once per process."""
        for row in (watch or self.watch).calls:
            if (
                how == "part"
                and row["operator"] == base["operator"]
                and base["source"] == "ordinary"
            ):
                continue
            text = json.dumps(row, sort_keys=True)
            if text in self.seen:
                continue
            self.seen.add(text)
            self.write({"call": f"{how} of {base['operator']}", "dtype": base["dtype"]} | row)

    # example calls of torch's own database

    def _opinfo(self, case: dict[str, Any]) -> None:
        base = {k: case[k] for k in ("operator", "dtype", "source")}
        dtype = getattr(torch, case["dtype"])
        (op,) = [o for o in opinfos() if opinfo_name(o) == case["operator"]]
        if dtype not in op.supported_dtypes("cpu"):
            self.write(
                base
                | {"key": case["key"], "varied": "", "direction": "forward", "status": "refused"}
            )
            return
        samples = itertools.islice(
            op.sample_inputs("cpu", dtype, requires_grad=False), OPINFO_SAMPLES
        )
        for index, sample in enumerate(samples):
            given = {"args": (sample.input, *sample.args), "kwargs": dict(sample.kwargs)}
            row = base | {"key": case["key"], "varied": f"sample {index}"}
            row["arguments"] = {
                "args": described(given["args"]),
                "kwargs": {k: described(v) for k, v in sample.kwargs.items()},
            }
            self._both(row, lambda v: op(*v["args"], **v["kwargs"]), given, checked=False)


def _differences(
    wanted: list[torch.Tensor], outputs: list[torch.Tensor], checked: bool
) -> list[str]:
    notes = []
    for want, got in zip(wanted, outputs, strict=False):
        if want.dtype != got.dtype:
            notes.append(f"dtype {want.dtype} -> {got.dtype}".replace("torch.", ""))
        elif checked and got.device.type == "xla":
            value = got.cpu()
            if value.shape != want.shape:
                notes.append("shape differs")
            elif not _close(want, value):
                notes.append("value differs")
    return list(dict.fromkeys(notes))


def _close(want: torch.Tensor, got: torch.Tensor) -> bool:
    kind = torch.complex128 if want.is_complex() else torch.float64
    return torch.allclose(want.to(kind), got.to(kind), rtol=2e-2, atol=2e-2, equal_nan=True)


def opinfos() -> Iterator[Any]:
    from torch.testing._internal.common_methods_invocations import op_db

    yield from op_db


def opinfo_name(op: Any) -> str:
    return str(op.name) + (f":{op.variant_test_name}" if op.variant_test_name else "")


def versions() -> dict[str, str]:
    import torch_xla

    return {"torch": torch.__version__, "torch_xla": torch_xla.__version__}


def main() -> None:
    if sys.argv[1] == "opinfos":
        print(json.dumps([opinfo_name(op) for op in opinfos()]))
    elif sys.argv[1] == "versions":
        print(json.dumps(versions()))
    else:
        runner = Runner(Path(sys.argv[2]))
        for line in sys.stdin:
            runner.run(json.loads(line))


if __name__ == "__main__":
    main()
