"""What processes read for each other is the same wherever it is kept."""

from __future__ import annotations

import os

import pytest

from neuronport import pool
from neuronport.spool import Spool, Summaries
from neuronport.targets import resolve
from neuronport.workspace import open_workspace


def test_one_reads_what_another_wrote(tmp_path):
    writer, reader = Spool(str(tmp_path), 0), Spool(str(tmp_path), 1)
    places = {"@a": (writer.put(b"summary"), writer.put(b"")), "@b": (writer.put(b"x"), b"y")}
    assert all(isinstance(places[m][0], tuple) for m in places)
    held = Summaries(reader, places)
    assert (held.summary("@a"), held.calls("@a")) == (b"summary", b"")
    assert (held.summary("@b"), held.calls("@b")) == (b"x", b"y")
    assert held.summary("@c") is held.calls("@c") is None
    assert sorted(held) == ["@a", "@b"]


def test_a_full_disk_keeps_things_in_memory(tmp_path, monkeypatch):
    spool = Spool(str(tmp_path), 0)
    spool._out.close()
    spool._out = open("/dev/full", "wb", buffering=0)  # noqa: SIM115
    assert [spool.get(spool.put(data)) for data in (b"much", b"more")] == [b"much", b"more"]


def test_a_file_cut_short_is_told(tmp_path):
    spool = Spool(str(tmp_path), 0)
    place = spool.put(b"0123456789")
    (tmp_path / "0").write_bytes(b"012")
    with pytest.raises(OSError, match="shorter"):
        spool.get(place)


@pytest.mark.parametrize("broken", [False, True])
def test_findings_do_not_depend_on_it(tmp_path, monkeypatch, broken):
    for i in range(12):
        (tmp_path / f"m{i}.py").write_text(
            f"from m{(i + 1) % 12} import pick\nimport torch\n"
            f"def pick():\n    return 'cuda:{i}'\nx = torch.ones(2).to(pick())\n"
        )
    monkeypatch.setattr(pool, "_WORTH_IT", 0)
    if broken:
        monkeypatch.setattr(pool, "_folder", lambda: "")
    python = [f for f in open_workspace([str(tmp_path)]).files if f.kind == "python"]
    one, two = (
        pool.audit_python(python, [resolve("native")], jobs, lambda phase: None) for jobs in (1, 2)
    )
    assert one.findings
    assert one.findings == two.findings
    assert not two.not_looked_at


def test_who_dies_looking_for_callers_loses_nothing(tmp_path, monkeypatch):
    for i in range(12):
        (tmp_path / f"m{i}.py").write_text(
            f"from m{(i + 1) % 12} import read\nimport torch\n"
            "def read(x: torch.Tensor):\n    return x.item()\n"
            "class Net(torch.nn.Module):\n    def forward(self, x):\n        return read(x)\n"
        )
    monkeypatch.setattr(pool, "_WORTH_IT", 0)
    python = [f for f in open_workspace([str(tmp_path)]).files if f.kind == "python"]
    one = pool.audit_python(python, [resolve("native")], 1, lambda phase: None)
    here, look = os.getpid(), pool.PythonAuditor.called_by

    def dies(auditor, tree, part, parts):
        if os.getpid() != here and part == 2:
            os._exit(1)
        return look(auditor, tree, part, parts)

    monkeypatch.setattr(pool.PythonAuditor, "called_by", dies)
    two = pool.audit_python(python, [resolve("native")], 2, lambda phase: None)
    assert sum("called from Net.forward" in f.message for f in one.findings) == 12
    assert one == two
