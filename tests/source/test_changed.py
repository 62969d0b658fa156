"""What has changed in a module between two of its states."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuronport.source.changed import Change, Moved, State, Untraceable
from neuronport.source.telling import ALL
from tests.source.viewing import view_of

CODE = """
import torch
from tools import requires
from other import *

@requires("torch", backends=("cuda",))
class Keeper:
    kind = "cuda"

    @requires("accelerate")
    def __init__(self, device, size=3):
        if device is None:
            device = torch.device(self.kind)
        self.device = device
        self.options = dict(a=torch.zeros(size), b=torch.zeros(size))

def make(device="cuda"):
    if torch.cuda.is_available():
        keeper = Keeper(device)
        return keeper
    return Keeper("cpu")
"""


def state(folder: Path, code: str) -> State:
    view = view_of(folder, code)
    summaries = view.index._frozen
    return State(summaries.summary("@case") or b"", summaries.calls("@case") or b"")


def change(folder: Path, then: str, now: str) -> Change:
    return Change(state(folder, then), state(folder, now))


def everything(one: State) -> list[tuple[str, object]]:
    summary = one.summary
    return [
        *(("export", name) for name in summary.exports),
        *(("function", name) for name in summary.functions),
        *(("class", name) for name in summary.classes),
        *(
            (f"attribute {name}", key)
            for name in summary.classes
            for key in ("kind", "device", ALL)
        ),
        *(("definition", i) for i in range(len(summary.definitions))),
        *((kind, ALL) for kind in ("export", "function", "class", "definition")),
        ("stars", ALL),
        ("packages", ALL),
    ]


MOVES = {
    "blank lines at the top": ("import torch", "\n\n\nimport torch"),
    "a comment in a function": (
        "        if device is None",
        "        # why\n        if device is None",
    ),
    "a comment in a class": ('    kind = "cuda"', '    # what\n    kind = "cuda"'),
    "between a decorator and what it is of": ("    def __init__", "    # so\n    def __init__"),
    "a blank line in front of a statement": ("    return Keeper", "\n    return Keeper"),
}


@pytest.mark.parametrize("name", sorted(MOVES))
def test_lines_are_nothing_that_things_are(tmp_path, name):
    found = change(tmp_path, CODE, CODE.replace(*MOVES[name]))
    for item in everything(found.then):
        assert found.same([item]), item
    count = len(found.then._calls)
    assert count
    assert found.same_calls(range(count), range(count))


EDITS = {
    "a value": ('kind = "cuda"', 'kind = "cpu"', ("definition", ALL)),
    "a default": ("size=3", "size=4", ("function", "@case.Keeper.__init__")),
    "a type": ("size=3", "size=3.0", ("function", "@case.Keeper.__init__")),
    "a method": (
        "    def __init__",
        "    def f(self): ...\n    def __init__",
        ("class", "@case.Keeper"),
    ),
    "what is exported": ("import torch\n", "import torch\nN = 1\n", ("export", ALL)),
    "a guard": ("if torch.cuda.is_available()", "if True", ("definition", ALL)),
    "two calls on one line": (
        "dict(a=torch.zeros(size), b=",
        "dict(a=torch.zeros(size),\n            b=",
        ("definition", ALL),
    ),
    "a star": ("from other import *", "from another import *", ("stars", ALL)),
}


@pytest.mark.parametrize("name", sorted(EDITS))
def test_what_is_other_than_it_was(tmp_path, name):
    old, new, item = EDITS[name]
    assert old in CODE
    assert not change(tmp_path, CODE, CODE.replace(old, new)).same([item])


def test_a_variable_in_front_changes_the_numbers_of_others_only(tmp_path):
    code = CODE.replace('    kind = "cuda"', '    first = 1\n    kind = "cuda"')
    found = change(tmp_path, CODE, code)
    for item in everything(found.then):
        if item[0] == "definition" and item[1] != ALL:
            assert found.same([item]), item
    assert not found.same([("definition", ALL)])


def test_lines_are_told_where_things_that_are_the_same_have_gone(tmp_path):
    found = change(tmp_path, CODE, CODE.replace("import torch", "\n\nimport torch"))
    moved = Moved()
    moved.add(found, found.moved(everything(found.then)))
    line = CODE.split("\n").index('def make(device="cuda"):') + 1
    assert moved.line("case.py", line) == line + 2
    assert moved.line("other.py", line) == line
    assert moved.lines("case.py", line, line + 4) == (line + 2, line + 6)
    with pytest.raises(Untraceable):
        moved.line("case.py", 900)


def test_a_range_up_to_the_next_function_is_not_told_where_that_has_gone_elsewhere(tmp_path):
    code = "def one():\n    return 'cuda'\n\ndef two():\n    return 'cuda'\n"
    found = change(tmp_path, code, code.replace("\n\n", "\n\n\n"))
    moved = Moved()
    moved.add(found, found.moved([("function", "@case.one")]))
    assert moved.line("case.py", 1) == 1
    with pytest.raises(Untraceable):
        moved.lines("case.py", 1, 3)
