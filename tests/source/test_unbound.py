"""What is set only where CUDA is found and used all the same stops the program on a Neuron host."""

from __future__ import annotations

import pytest

from tests.rules.judging import judge_files

ONLY = """\
import torch
def place(args):
    if torch.cuda.is_available():
        n = torch.cuda.device_count()
    if args.other and torch.xpu.is_available():
        n = torch.xpu.device_count()
    size = args.size
    return {i: size for i in range(n)}
"""


def verdicts(tmp_path, code: str) -> dict[int, str]:
    part = judge_files(tmp_path, {"case.py": code}, ("native",))
    return {
        f.location.line: str(f.verdict)
        for f in part.findings
        if f.rule in ("api/torch.cuda.is_available", "accelerator-branch")
    }


def test_a_name_that_is_set_for_accelerators_alone(tmp_path):
    assert verdicts(tmp_path, ONLY) == {3: "breaks", 5: "breaks"}
    part = judge_files(tmp_path, {"case.py": ONLY}, ("native",))
    assert any("n is never set, and line 8 stops" in f.message for f in part.findings)


def test_at_the_top_of_a_module(tmp_path):
    code = "import torch\nif torch.cuda.is_available():\n    n = 2\nprint(range(n))\n"
    assert verdicts(tmp_path, code) == {2: "breaks"}


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("    if torch.cuda", "    n = 0\n    if torch.cuda"),
        ("    size = args.size", "    if args.cpu:\n        n = 1\n    size = args.size"),
        ("    size = args.size", "    for n in args.sizes:\n        pass\n    size = args.size"),
        ("    size = args.size", "    from a import n\n    size = args.size"),
        ("(args):", "(args, n=1):"),
        ("    return {", "    if not args.cpu:\n        return {"),
        ("    return {", "    if args.cpu:\n        return None\n    return {"),
        ("range(n)", "(range(n) if args.cuda else ())"),
        (
            "    return {i: size for i in range(n)}",
            "    try:\n        range(n)\n    except NameError:\n        pass",
        ),
        (
            "        n = torch.cuda.device_count()\n",
            "        n = torch.cuda.device_count()\n    else:\n        return None\n",
        ),
        ("    if args.other and", "    elif args.other and"),
        ("def place(args):\n", "def place(args):\n    global n\n"),
        ("    return {i: size for i in range(n)}", "    return [range(n) for s in args.sizes]"),
    ],
)
def test_what_may_be_set_or_not_asked_for(tmp_path, was, now):
    changed = ONLY.replace(was, now, 1)
    assert changed != ONLY
    if "global" in now:
        changed = changed.replace("import torch\n", "import torch\nn = 1\n", 1)
    assert "breaks" not in verdicts(tmp_path, changed).values()


def test_a_name_of_the_function_around(tmp_path):
    code = (
        "import torch\ndef outer():\n    n = 1\n    def inner():\n        nonlocal n\n"
        "        if torch.cuda.is_available():\n            n = 2\n        return range(n)\n"
        "    return inner\n"
    )
    assert "breaks" not in verdicts(tmp_path, code).values()
