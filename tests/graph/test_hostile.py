"""Model code and files that mean no good: one clear error each, and nothing runs on."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from neuronport.graph.record import RecordError, read
from neuronport.graph.run import Request, run
from tests.graph.running import ROOT

torch = pytest.importorskip("torch")

CODE = {
    "hangs": ("while True: pass", "not finished after 12 s (--time-limit)"),
    "hangs when built": (
        "def model():\n    while True: pass\ndef inputs(): return ()",
        "not finished after 12 s (--time-limit)",
    ),
    "forks": (
        "import os, time\nwhile os.getpid():\n    if not os.fork(): time.sleep(60)",
        "more than 256 processes were started",
    ),
    "allocates": ("x = bytearray(9 << 30)", "the model cannot be built: MemoryError"),
    "leaves": ("import os; os._exit(0)", "the model's code ended the process, with status 0"),
    "leaves with a status": ("import sys; sys.exit(9)", "ended with status 9"),
    "segfaults": ("import ctypes; ctypes.string_at(0)", "ended by SIGSEGV"),
    "is no Python": ("def model(:", "the model cannot be built: SyntaxError"),
    "raises": ("1 / 0", "the model cannot be built: ZeroDivisionError: division by zero"),
    "raises what nobody catches": (
        "raise BaseException('over')",
        "ended with status 1",
    ),
    "raises what has no words": (
        "class E(Exception):\n    def __str__(self): raise RuntimeError\nraise E",
        "the model cannot be built: E",
    ),
    "reads from people": ("input()", "the model cannot be built: EOFError"),
    "has no inputs to give": (
        "import torch\ndef model(): return torch.nn.Linear(2, 2)\n"
        "def inputs(): raise OSError('no data \\ud800 \x1b[31m')",
        "its inputs cannot be made: OSError: no data",
    ),
    "gives no model": ("def model(): return 3\ndef inputs(): return ()", "model() gives a int"),
    "prints for ever": (
        "while True: print('x' * 1000000)",
        "more than 256 MB were printed",
    ),
    "writes a record of its own": (
        "import json, sys, os\n"
        "ask = json.load(open(sys.argv[1]))\n"
        "open(ask['record'], 'w').write('[1, {\"graphs\": 2}]')\n"
        "os._exit(0)",
        "the process left a record that cannot be read",
    ),
}


@pytest.mark.parametrize("name", CODE)
def test_code(name: str, tmp_path: Path) -> None:
    code, why = CODE[name]
    file = tmp_path / "model.py"
    file.write_text(code, encoding="utf-8")
    seconds = 12 if "not finished" in why else 120
    began = time.monotonic()
    with pytest.raises(RecordError) as raised:
        run(Request(str(file), seconds=seconds, megabytes=4000))
    first = str(raised.value).splitlines()[0]
    assert why in first
    assert str(file) in first
    assert time.monotonic() - began < 110
    assert len(str(raised.value)) < 6000


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(
        "print('\\x1b]0;owned\\x07\\x1b[2J')\nraise SystemExit('\\x1b[31m\\u202egone')\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "neuronport", "graph", str(file)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 3
    assert done.stdout == ""
    assert "owned" in done.stderr
    assert not {"\x1b", "\x07", "\u202e"} & set(done.stderr)
    assert "Traceback" not in done.stderr


class Evil:
    """Unpickled, it writes a file."""

    def __init__(self, file: str) -> None:
        self.file = file

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (self.file, "w")


def files(folder: Path) -> dict[str, Path]:
    """Malformed files of every kind that names a model."""
    evil = pickle.dumps(Evil(str(folder / "owned")))
    made = {
        "random.pt2": b"\x00\x01garbage" * 40,
        "empty.pt2": b"",
        "pickle.pt2": evil,
        "broken.json": b'{"model_type": ',
        "list.json": b"[1, 2, 3]",
        "deep.json": b"[" * 100000,
        "binary.json": bytes(range(256)),
        "unknown.json": b'{"model_type": "no_such_architecture"}',
        "wrong.json": b'{"model_type": ["llama"]}',
        "classes.json": b'{"model_type": "llama", "architectures": [5]}',
        "text.json": b'{"model_type": "llama", "hidden_size": "wide"}',
        "huge.json": b'{"model_type": "llama", "hidden_size": 1000000000000000000000000000000}',
        "negative.json": b'{"model_type": "llama", "hidden_size": -64}',
        "component.json": b'{"_class_name": "NoSuchComponent"}',
        "script.pt": evil,
    }
    found = {}
    for name, content in made.items():
        found[name] = folder / name
        found[name].write_bytes(content)
    found["bomb.pt2"] = folder / "bomb.pt2"
    with zipfile.ZipFile(found["bomb.pt2"], "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/archive_format", "pt2")
        archive.writestr("archive/models/model.json", "0" * (1 << 26))
    for name in ("zip.pt2", "script.zip.pt"):
        found[name] = folder / name
        with zipfile.ZipFile(found[name], "w") as archive:
            archive.writestr("archive/data.pkl", evil)
            archive.writestr("archive/code/__torch__.py", "def f(:")
            archive.writestr("archive/version", "3")
    return found


NAMES = [
    "bomb.pt2",
    *("random.pt2", "empty.pt2", "pickle.pt2", "zip.pt2", "broken.json", "list.json", "deep.json"),
    *("classes.json", "text.json", "huge.json", "negative.json"),
    *("binary.json", "unknown.json", "wrong.json", "component.json", "script.pt", "script.zip.pt"),
]


@pytest.mark.parametrize("name", NAMES)
def test_files(name: str, tmp_path: Path) -> None:
    file = files(tmp_path)[name]
    with pytest.raises(RecordError) as raised:
        run(Request(str(file), [["randn(2,2)"]], seconds=120, megabytes=4000))
    first = str(raised.value).splitlines()[0]
    assert str(file) in first
    assert "\n    Traceback" not in str(raised.value)
    assert not (tmp_path / "owned").exists()


HOSTILE_INPUTS = {
    "__import__('os').system('true')": "is none of rand, randn",
    "randn(1,2": "was never closed",
    "9**9**9": "is no literal",
    "randn(1,2).__class__": "is no literal",
    "zeros((1099511627776,1099511627776))": "overflowed",
    "(" * 900 + "1" + ")" * 900: "too many nested|longer than 1000",
    "[" * 400 + "]" * 400: "too many nested|RecursionError",
    "randn(1,2,dtype=evil)": "no dtype",
}


@pytest.mark.parametrize("expression", HOSTILE_INPUTS)
def test_inputs_are_a_language_of_their_own(expression: str) -> None:
    from neuronport.graph.capture.inputs import InputError, parse

    with torch.device("meta"), pytest.raises(InputError, match=HOSTILE_INPUTS[expression]) as told:
        parse(expression)
    assert len(str(told.value)) < 400


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", "3", '{"model": 3, "sites": []}', '{"error": 1, "failures": [7]}']
)
def test_records_that_cannot_be_read(text: str) -> None:
    with pytest.raises(RecordError, match="cannot be read"):
        read(text)


def test_a_hostile_record_does_no_harm_in_a_report() -> None:
    """Names come from the user's code: nothing in them is interpreted."""
    from neuronport.graph.reports import forms, named
    from neuronport.graph.result import judge
    from neuronport.targets import resolve

    bad = "\x1b[2J<script>\u202e"
    data = {
        "model": {
            "name": bad,
            "kind": bad,
            "class": bad,
            "device": bad,
            "parameters": [],
            "buffers": [],
            "modules": [{"path": bad, "class": bad, "package": bad}],
        },
        "torch": bad,
        "python": bad,
        "seconds": 0,
        "sites": [{"file": f"/x/{bad}", "line": 3, "function": bad, "kind": "user"}],
        "graphs": [
            {
                "name": bad,
                "mode": "inference",
                "how": bad,
                "module": bad,
                "inputs": [],
                "nodes": [
                    {"name": bad, "operator": f"aten::{bad}", "user": 0, "module": bad},
                    {"name": "n", "operator": "aten::nonzero", "user": 0, "module": bad,
                     "outputs": [{"dtype": bad, "shape": ["u0", 1]}]},
                ],
                "outputs": [],
            }
        ],
        "failures": [{"step": bad, "graph": bad, "error": bad, "reason": bad, "user": 0}],
        "breaks": [{"graph": bad, "reason": bad}],
        "redirects": [{"what": bad, "count": 1, "user": 0}],
        "reads": [{"what": "bool", "count": 1, "user": 0}],
        "notes": [bad],
    }  # fmt: skip
    result = judge(read(json.dumps(data)), [resolve("xla")], with_audit=False)
    for form in forms():
        text = named(form)(result)
        assert "\x1b" not in text, form
        if form == "text":
            assert "\u202e" not in text
        if form == "svg":
            assert "<script>" not in text
