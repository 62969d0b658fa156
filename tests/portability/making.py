"""Audits, runs and checkpoints for tests, as small as they can be."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

from neuronport.records import Record, Records, Snapshot, load, write

TARGET = "native@2.33"


def finding(verdict: str = "breaks", **changes: Any) -> dict[str, Any]:
    """A finding of an audit's body, with what portability reads."""
    confidence = changes.pop("confidence", "certain")
    on = changes.pop("on", {TARGET: verdict})
    row = {
        "rule": "a-rule",
        "area": "device",
        "path": "train.py",
        "line": 1,
        "effort": "minutes",
        "context": {"role": changes.pop("role", "code"), "guarded_by": ""},
        "verdict": on,
        "confidence": confidence,
        "by_target": {t: {"verdict": v, "confidence": confidence} for t, v in on.items()},
        "fix": None,
    }
    return {**row, **changes}


def audit_body(*findings: dict[str, Any], **changes: Any) -> dict[str, Any]:
    references = changes.pop("references", [])
    return {
        "schema": "neuronport/audit/1",
        "tool": {"name": "neuronport", "version": "0", "rules": "", "knowledge": []},
        "tree": {"looked_at": 1, "not_read": 0, **changes.pop("tree", {})},
        "targets": [{"target": TARGET}],
        "summary": {},
        "findings": list(findings),
        "references": references,
        "suppressed": [],
        "baselined": [],
        "not_looked_at": changes.pop("not_looked_at", []),
        "rules": {"a-rule": {"title": "A title"}},
        **changes,
    }


def recorded(tree: Path, kind: str, body: dict[str, Any], **more: Any) -> Records:
    """A record of ``tree/train.py``, and all that are there."""
    file = tree / "train.py"
    if not file.exists():
        file.write_text("x = 1\n")
    folder = tree / ".neuronport"
    write(str(folder), kind, json.dumps(body), Snapshot.of_named(str(tree), [str(file)]), **more)
    return load(str(folder))


def run_body(**changes: Any) -> dict[str, Any]:
    return {
        "schema": "neuronport/run/1",
        "workload": "chat",
        "model": "small",
        "mode": "inference",
        "device": {"kind": "neuron", "name": "a chip", "count": 1},
        "precision": "bf16",
        "batch": 8,
        "lengths": {"input": 128, "output": 16},
        "concurrency": 4,
        "made": "2026-01-01T00:00:00Z",
        "latency_ms": {"p50": 10.0, "p99": 40.0},
        "throughput": {"value": 1000.0, "unit": "tokens/s"},
        "quality": {"metric": "accuracy", "value": 0.9},
        "cost": {"per_hour": 3.6, "currency": "USD"},
        **changes,
    }


def run_record(folder: Path, name: str, **changes: Any) -> Record:
    from neuronport.records import read

    file = folder / f"{name}.json"
    file.write_text(json.dumps(run_body(**changes)))
    record = read(str(file))
    assert isinstance(record, Record), record
    return record


def zipped(
    path: Path, data: bytes, storages: dict[str, bytes] | None = None, **more: bytes
) -> Path:
    """What looks like a file of ``torch.save``, with any bytes for its pickle."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", data)
        archive.writestr("archive/byteorder", b"little")
        archive.writestr("archive/version", b"3\n")
        for key, raw in (storages or {}).items():
            archive.writestr(f"archive/data/{key}", raw)
        for name, raw in more.items():
            archive.writestr(f"archive/{name}", raw)
    return path


def pickled(value: Any) -> bytes:
    stream = io.BytesIO()
    pickle.Pickler(stream, protocol=2).dump(value)
    return stream.getvalue()


def safetensors(path: Path, header: Any, data: bytes = b"") -> Path:
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(raw).to_bytes(8, "little") + raw + data)
    return path
