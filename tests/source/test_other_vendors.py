"""What only runs where another vendor's accelerator is: neither CUDA's hosts nor Neuron's come there."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuronport.findings import Finding
from tests.rules.judging import judge_files

ASKED = (
    "import torch\ntry:\n    HAS_XPU = torch.xpu.is_available()\nexcept Exception:\n    HAS_XPU = False\n"
    "def start():\n    if HAS_XPU:\n        from lib.shim import init\n        init()\n"
)
SHIM = (
    "import torch\nfrom .inner import wait\ndef init():\n    torch.cuda.synchronize()\n    wait()\n"
)
INNER = "import torch\ndef wait():\n    torch.cuda.synchronize()\n"


def waits(folder: Path, files: dict[str, str]) -> dict[str, tuple[str, str]]:
    part = judge_files(folder, files)
    rows = [f for f in part.findings if f.rule == "api/torch.cuda.synchronize"]
    return {f.location.path: (f.verdict.value, f.confidence.value) for f in rows}


@pytest.mark.parametrize("shim", ["lib/shim.py", "lib/shim/__init__.py"])
def test_a_shim_that_is_only_imported_there(tmp_path: Path, shim: str) -> None:
    inner = "lib/shim/inner.py" if shim.endswith("__init__.py") else "lib/inner.py"
    found = waits(tmp_path, {"lib/__init__.py": "", "use.py": ASKED, shim: SHIM, inner: INNER})
    assert found[shim] == ("locks-in", "possible")
    if inner.startswith("lib/shim"):
        assert found[inner] == ("locks-in", "possible")


def test_a_package_of_which_somebody_imports_a_part(tmp_path: Path) -> None:
    files = {"lib/__init__.py": "", "use.py": ASKED, "lib/shim/__init__.py": SHIM}
    files |= {"lib/shim/inner.py": INNER, "other.py": "from lib.shim.inner import wait\nwait()\n"}
    assert waits(tmp_path, files)["lib/shim/inner.py"] == ("breaks", "certain")


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("torch.xpu.is_available()", ("locks-in", "possible")),
        ("torch.version.hip", ("locks-in", "possible")),
        ("device.type == 'mps'", ("locks-in", "possible")),
        ("torch.cuda.is_available()", ("locks-in", "certain")),
        ("torch.cuda.is_available() and torch.version.hip", ("locks-in", "certain")),
        ("flag", ("breaks", "certain")),
    ],
)
def test_a_condition_of_another_vendor(
    tmp_path: Path, test: str, expected: tuple[str, str]
) -> None:
    code = f"import torch\ndef f(device, flag):\n    if {test}:\n        torch.cuda.synchronize()\n"
    assert waits(tmp_path, {"case.py": code}) == {"case.py": expected}


def patched(folder: Path, code: str) -> list[Finding]:
    part = judge_files(folder, {"case.py": code})
    return [f for f in part.findings if f.rule.startswith("api/torch.cuda.")]


def test_what_is_put_in_the_place_of_a_function_is_no_call(tmp_path: Path) -> None:
    code = (
        "import torch\ndef patch(mine):\n    torch.cuda.synchronize = mine.wait\n"
        "    torch.cuda.set_device = mine.choose\n    torch.cuda.__doc__ = mine.__doc__\n"
        "    torch.cuda.Event.__doc__ = ''\n"
    )
    (finding,) = patched(tmp_path, code)
    assert (finding.verdict.value, finding.confidence.value) == ("locks-in", "possible")
    assert "replaced" in finding.message
    assert finding.location.line == 3


def test_a_setting_is_set(tmp_path: Path) -> None:
    code = "import torch\ndef f(b):\n    torch.backends.cudnn.benchmark = b\n    torch.cuda.synchronize()\n"
    part = judge_files(tmp_path, {"case.py": code})
    assert not any("replaced" in f.message for f in (*part.findings, *part.references))
    assert any(f.rule == "api/torch.cuda.synchronize" for f in part.findings)
