"""Rows of the API tables hold their tongue, or say less, where what they speak of does not come to be."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuronport.findings import Finding
from tests.rules.judging import judge_files


def found(folder: Path, code: str, rule: str) -> list[Finding]:
    part = judge_files(folder, {"case.py": code})
    return [f for f in part.findings if f.rule == rule]


def verdict(finding: Finding, path: str) -> str:
    return next(str(v.verdict.value) for t, v in finding.by_target.items() if t.startswith(path))


@pytest.mark.parametrize(
    ("package", "caught", "native"),
    [
        ("apex", "ImportError", "locks-in"),
        ("apex", "ValueError", "breaks"),
        ("json", "ImportError", "breaks"),
    ],
)
def test_what_follows_an_import_that_fails_does_not_run(
    tmp_path: Path, package: str, caught: str, native: str
) -> None:
    code = (
        f"import torch\ntry:\n    import {package}\n    torch.cuda.synchronize()\n"
        f"except {caught}:\n    pass\n"
    )
    (use,) = found(tmp_path, code, "api/torch.cuda.synchronize")
    assert verdict(use, "native") == native


def test_an_import_that_fails_in_another_try_says_nothing(tmp_path: Path) -> None:
    code = (
        "import torch\ntry:\n    import apex\nexcept ImportError:\n    pass\n"
        "try:\n    torch.cuda.synchronize()\nexcept RuntimeError:\n    pass\n"
    )
    (use,) = found(tmp_path, code, "api/torch.cuda.synchronize")
    assert verdict(use, "native") == "breaks"


@pytest.mark.parametrize(
    ("name", "native"), [("memory_reserved", "locks-in"), ("something_new", "diverges")]
)
def test_what_is_for_older_releases_does_not_run(tmp_path: Path, name: str, native: str) -> None:
    code = (
        f"import torch\nif hasattr(torch.cuda, '{name}'):\n    pass\n"
        "else:\n    print(torch.cuda.memory_cached())\n"
    )
    (use,) = found(tmp_path, code, "api/torch.cuda.memory_cached")
    assert verdict(use, "native") == native


@pytest.mark.parametrize(
    ("asked", "native"),
    [("is_torch_xla_available", "locks-in"), ("is_something_available", "breaks")],
)
def test_what_xla_alone_comes_to_does_not_break_on_the_native_path(
    tmp_path: Path, asked: str, native: str
) -> None:
    code = (
        f"import torch\nfrom transformers import {asked}\nimport torch_xla.core.xla_model as xm\n"
        f"if {asked}():\n    print(xm.xrt_world_size())\n"
    )
    (use,) = found(tmp_path, code, "api/torch_xla.core.xla_model.xrt_world_size")
    assert (verdict(use, "native"), verdict(use, "xla")) == (native, "breaks")


@pytest.mark.parametrize(
    ("call", "count"),
    [("add_argparse_args(parser)", 0), ("from_argparse_args(args)", 1)],
)
def test_a_method_of_a_class_is_not_its_constructor(tmp_path: Path, call: str, count: int) -> None:
    code = f"import pytorch_lightning as pl\npl.Trainer.{call}\n"
    assert len(found(tmp_path, code, "api/pytorch_lightning.Trainer:default")) == count


@pytest.mark.parametrize(
    ("line", "only"),
    [
        ("raise ValueError(f'built with {torch.version.cuda}')", True),
        ("info = {'cuda': torch.version.cuda, 'os': 'linux'}", True),
        ("print(torch.utils.cpp_extension.CUDA_HOME)", True),
        ("home = f(torch.utils.cpp_extension.CUDA_HOME)", False),
        ("if torch.version.cuda == '11.8': print(torch.version.cuda)", False),
    ],
)
def test_what_is_only_written_down_is_none(tmp_path: Path, line: str, only: bool) -> None:
    part = judge_files(tmp_path, {"case.py": f"import torch\n{line}\n"})
    said = [f.message for f in part.findings if f.rule.startswith("api/torch.")]
    assert said
    assert all("only written down here" in message for message in said) is only


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("import lightning as L\nL.Fabric(accelerator='cuda')\n", "api/lightning.Fabric:gpu"),
        ("import mine\nmine.Runner(accelerator='cuda')\n", "hardcoded-cuda-device"),
    ],
)
def test_the_name_of_an_accelerator_is_one_finding(tmp_path: Path, code: str, rule: str) -> None:
    part = judge_files(tmp_path, {"case.py": code})
    assert [f.rule for f in part.findings] == [rule]


@pytest.mark.parametrize(
    ("marks", "native"),
    [
        (", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason='x')", "locks-in"),
        (", marks=pytest.mark.slow", "breaks"),
        ("", "breaks"),
    ],
)
def test_a_parameter_that_is_skipped_without_cuda_breaks_nothing(
    tmp_path: Path, marks: str, native: str
) -> None:
    code = (
        "import pytest\nimport torch\n"
        f"@pytest.mark.parametrize('device', ['cpu', pytest.param('cuda'{marks})])\n"
        "def test_it(device):\n    torch.zeros(3, device=device)\n"
    )
    (device,) = found(tmp_path, code, "hardcoded-cuda-device")
    assert verdict(device, "native") == native


@pytest.mark.parametrize(("module", "count"), [("quant_cuda", 0), ("my_own_cuda", 2)])
def test_a_compiled_module_that_has_a_row_is_named_once(
    tmp_path: Path, module: str, count: int
) -> None:
    code = f"import torch\nimport {module}\ndef f(x):\n    return {module}.run(x)\n"
    assert len(found(tmp_path, code, "compiled-cuda-module")) == count
    assert len(found(tmp_path, code, f"api/{module}.*")) == (not count)


@pytest.mark.parametrize(
    ("test", "native"),
    [("args.n_gpu > 1", "locks-in"), ("args.n_gpu > 0", "breaks"), ("args.workers > 1", "breaks")],
)
def test_several_devices_are_counted_on_cuda_alone(tmp_path: Path, test: str, native: str) -> None:
    code = (
        f"import torch\ndef train(args, model):\n    if {test}:\n"
        "        model = torch.nn.DataParallel(model)\n    return model\n"
    )
    (wrapped,) = found(tmp_path, code, "api/torch.nn.DataParallel")
    assert verdict(wrapped, "native") == native


@pytest.mark.parametrize(
    ("asked", "native"),
    [("flash_attn", "locks-in"), ("numpy", "breaks")],
)
def test_a_package_that_is_asked_for_by_its_name(tmp_path: Path, asked: str, native: str) -> None:
    code = (
        "from mine.imports import is_package_available\n"
        f"if is_package_available('{asked}'):\n    from flash_attn import flash_attn_func\n"
    )
    (imported,) = found(tmp_path, code, "api/flash_attn#import")
    assert verdict(imported, "native") == native


@pytest.mark.parametrize(("adds", "count"), [(True, 0), (False, 2)])
def test_what_lies_beside_is_found_where_the_file_says_so(
    tmp_path: Path, adds: bool, count: int
) -> None:
    head = "import sys\nfrom pathlib import Path\n"
    head += "sys.path.append(str(Path(__file__).parent))\n" if adds else "print(Path)\n"
    files = {
        "ext/mine/__init__.py": "",
        "ext/mine/kernels/__init__.py": "def get_kernel(name):\n    return name\n",
        "ext/mine/run.py": f"{head}import kernels\nprint(kernels.get_kernel('a'))\n",
    }
    part = judge_files(tmp_path, files)
    assert sum(f.rule.startswith("api/kernels") for f in part.findings) == count


@pytest.mark.parametrize(
    ("line", "sure"),
    [
        ("torch.set_default_tensor_type(torch.cuda.HalfTensor)", "possible"),
        ("x = torch.cuda.HalfTensor(3)", "certain"),
    ],
)
def test_a_type_that_becomes_the_default_is_judged_there(
    tmp_path: Path, line: str, sure: str
) -> None:
    (typed,) = found(tmp_path, f"import torch\n{line}\n", "api/torch.cuda.HalfTensor")
    assert str(typed.confidence.value) == sure


@pytest.mark.parametrize(
    ("test", "native"),
    [
        ("not all(d.type == 'cuda' for d in devices)", "locks-in"),
        ("not any(d.type == 'cuda' for d in devices)", "locks-in"),
        ("len(torch.cuda.default_generators) == 0", "locks-in"),
        ("not all(d.index for d in devices)", "breaks"),
        ("not any(devices)", "breaks"),
    ],
)
def test_what_is_asked_of_every_device(tmp_path: Path, test: str, native: str) -> None:
    code = (
        f"import torch\ndef f(devices):\n    if {test}:\n        return None\n"
        "    return set(map(torch.cuda.get_device_capability, devices))\n"
    )
    (use,) = found(tmp_path, code, "api/torch.cuda.get_device_capability")
    assert verdict(use, "native") == native


@pytest.mark.parametrize(
    ("more", "rules"),
    [(", load_in_8bit=True", ["load_in_8bit"]), ("", ["device_map"])],
)
def test_what_raises_first_leaves_nothing_on_the_host(
    tmp_path: Path, more: str, rules: list[str]
) -> None:
    code = f"from transformers import AutoModel\nAutoModel.from_pretrained('m', device_map='auto'{more})\n"
    part = judge_files(tmp_path, {"case.py": code})
    said = [f.rule for f in part.findings if "from_pretrained" in f.rule]
    assert [rule.rpartition(":")[2] for rule in said] == rules
