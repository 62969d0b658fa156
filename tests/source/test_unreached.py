"""What only runs where CUDA was asked for, by its callers, its loop or the marker above it."""

from __future__ import annotations

import pytest

from tests.rules.judging import judge_files

SYNC = "api/torch.cuda.synchronize"


def verdict(tmp_path, files, rule=SYNC):
    part = judge_files(tmp_path, files)
    assert not part.not_looked_at
    (found,) = [f for f in part.findings if f.rule == rule]
    return str(found.verdict)


HELPER = "import torch\n\ndef wait():\n    torch.cuda.synchronize()\n"
ASKED = "import torch\nfrom helper import wait\n\nif torch.cuda.is_available():\n    wait()\n"
EARLY = (
    "import torch\nfrom helper import wait\n\ndef run():\n"
    "    if not torch.cuda.is_available():\n        return\n    wait()\n"
)
NOT_ASKED = "from helper import wait\n\nwait()\n"


@pytest.mark.parametrize("caller", [ASKED, EARLY])
def test_every_caller_asks_first(tmp_path, caller):
    assert verdict(tmp_path, {"helper.py": HELPER, "main.py": caller}) == "locks-in"


@pytest.mark.parametrize(
    "files",
    [
        {"helper.py": HELPER},
        {"helper.py": HELPER, "main.py": ASKED, "other.py": NOT_ASKED},
        {"helper.py": HELPER, "tests/test_helper.py": ASKED},
        {"helper.py": HELPER.replace("def wait", "@register\ndef wait"), "main.py": ASKED},
    ],
    ids=["nobody calls it", "one does not ask", "only tests call it", "registered somewhere"],
)
def test_somebody_may_come_without_asking(tmp_path, files):
    assert verdict(tmp_path, files) == "breaks"


def test_through_several_functions(tmp_path):
    middle = "from helper import wait\n\ndef middle():\n    wait()\n"
    main = (
        "import torch\nfrom middle import middle\n\nif torch.cuda.is_available():\n    middle()\n"
    )
    files = {"helper.py": HELPER, "middle.py": middle, "main.py": main}
    assert verdict(tmp_path, files) == "locks-in"


ENTRY = """
import torch
from helper import wait

def run(x):
    if x.device.type == "cuda":
        return wait(x)
    return x
"""
ITSELF = "import torch\n\ndef wait(x):\n    torch.cuda.synchronize()\n    return wait(x)\n"
WITHIN = """
import torch

def wait(x):
    class Wait(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            torch.cuda.synchronize()

        @staticmethod
        def backward(ctx, dy):
            return wait(dy).apply(dy)

    return Wait
"""
ONE_ANOTHER = """
import torch

def wait(x):
    return again(x)

def again(x):
    torch.cuda.synchronize()
    return wait(x) if x.numel() else more(x)

def more(x):
    return again(x)
"""


@pytest.mark.parametrize("helper", [ITSELF, WITHIN, ONE_ANOTHER])
def test_who_calls_itself_is_reached_from_elsewhere(tmp_path, helper):
    files = {"helper.py": helper}
    assert verdict(tmp_path / "nobody", files) == "breaks"
    assert verdict(tmp_path / "asks", {**files, "main.py": ENTRY}) == "locks-in"
    assert verdict(tmp_path / "tests", {**files, "tests/test_it.py": ENTRY}) == "breaks"
    other = {"other.py": NOT_ASKED.replace("()", "(1)")}
    assert verdict(tmp_path / "one", {**files, "main.py": ENTRY, **other}) == "breaks"


def test_functions_that_only_call_themselves_are_called_by_others(tmp_path):
    """``walk`` is for whoever uses the project: nobody in the tree calls it but itself."""
    walk = "from helper import wait\n\ndef walk(x):\n    wait(x)\n    walk(x)\n"
    files = {"helper.py": ITSELF, "main.py": ENTRY, "walk.py": walk}
    assert verdict(tmp_path, files) == "breaks"
    two = walk.replace("    walk(x)", "    step(x)") + "\ndef step(x):\n    walk(x)\n"
    assert verdict(tmp_path, {**files, "walk.py": two}) == "breaks"
    asked = "import torch\nfrom walk import walk\n\nif torch.cuda.is_available():\n    walk(1)\n"
    assert verdict(tmp_path, {**files, "walk.py": two, "asked.py": asked}) == "locks-in"


PREFETCHER = (
    "import torch\n\nclass Prefetcher:\n    def next(self):\n        torch.cuda.synchronize()\n"
)
MADE = "import torch\nfrom helper import Prefetcher\n\nloader = Prefetcher() if torch.cuda.is_available() else None\n"


def test_a_class_that_is_only_made_where_there_is_cuda(tmp_path):
    assert verdict(tmp_path, {"helper.py": PREFETCHER, "main.py": MADE}) == "locks-in"
    other = {"other.py": "from helper import Prefetcher\n\nloader = Prefetcher()\n"}
    assert verdict(tmp_path, {"helper.py": PREFETCHER, "main.py": MADE} | other) == "breaks"


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        ("for i in range(torch.cuda.device_count()):", "locks-in"),
        ("for i in range(min(n, torch.cuda.device_count())):", "locks-in"),
        ("for i in range(n):", "breaks"),
        ("for i in range(max(1, torch.cuda.device_count())):", "breaks"),
    ],
)
def test_a_loop_over_no_devices(tmp_path, loop, expected):
    code = f"import torch\n\ndef f(n):\n    {loop}\n        torch.cuda.synchronize(i)\n"
    assert verdict(tmp_path, {"case.py": code}) == expected


@pytest.mark.parametrize(
    ("marker", "expected"),
    [("@RunIf(min_cuda_gpus=1)", "locks-in"), ("@RunIf(dynamo=True)", "breaks")],
)
def test_markers_that_want_devices(tmp_path, marker, expected):
    code = f"import torch\nfrom markers import RunIf\n\n{marker}\ndef test_it():\n    torch.cuda.synchronize()\n"
    assert verdict(tmp_path, {"test_case.py": code}) == expected


MODE = """
import torch
from modes import BINARY

class Loss(torch.nn.Module):
    def __init__(self, mode):
        super().__init__()
        self.mode = mode

    def forward(self, x):
        if self.mode == BINARY:
            torch.cuda.synchronize()
        return x
"""


def test_how_a_project_is_set_says_nothing_of_the_host(tmp_path):
    files = {
        "loss.py": MODE,
        "modes.py": 'BINARY = "binary"\n',
        "main.py": 'from loss import Loss\n\nLoss("multiclass")\n',
    }
    assert verdict(tmp_path, files) == "breaks"


@pytest.mark.parametrize(
    ("handler", "expected"),
    [
        ("    flash_attn = None", "locks-in"),
        ('    raise ImportError("install flash-attn")', "breaks"),
        ("    sys.exit(1)", "breaks"),
    ],
)
def test_an_import_is_optional_only_where_its_failing_is(tmp_path, handler, expected):
    code = f"import sys\n\ntry:\n    import flash_attn\nexcept ImportError:\n{handler}\n"
    assert verdict(tmp_path, {"case.py": code}, "api/flash_attn#import") == expected


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("CUDA_HOME is not None", "locks-in"),
        ("CUDA_HOME", "locks-in"),
        ("CUDA_HOME is None", "breaks"),
        ("sources", "breaks"),
    ],
)
def test_there_is_no_cuda_toolkit(tmp_path, test, expected):
    code = (
        "from torch.utils.cpp_extension import CUDA_HOME, CUDAExtension\n\ndef build(sources):\n"
        f"    if {test}:\n        return CUDAExtension('m', sources)\n"
    )
    rule = "api/torch.utils.cpp_extension.CUDAExtension"
    assert verdict(tmp_path, {"setup.py": code}, rule) == expected


PREDICATES = {
    "a test that returns early": (
        "def asks(x):\n    if x.device.type != 'cuda':\n        return False\n    return True\n",
        "locks-in",
    ),
    "one of several": (
        "def asks(x):\n    if not enabled or x.numel() == 0:\n        return False\n"
        "    if x.device.type != 'cuda':\n        return False\n    return x.ndim == 4\n",
        "locks-in",
    ),
    "nothing at the end": (
        "def asks(x):\n    if x.is_cuda and x.ndim == 4:\n        return True\n",
        "locks-in",
    ),
    "on the ways there": (
        "def asks(x):\n    if x.is_cuda:\n        if x.ndim == 4:\n            return True\n"
        "        return x.numel() > 8\n    return False\n",
        "locks-in",
    ),
    "an import that fails": (
        "def asks(x):\n    try:\n        import flash_attn\n        return True\n"
        "    except ImportError:\n        return False\n",
        "locks-in",
    ),
    "another predicate": (
        "def asks(x):\n    if inner(x):\n        return True\n    return False\n\n"
        "def inner(x):\n    if not x.is_cuda:\n        return False\n    return x.ndim == 4\n",
        "locks-in",
    ),
    "one way does not ask": (
        "def asks(x):\n    if x.ndim == 4:\n        return True\n    return x.is_cuda\n",
        "breaks",
    ),
    "asks the other way": (
        "def asks(x):\n    if x.is_cuda:\n        return False\n    return True\n",
        "breaks",
    ),
    "asks something else": (
        "def asks(x):\n    if x.ndim != 4:\n        return False\n    return True\n",
        "breaks",
    ),
    "in a loop": (
        "def asks(xs):\n    for x in xs:\n        if x.is_cuda:\n            return False\n"
        "    return True\n",
        "breaks",
    ),
    "what may fail": (
        "def asks(x):\n    try:\n        return x.is_cuda\n    except AttributeError:\n"
        "        return True\n",
        "breaks",
    ),
    "itself": (
        "def asks(x):\n    if x.ndim > 4:\n        return asks(x[0])\n    return True\n",
        "breaks",
    ),
}


@pytest.mark.parametrize("case", PREDICATES)
def test_a_function_of_the_tree_that_asks(tmp_path, case):
    predicate, expected = PREDICATES[case]
    code = f"import torch\nfrom settings import enabled\n\n{predicate}"
    inside = "\ndef run(x):\n    if asks(x):\n        torch.cuda.synchronize()\n"
    assert verdict(tmp_path / "inside", {"case.py": code + inside}) == expected
    after = "\ndef run(x):\n    if not asks(x):\n        return\n    torch.cuda.synchronize()\n"
    assert verdict(tmp_path / "after", {"case.py": code + after}) == expected


def test_a_method_that_asks(tmp_path):
    code = (
        "import torch\n\nclass Op:\n    def asks(self, x):\n        if x.device.type != 'cuda':\n"
        "            return False\n        return True\n\n    def run(self, x):\n"
        "        if self.asks(x):\n            torch.cuda.synchronize()\n"
    )
    assert verdict(tmp_path, {"case.py": code}) == "locks-in"
    assert verdict(tmp_path, {"case.py": code.replace("!=", "==")}) == "breaks"


KERNELS = "import torch\n\ntorch.cuda.synchronize()\n\ndef op(x):\n    return x\n"
WHERE_CUDA = "def f(x):\n    if x.is_cuda:\n        from kernels import op\n        return op(x)\n"
AT_THE_TOP = "from kernels import op\n"
OF_A_PACKAGE = {
    "pkg/__init__.py": "",
    "pkg/kernels.py": KERNELS,
    "pkg/ops.py": "def f(x):\n    if x.is_cuda:\n        from . import kernels\n",
}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"ops.py": WHERE_CUDA}, "locks-in"),
        ({"ops.py": WHERE_CUDA.replace("from kernels import op", "import kernels")}, "locks-in"),
        (
            {"ops.py": "import torch\nif torch.cuda.is_available():\n    from kernels import *\n"},
            "locks-in",
        ),
        (
            {
                "ops.py": "def f(x):\n    from kernels import op\n    return op(x)\n",
                "main.py": "from ops import f\n\ndef g(x):\n    return f(x) if x.is_cuda else x\n",
            },
            "locks-in",
        ),
        ({"ops.py": WHERE_CUDA, "tests/test_kernels.py": AT_THE_TOP}, "locks-in"),
        ({"ops.py": WHERE_CUDA, "other.py": f"def g(x):\n    {AT_THE_TOP}"}, "breaks"),
        ({"ops.py": WHERE_CUDA, "other.py": AT_THE_TOP}, "breaks"),
        ({"ops.py": WHERE_CUDA, "other.py": "import kernels\n"}, "breaks"),
        (
            {"ops.py": f"try:\n    {AT_THE_TOP}except ImportError:\n    op = None\n"},
            "breaks",
        ),
        ({}, "breaks"),
        ({"tests/test_kernels.py": WHERE_CUDA}, "breaks"),
        (
            {"ops.py": f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {AT_THE_TOP}"},
            "breaks",
        ),
    ],
    ids=[
        "in a function",
        "as a module",
        "by a star",
        "in a function that is not reached",
        "tests import it as well",
        "in a function that others call",
        "somebody does not ask",
        "nor does who imports the module",
        "where it can be imported",
        "nobody imports it",
        "tests alone import it",
        "for types",
    ],
)
def test_a_module_that_is_only_imported_where_there_is_cuda(tmp_path, files, expected):
    assert verdict(tmp_path, {"kernels.py": KERNELS, **files}) == expected


def test_a_module_that_is_run(tmp_path):
    script = KERNELS + '\nif __name__ == "__main__":\n    op(1)\n'
    assert verdict(tmp_path, {"kernels.py": script, "ops.py": WHERE_CUDA}) == "breaks"


def test_a_module_of_a_package(tmp_path):
    assert verdict(tmp_path / "one", OF_A_PACKAGE) == "locks-in"
    other = {"pkg/other.py": "from pkg import kernels\n"}
    assert verdict(tmp_path / "two", {**OF_A_PACKAGE, **other}) == "breaks"
    other = {"pkg/other.py": "import pkg.kernels as k\n"}
    assert verdict(tmp_path / "three", {**OF_A_PACKAGE, **other}) == "breaks"


def test_what_is_in_a_package_runs_it(tmp_path):
    files = {
        "pkg/__init__.py": KERNELS,
        "pkg/inner.py": "",
        "ops.py": WHERE_CUDA.replace("kernels", "pkg"),
        "other.py": "import pkg.inner\n",
    }
    assert verdict(tmp_path, files) == "breaks"


def test_an_import_in_a_hot_place_makes_no_module_hot(tmp_path):
    files = {
        "table.py": "import torch\n\ndef fill(x):\n    return x.item()\n\nfill(torch.ones(1))\n",
        "model.py": "import torch\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n"
        "        import table\n        return x\n",
    }
    part = judge_files(tmp_path, files)
    assert not [f for f in part.findings if f.context.hot]


FUNCTION = """
import torch

class Op(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda")
    def forward(ctx, x):
        return x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        torch.cuda.synchronize()
        return grad
"""
APPLIED = "from ops import Op\n\ndef op(x):\n    return Op.apply(x) if x.is_cuda else x\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"main.py": APPLIED}, "locks-in"),
        ({"main.py": "import ops\n" + APPLIED.replace("Op.apply", "ops.Op.apply")}, "locks-in"),
        ({"main.py": APPLIED.replace("Op.apply(x)", "run(Op.apply, x)")}, "locks-in"),
        ({"main.py": APPLIED, "other.py": "from ops import Op\n\ny = Op.apply(1)\n"}, "breaks"),
        ({"main.py": APPLIED, "other.py": "from ops import Op\n\nop = Op.apply\n"}, "breaks"),
        ({"main.py": APPLIED, "other.py": "from ops import Op\n\nrun(Op.apply, 1)\n"}, "breaks"),
        ({}, "breaks"),
    ],
    ids=[
        "applied",
        "by the module",
        "handed on",
        "somebody does not ask",
        "it has another name",
        "handed on without asking",
        "nobody",
    ],
)
def test_an_autograd_function_that_is_only_applied_where_there_is_cuda(tmp_path, files, expected):
    assert verdict(tmp_path, {"ops.py": FUNCTION, **files}) == expected


def test_what_only_tests_call_in_an_example(tmp_path):
    helper = {"examples/helper.py": HELPER}
    asked = ASKED.replace("helper", "examples.helper")
    assert verdict(tmp_path / "tests", {**helper, "examples/tests/test_it.py": asked}) == "breaks"
    assert verdict(tmp_path / "example", {**helper, "examples/main.py": asked}) == "locks-in"


@pytest.mark.parametrize(
    ("before", "inside", "skipped"),
    [
        ("", "if not torch.cuda.is_available():\n        pytest.skip('none')", True),
        ("", "if not torch.cuda.is_available():\n        raise unittest.SkipTest('none')", True),
        ("", "if d != 'cuda' or not torch.cuda.is_available():\n        pytest.skip('none')", True),
        ("", "if torch.cuda.is_available():\n        pytest.skip('none')", False),
        ("", "if not torch.cuda.is_available():\n        pytest.fail('none')", False),
        ("pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason='r')", "", True),
        (
            "pytestmark = [pytest.mark.slow, pytest.mark.skipif(not torch.cuda.is_available())]",
            "",
            True,
        ),
        ("pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason='r')", "", False),
        ("pytestmark = pytest.mark.slow", "", False),
    ],
)
def test_a_test_that_is_left_early_or_marked(tmp_path, before, inside, skipped):
    code = (
        f"import pytest, torch, unittest\n{before}\n\ndef test_it(d):\n    {inside or 'pass'}\n"
        "    torch.cuda.synchronize()\n"
    )
    assert (verdict(tmp_path, {"test_case.py": code}) == "locks-in") is skipped
