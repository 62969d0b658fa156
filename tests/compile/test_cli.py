from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from neuronport.compile.drivers import drivers
from neuronport.compile.here import how_to_get
from neuronport.compile.result import Tool
from neuronport.compile.run import chosen
from tests.compile.playing import HERE, SMALL, Tools


def test_nothing_here_is_said_first(tmp_path: Path) -> None:
    ran = Tools(tmp_path).compile("no/such/model.py", form="text")
    assert ran.status == 4
    assert ran.out.startswith("no Neuron compiler here:")
    for name in ("torch.compile", "torch_neuronx.trace", "neuronx-cc"):
        assert name in ran.out
    assert "pip install" in ran.out
    assert ran.err == ""  # nothing is run: no statement of what would be


def test_nothing_here_as_json(tmp_path: Path) -> None:
    found = Tools(tmp_path).compile(SMALL).json
    assert list(found)[2] == "neuron"
    assert found["neuron"]["compiler_here"] is False
    assert {m["driver"] for m in found["neuron"]["missing"]} == {
        "torch_compile_neuron",
        "torch_neuronx_trace",
        "neuronx_cc",
    }
    assert found["graphs"] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--driver", "gcc"], "'gcc' is not one of torch_compile_neuron"),
        (["--target", "moon"], "unknown path 'moon'"),
        (["--flags", "'open"], "--flags: No closing quotation"),
        (["--output", "pdf=x"], "write FORMAT=FILE"),
        (["--time-limit", "0"], "0 is not in the range"),
        (["--keep", "README.md/x"], "neuronport: --keep: README.md/x: Not a directory"),
        (["--output", "json=/no/such/folder/x"], "neuronport: /no/such/folder/x: No such file"),
    ],
)
def test_usage(arguments: list[str], message: str, tmp_path: Path) -> None:
    ran = Tools(tmp_path).compile(SMALL, *arguments)
    assert ran.status == 2
    assert message in ran.err


def test_a_driver_that_was_named_and_is_not_here(tmp_path: Path) -> None:
    ran = Tools(tmp_path).compile(SMALL, "--driver", "xla_cpu", form="text")
    assert ran.status == 3
    assert "nothing was compiled with xla_cpu: no interpreter with torch_xla is named" in ran.out


def test_an_interpreter_that_is_not_there(tmp_path: Path) -> None:
    ran = Tools(tmp_path).compile(SMALL, "--xla-python", "/no/python", "--python", "/none")
    assert ran.status == 4
    because = {t["driver"]: t["because"] for t in ran.json["drivers"]}
    assert because["xla_cpu"] == "/no/python: no interpreter is there"
    assert because["torch_neuronx_trace"] == "/none: no interpreter is there"


def test_an_interpreter_without_torch_xla(tmp_path: Path) -> None:
    ran = Tools(tmp_path).compile(SMALL, "--xla-python", sys.executable, "--driver", "xla_cpu")
    (failure,) = ran.json["failures"]
    assert ran.status == 3
    assert "torch_xla cannot be used" in failure


def test_output_files(tmp_path: Path) -> None:
    md, js = tmp_path / "c.md", tmp_path / "c.json"
    ran = Tools(tmp_path).compile(SMALL, "-o", f"markdown={md}", "-o", f"json={js}", form="text")
    assert ran.status == 4
    assert md.read_text(encoding="utf-8").startswith("# Compiling `")
    assert json.loads(js.read_text(encoding="utf-8"))["schema"] == "neuronport/compile/1"


def test_every_driver_is_documented() -> None:
    page = (HERE.parents[1] / "docs" / "compile.md").read_text(encoding="utf-8")
    for name in drivers():
        assert f"`{name}`" in page
        assert how_to_get(name)


def tool(name: str, usable: bool) -> Tool:
    return Tool(name, "", drivers()[name].COMPILER, usable, "")


@pytest.mark.parametrize(
    ("usable", "path", "named", "expected"),
    [
        (["neuronx_cc", "xla_cpu"], "xla", [], ["neuronx_cc"]),
        (["torch_compile_neuron", "torch_neuronx_trace"], "xla", [], ["torch_neuronx_trace"]),
        (["torch_compile_neuron", "torch_neuronx_trace"], "native", [], ["torch_compile_neuron"]),
        (["torch_neuronx_trace", "xla_cpu"], "native", [], ["torch_neuronx_trace"]),
        (["xla_cpu"], "native", [], ["xla_cpu"]),
        ([], "native", [], []),
        (["xla_cpu", "neuronx_cc"], "xla", ["xla_cpu", "xla_cpu"], ["xla_cpu"]),
    ],
)
def test_what_is_chosen(
    usable: list[str], path: str, named: list[str], expected: list[str]
) -> None:
    tools = [tool(name, name in usable) for name in drivers()]
    assert chosen(tools, named, path) == expected
