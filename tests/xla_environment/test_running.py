"""Workers, run by this interpreter: nothing of the machinery needs torch_xla itself."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from neuronport.xla_environment import XlaEnvironmentError, XlaPython, run

HERE = XlaPython(sys.executable)


def test_versions_where_there_is_no_torch_xla() -> None:
    if _has_torch_xla():
        pytest.skip("it is there")
    with pytest.raises(XlaEnvironmentError, match=r"cannot be used \(ended with status 1.*torch"):
        HERE.versions()


def test_no_interpreter(tmp_path: Path) -> None:
    with pytest.raises(XlaEnvironmentError, match="no interpreter is there"):
        XlaPython(str(tmp_path / "python")).versions()


def test_a_worker_that_does_not_exist() -> None:
    done = run(HERE, "neuronport.no_such_worker", {}, seconds=60)
    assert done.why == "ended with status 1"
    assert "no_such_worker" in done.tail[-1]
    assert done.rows == ()


def test_libraries_of_the_environment_come_first(tmp_path: Path) -> None:
    (tmp_path / "stubs").mkdir()
    (tmp_path / "bin").mkdir()
    found = XlaPython(str(tmp_path / "bin" / "python")).variables()
    assert found["LD_LIBRARY_PATH"].split(os.pathsep)[0] == str(tmp_path / "stubs")
    assert found["PJRT_DEVICE"] == "CPU"
    assert "PYTHONPATH" not in found


@pytest.mark.skipif(
    not os.environ.get("NEURONPORT_XLA_PYTHON"), reason="NEURONPORT_XLA_PYTHON names no interpreter"
)
def test_versions() -> None:
    found = XlaPython(os.environ["NEURONPORT_XLA_PYTHON"]).versions()
    assert found["torch_xla"].startswith("2.")
    assert found["device"].startswith("xla")


def _has_torch_xla() -> bool:
    from importlib.util import find_spec

    return find_spec("torch_xla") is not None
