"""What switches, numbers and lists of devices are told to become, and where another finding of the line
says it."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuronport.findings import Finding
from tests.rules.judging import judge_files


def found(folder: Path, code: str, rule: str) -> list[Finding]:
    part = judge_files(folder, {"case.py": code})
    return [f for f in part.findings if f.rule == rule]


def _native(finding: Finding) -> str:
    return next(v.replacement for t, v in finding.by_target.items() if t.startswith("native"))


OPTION = "import argparse\nimport torch\np = argparse.ArgumentParser()\np.add_argument({})\nargs = p.parse_args()\n"


@pytest.mark.parametrize(
    ("option", "name", "says", "instead"),
    [
        ("'--gpu', type=int, default=0", "gpu", "numbers a CUDA device", "one torch.device"),
        ("'--gpu', action='store_true'", "gpu", "stands for CUDA", "carry a torch.device"),
        ("'--gpu', default='0,1'", "gpu", "lists CUDA devices", "no list"),
        ("'--gpu_ids', default='0'", "gpu_ids", "lists CUDA devices", "no list"),
        (
            "'--no_cuda', action='store_true'",
            "no_cuda",
            "turns CUDA off",
            "the device, chosen once",
        ),
        ("'--cuda', action='store_true'", "cuda", "stands for CUDA", "carry a torch.device"),
    ],
)
def test_what_an_option_becomes(
    tmp_path: Path, option: str, name: str, says: str, instead: str
) -> None:
    code = f"{OPTION.format(option)}if args.{name}:\n    pass\n"
    (flag,) = found(tmp_path, code, "cuda-flag")
    assert says in flag.message
    assert _native(flag).startswith(instead)


@pytest.mark.parametrize(
    ("option", "instead"),
    [
        ("'--gpu-ids', default='0,1'", "no list"),
        ("'--gpu', nargs='+'", "no list"),
        ("'--num-gpus', type=int", "none: torchrun"),
        ("'--cudnn-benchmark', action='store_true'", "keep it for CUDA"),
        ("'--gpu', type=int", "--device"),
    ],
)
def test_what_a_declared_option_becomes(tmp_path: Path, option: str, instead: str) -> None:
    (declared,) = found(tmp_path, OPTION.format(option), "cuda-command-line-flag")
    assert _native(declared).startswith(instead)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("model.cuda(args.gpu)", True),
        ("torch.cuda.set_device(args.gpu)", True),
        ("m = torch.nn.parallel.DistributedDataParallel(model, device_ids=[args.gpu])", True),
        ("where = f'cuda:{args.gpu}'", True),
        ("m = run(model, args.gpu)", False),
        ("n = args.gpu", False),
        ("if args.gpu is None: pass", False),
    ],
)
def test_one_finding_says_it(tmp_path: Path, line: str, told: bool) -> None:
    code = f"import torch\nmodel = torch.nn.Linear(2, 2)\ndef main(args):\n    {line}\n"
    rows = judge_files(tmp_path, {"case.py": code}).findings
    assert any(f.rule == "cuda-flag" for f in rows) is not told
    assert any(f.location.line == 4 for f in rows)


def test_what_is_only_printed_is_possible(tmp_path: Path) -> None:
    for line, sure in (("print(args.gpu)", "possible"), ("use(args.gpu)", "likely")):
        (flag,) = found(tmp_path / sure, f"def main(args):\n    {line}\n", "cuda-flag")
        assert flag.confidence.value == sure


@pytest.mark.parametrize(
    ("code", "rules"),
    [
        (
            "import torch\nimport torch.multiprocessing as mp\n"
            "mp.spawn(print, nprocs=torch.cuda.device_count())\n",
            {"process-per-cuda-device"},
        ),
        (
            "import pytorch_lightning as pl\n\npl.Trainer(accelerator='gpu', gpus=1)\n",
            {"api/pytorch_lightning.Trainer:gpu"},
        ),
        (
            "import pytorch_lightning as pl\n\npl.Trainer(gpus=1)\n",
            {"api/pytorch_lightning.Trainer:gpus"},
        ),
        (
            "import lightning as L\n\nL.Fabric(accelerator='cuda', devices=1)\n",
            {"api/lightning.Fabric:gpu"},
        ),
        ("import torch\nimport alt_cuda_corr\nalt_cuda_corr.forward(1)\n", {"api/alt_cuda_corr.*"}),
        ("import torch\nimport spam_cuda\nspam_cuda.forward(1)\n", {"compiled-cuda-module"}),
    ],
)
def test_one_fact_is_one_finding(tmp_path: Path, code: str, rules: set[str]) -> None:
    rows = judge_files(tmp_path, {"case.py": code}).findings
    assert {f.rule for f in rows if f.location.line == 3} == rules


@pytest.mark.parametrize(
    ("test", "verdict", "instead"),
    [
        ("if is_xformers_available():\n    f()", "locks-in", "torch.nn.functional"),
        (
            "if not is_xformers_available():\n    raise ValueError()",
            "breaks",
            "torch.nn.functional",
        ),
        ("print(is_xformers_available())", "locks-in", "leave it where"),
    ],
)
def test_what_a_gate_for_a_library_becomes(
    tmp_path: Path, test: str, verdict: str, instead: str
) -> None:
    code = f"from diffusers.utils.import_utils import is_xformers_available\n{test}\n"
    (gate,) = found(tmp_path, code, "library-availability-gate")
    assert gate.verdict.value == verdict
    assert _native(gate).startswith(instead)
