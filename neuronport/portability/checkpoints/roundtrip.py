"""A checkpoint read, saved, and loaded elsewhere: are the names, shapes, dtypes and values the same?

Two readers look at it: this package's own, which runs nothing, and, where there is a PyTorch,
``torch.load(weights_only=True)`` in a process of its own. What they and the saved copies hold is
compared by name, shape, dtype and the SHA-256 of the values.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from neuronport import children
from neuronport.portability.checkpoints import formats
from neuronport.portability.checkpoints.formats import safetensors_
from neuronport.portability.checkpoints.tensors import Checkpoint, CheckpointError
from neuronport.records import digests
from neuronport.workspace import Unreadable

Table = Mapping[str, Mapping[str, Any]]
MOST_SHOWN = 100
"""Differences of one leg that are written down; all of them are counted."""


@dataclass(frozen=True, slots=True)
class Difference:
    name: str
    what: str
    """``missing``, ``added``, ``shape``, ``dtype``, ``values``, ``not-loaded``."""
    before: str = ""
    after: str = ""

    def as_json(self) -> dict[str, str]:
        return {"name": self.name, "what": self.what, "before": self.before, "after": self.after}


@dataclass(frozen=True, slots=True)
class Leg:
    """One way there and back."""

    how: str
    device: str = "cpu"
    problem: str = ""
    """Why nothing came back; empty: it did."""
    differences: tuple[Difference, ...] = ()

    @property
    def same(self) -> bool:
        return not self.problem and not self.differences

    def as_json(self) -> dict[str, Any]:
        return {
            "how": self.how,
            "device": self.device,
            "same": self.same,
            "problem": self.problem,
            "differ": len(self.differences),
            "differences": [d.as_json() for d in self.differences[:MOST_SHOWN]],
        }


@dataclass(frozen=True, slots=True)
class RoundTrip:
    path: str
    status: str
    """``same``, ``differs``, ``refused`` (only running its pickle would load it), ``unreadable``,
    ``not-tried`` (nothing it could be saved to or loaded by)."""
    format: str = ""
    problem: str = ""
    remedy: str = ""
    refused: tuple[str, ...] = ()
    tensors: int = 0
    bytes: int = 0
    dtypes: Mapping[str, int] = field(default_factory=dict)
    locations: Mapping[str, int] = field(default_factory=dict)
    """Device that a tensor says it was saved from → how many."""
    wide: int = 0
    """Elements of 64-bit integers that 32 bits do not hold."""
    shared: tuple[tuple[str, ...], ...] = ()
    others: int = 0
    """Values that are no tensors and were not compared."""
    legs: tuple[Leg, ...] = ()
    notes: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """File → SHA-256."""

    @property
    def devices(self) -> frozenset[str]:
        """Where it came back from."""
        return frozenset(leg.device for leg in self.legs if not leg.problem)

    def as_json(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "status": self.status,
            "format": self.format,
            "problem": self.problem,
            "remedy": self.remedy,
            "refused": list(self.refused),
            "tensors": self.tensors,
            "bytes": self.bytes,
            "dtypes": dict(self.dtypes),
            "locations": dict(self.locations),
            "wide_integers": self.wide,
            "shared": [list(names) for names in self.shared],
            "others": self.others,
            "legs": [leg.as_json() for leg in self.legs],
            "notes": list(self.notes),
            "files": dict(self.files),
        }


def roundtrip(path: str, *, python: str = "", seconds: float = 600) -> RoundTrip:
    """Tries a checkpoint; never raises for what is in it.

    ``python``: an interpreter that has torch; empty: this one, when it has. ``seconds``: what each
    process of it may take.
    """
    try:
        checkpoint = formats.read(path)
        files = {f: digests.of_file(os.path.realpath(f)) for f in checkpoint.files}
        before = checkpoint.table()
        wide = sum(_wide(checkpoint, t) for t in checkpoint.tensors if t.dtype == "int64")
    except CheckpointError as error:
        status = "refused" if error.refused else "unreadable"
        return RoundTrip(
            path, status, problem=error.reason, remedy=error.remedy, refused=error.refused
        )
    except (OSError, Unreadable, ValueError) as error:
        return RoundTrip(path, "unreadable", problem=f"cannot be read: {error}")
    legs: list[Leg] = []
    notes = list(checkpoint.notes)
    try:
        with tempfile.TemporaryDirectory(prefix="neuronport-") as folder:
            room = shutil.disk_usage(folder).free
            if room < 2 * checkpoint.bytes + (64 << 20):
                notes.append(
                    f"not saved again: {2 * checkpoint.bytes:,} bytes are needed for it and "
                    f"{room:,} are free in {tempfile.gettempdir()}"
                )
            else:
                legs.append(_as_safetensors(checkpoint, before, Path(folder)))
                legs += _by_torch(checkpoint, before, Path(folder), python, seconds, notes)
    except OSError as error:
        notes.append(f"not saved again: {error.strerror}")
    came_back = [leg for leg in legs if not leg.problem]
    status = "not-tried"
    if came_back:
        status = "same" if all(leg.same for leg in came_back) else "differs"
    return RoundTrip(
        path,
        status,
        checkpoint.format,
        tensors=len(checkpoint.tensors),
        bytes=checkpoint.bytes,
        dtypes=_counted([t.dtype for t in checkpoint.tensors]),
        locations=_counted([t.location for t in checkpoint.tensors]),
        wide=wide,
        shared=tuple(tuple(names) for names in checkpoint.shared()),
        others=len(checkpoint.others),
        legs=tuple(legs),
        notes=tuple(notes),
        files=files,
    )


def _counted(words: Sequence[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))


def _wide(checkpoint: Checkpoint, tensor: Any) -> int:
    """How many values of an int64 tensor do not fit into 32 bits."""
    count = 0
    for chunk in checkpoint.chunks(tensor):
        values = memoryview(chunk).cast("B").cast("q")
        if values and (min(values) < -(1 << 31) or max(values) >= 1 << 31):
            count += sum(1 for v in values if not -(1 << 31) <= v < 1 << 31)
    return count


# ---- comparing ------------------------------------------------------------------------------------


def compare(before: Table, after: Table) -> tuple[Difference, ...]:
    """How two tables of the same checkpoint differ; order is no difference."""
    found = []
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if new is None:
            found.append(Difference(name, "missing"))
        elif old is None:
            found.append(Difference(name, "added"))
        elif new.get("problem"):
            found.append(Difference(name, "not-loaded", after=str(new["problem"])))
        else:
            for what, key in (("shape", "shape"), ("dtype", "dtype"), ("values", "sha256")):
                if old[key] != new[key]:
                    found.append(Difference(name, what, str(old[key]), str(new[key])))
                    break
    return tuple(found)


# ---- ways there and back --------------------------------------------------------------------------


def _as_safetensors(checkpoint: Checkpoint, before: Table, folder: Path) -> Leg:
    how = "saved as safetensors and read again"
    copy = str(folder / "copy.safetensors")
    try:
        safetensors_.write(copy, checkpoint, checkpoint.tensors)
        return Leg(how, differences=compare(before, safetensors_.read(copy).table()))
    except CheckpointError as error:
        return Leg(how, problem=error.reason)


def _by_torch(
    checkpoint: Checkpoint,
    before: Table,
    folder: Path,
    python: str,
    seconds: float,
    notes: list[str],
) -> list[Leg]:
    """torch loads and saves it; another process loads what was saved, and moves it to the devices
    there are."""
    if not python and importlib.util.find_spec("torch") is None:
        notes.append(
            "torch is not installed here: only the own reader looked at it (--python FILE)"
        )
        return []
    if os.name != "posix":
        notes.append("not tried with torch: processes with limits are for Linux")
        return []
    files = [f for f in checkpoint.files if not f.endswith(".json")]
    copies = [
        str(folder / f"{i}{'.safetensors' if f.endswith('.safetensors') else '.pt'}")
        for i, f in enumerate(files)
    ]
    megabytes = 4096 + 4 * (checkpoint.bytes >> 20)
    ask = {"files": [os.path.abspath(f) for f in files], "save": copies}
    first = _child(ask, folder / "first", python, seconds, megabytes)
    version = first.get("torch", "")
    loads = "safetensors.torch" if files[0].endswith(".safetensors") else "torch.load(weights_only)"
    how = f"{loads} of torch {version}" if version else loads
    if first.get("unanswered"):
        # The process, not the checkpoint: no interpreter, no torch in it, a limit.
        return [Leg(how, problem=first["unanswered"])]
    if first.get("problem"):
        if "No module named" in first["problem"]:
            notes.append(f"not tried with {loads}: {first['problem']}")
            return []
        return [Leg(how, differences=(Difference("(all)", "not-loaded", after=first["problem"]),))]
    legs = [Leg(how, differences=compare(before, first["devices"]["cpu"]))]
    saved: dict[str, Any] = {}
    again = f"saved by torch {version} and read by the own reader"
    try:
        for copy in copies:
            saved.update(formats.read(copy).table())
        legs.append(Leg(again, differences=compare(before, saved)))
    except CheckpointError as error:
        legs.append(Leg(again, problem=error.reason))
    ask = {"files": copies, "save": []}
    second = _child(ask, folder / "second", python, seconds, megabytes)
    there = f"saved by torch {version} and loaded in another process"
    if second.get("unanswered"):
        return [*legs, Leg(there, problem=second["unanswered"])]
    if second.get("problem"):
        lost = Difference("(all)", "not-loaded", after=second["problem"])
        return [*legs, Leg(there, differences=(lost,))]
    legs += [
        Leg(there, device, differences=compare(before, table))
        for device, table in second["devices"].items()
    ]
    return legs


def _child(
    ask: dict[str, Any], folder: Path, python: str, seconds: float, megabytes: int
) -> dict[str, Any]:
    folder.mkdir()
    answer = folder / "answer.json"
    request = folder / "request.json"
    request.write_text(json.dumps({**ask, "answer": str(answer)}), encoding="utf-8")
    script = Path(__file__).with_name("elsewhere.py")
    command = [python or sys.executable, "-I", str(script), str(request)]
    try:
        ended = children.run(command, folder / "output", seconds, megabytes, folder=folder)
    except children.NotStartedError as error:
        return {"unanswered": str(error)}
    try:
        found = json.loads(answer.read_text("utf-8"))
        return found if isinstance(found, dict) else {"unanswered": "it answered nothing"}
    except (OSError, ValueError):
        last = ended.tail[-1] if ended.tail else ""
        return {"unanswered": f"{ended.why or 'it answered nothing'}{': ' if last else ''}{last}"}
