"""The record that the child leaves: graphs of nodes, in words that need no torch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


class RecordError(ValueError):
    """The child left nothing to look at; the message says why."""


@dataclass(frozen=True, slots=True)
class Site:
    """A line of source."""

    file: str
    line: int
    function: str
    kind: str
    """``user`` or ``library``."""


@dataclass(frozen=True, slots=True)
class Tensor:
    dtype: str
    shape: tuple[int | str, ...]
    """A size that is no number is the name of a symbol or an expression of symbols."""
    contiguous: bool | None = None

    @property
    def numel(self) -> int | None:
        """``None``: symbolic."""
        total = 1
        for size in self.shape:
            if not isinstance(size, int):
                return None
            total *= size
        return total

    @property
    def bytes(self) -> int | None:
        count = self.numel
        return None if count is None else count * item_size(self.dtype)


@dataclass(frozen=True, slots=True)
class Input:
    name: str
    kind: str
    """``parameter``, ``buffer``, ``constant``, ``cache`` or ``input``."""
    target: str
    tensor: Tensor


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    operator: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    outputs: tuple[Tensor | None, ...]
    module: str = ""
    user: Site | None = None
    library: Site | None = None
    direction: str = "forward"
    symbolic: bool = False
    """Arithmetic on sizes: the host's, not the device's."""
    symbols: tuple[str, ...] = ()
    """Sizes that its outputs have and that are no numbers."""

    @property
    def site(self) -> Site | None:
        """The user's line, else the library's."""
        return self.user or self.library

    def references(self) -> Iterator[tuple[str, int]]:
        """The nodes and inputs that it reads: name and output."""
        yield from _references(self.args)
        yield from _references(tuple(self.kwargs.values()))


@dataclass(frozen=True, slots=True)
class Graph:
    name: str
    mode: str
    """``inference`` or ``training``."""
    how: str
    """``export``, ``draft-export``, ``run``, ``submodule``, ``given``."""
    module: str
    """The submodule that was captured alone; empty: the model."""
    inputs: tuple[Input, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Any, ...]

    @property
    def title(self) -> str:
        return f"{self.name} of {self.module}" if self.module else self.name

    def tensors(self) -> dict[tuple[str, int], Tensor]:
        """Every tensor by the name and output that references give."""
        found = {(i.name, 0): i.tensor for i in self.inputs}
        for node in self.nodes:
            for index, tensor in enumerate(node.outputs):
                if tensor is not None:
                    found[node.name, index] = tensor
        return found


@dataclass(frozen=True, slots=True)
class Failure:
    step: str
    graph: str
    error: str
    reason: str
    module: str = ""
    user: Site | None = None
    library: Site | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "graph": self.graph,
            "module": self.module,
            "error": self.error,
            "reason": self.reason,
            "user": site_json(self.user),
            "library": site_json(self.library),
        }


@dataclass(frozen=True, slots=True)
class Redirect:
    """Something that the model does and that capturing noted: a CUDA placement that was turned into
    the default device, a value that was read."""

    what: str
    count: int
    user: Site | None = None
    library: Site | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "count": self.count,
            "user": site_json(self.user),
            "library": site_json(self.library),
        }


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    tensor: Tensor
    trainable: bool


@dataclass(frozen=True, slots=True)
class Module:
    path: str
    cls: str
    package: str


@dataclass(frozen=True)
class Record:
    model: str
    kind: str
    cls: str
    device: str
    torch: str
    python: str
    seconds: float
    parameters: tuple[Parameter, ...]
    buffers: tuple[Parameter, ...]
    modules: tuple[Module, ...]
    graphs: tuple[Graph, ...]
    failures: tuple[Failure, ...] = ()
    breaks: tuple[Failure, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    reads: tuple[Redirect, ...] = ()
    """Where a value of a tensor is read while the model runs: ``bool``, ``item``, ``int`` …"""
    notes: tuple[str, ...] = ()
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """As the child wrote it: what a process for torch_xla is handed."""


def site_json(site: Site | None) -> dict[str, Any] | None:
    if site is None:
        return None
    return {"file": site.file, "line": site.line, "function": site.function}


_SIZES = {"bool": 1, "complex32": 4, "complex64": 8, "complex128": 16, "half": 2}


def item_size(dtype: str) -> int:
    """Bytes of one element."""
    if dtype in _SIZES:
        return _SIZES[dtype]
    digits = ""
    for letter in dtype.partition("_")[0]:
        if letter.isdigit():
            digits += letter
        elif digits:
            break
    return max(int(digits or 8) // 8, 1)


def _references(value: Any) -> Iterator[tuple[str, int]]:
    if isinstance(value, dict):
        if "ref" in value:
            yield value["ref"], int(value.get("index", 0))
        elif "dict" in value:
            yield from _references(list(value["dict"].values()))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _references(item)


def read(text: str) -> Record:
    """The record in ``text``.

    Raises RecordError: the child could not make one.
    """
    try:
        data = json.loads(text)
        if "error" not in data:
            return _record(data)
        why = str(data["error"]) + _where(data)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        # only code that runs in the child can bring this about
        raise RecordError("the process left a record that cannot be read") from None
    raise RecordError(why)


def _record(data: Mapping[str, Any]) -> Record:
    sites = [Site(s["file"], s["line"], s["function"], s["kind"]) for s in data["sites"]]
    model = data["model"]
    return Record(
        model=model["name"],
        kind=model["kind"],
        cls=model["class"],
        device=model["device"],
        torch=data["torch"],
        python=data["python"],
        seconds=data["seconds"],
        parameters=tuple(_parameter(p) for p in model["parameters"]),
        buffers=tuple(_parameter(p) for p in model["buffers"]),
        modules=tuple(Module(m["path"], m["class"], m["package"]) for m in model["modules"]),
        graphs=tuple(_graph(g, sites) for g in data["graphs"]),
        failures=tuple(_failure(f, sites) for f in data["failures"]),
        breaks=tuple(
            _failure({"step": "compile", "error": "graph-break", **f}, sites)
            for f in data["breaks"]
        ),
        redirects=tuple(
            Redirect(r["what"], r["count"], *_sites(r, sites)) for r in data["redirects"]
        ),
        reads=tuple(Redirect(r["what"], r["count"], *_sites(r, sites)) for r in data["reads"]),
        notes=tuple(data["notes"]),
        raw=data,
    )


def _where(data: Mapping[str, Any]) -> str:
    for failure in data.get("failures", ()):
        number = failure.get("user", failure.get("library"))
        if number is not None:
            site = data["sites"][number]
            return f" ({site['file']}:{site['line']})"
    return ""


def _sites(row: Mapping[str, Any], sites: Sequence[Site]) -> tuple[Site | None, Site | None]:
    user, library = row.get("user"), row.get("library")
    return (
        None if user is None else sites[user],
        None if library is None else sites[library],
    )


def _tensor(row: Mapping[str, Any]) -> Tensor:
    return Tensor(row["dtype"], tuple(row["shape"]), row.get("contiguous"))


def _parameter(row: Mapping[str, Any]) -> Parameter:
    return Parameter(row["name"], _tensor(row), bool(row.get("trainable")))


def _failure(row: Mapping[str, Any], sites: Sequence[Site]) -> Failure:
    return Failure(
        row["step"],
        row["graph"],
        row["error"],
        row["reason"],
        row.get("module", ""),
        *_sites(row, sites),
    )


def _graph(row: Mapping[str, Any], sites: Sequence[Site]) -> Graph:
    return Graph(
        row["name"],
        row["mode"],
        row["how"],
        row["module"],
        tuple(Input(i["name"], i["kind"], i["target"], _tensor(i)) for i in row["inputs"]),
        tuple(_node(n, sites) for n in row["nodes"]),
        tuple(row["outputs"]),
    )


def _node(row: Mapping[str, Any], sites: Sequence[Site]) -> Node:
    outputs = row.get("outputs", ())
    tensors = tuple(_tensor(o) if o and "shape" in o else None for o in outputs)
    symbols = dict.fromkeys(
        size for t in tensors if t is not None for size in t.shape if isinstance(size, str)
    )
    for output in outputs:
        if output and "symbol" in output:
            symbols.setdefault(output["symbol"])
    return Node(
        row["name"],
        row["operator"],
        tuple(row.get("args", ())),
        row.get("kwargs", {}),
        tensors,
        row.get("module", ""),
        *_sites(row, sites),
        direction=row.get("direction", "forward"),
        symbolic=bool(row.get("symbolic")),
        symbols=tuple(symbols),
    )
