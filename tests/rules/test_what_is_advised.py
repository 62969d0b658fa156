"""What findings advise has to fit the line: forms for which what the rule says is not the answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.judging import judge_files


def advised(folder: Path, code: str, rule: str) -> list[str]:
    part = judge_files(folder, {"case.py": code})
    return [next(iter(f.by_target.values())).replacement for f in part.findings if f.rule == rule]


@pytest.mark.parametrize(
    ("asks", "advice"),
    [
        ("device.startswith('cuda')", 'torch.device(device).type != "cpu"'),
        ("not device.startswith('cuda')", 'torch.device(device).type == "cpu"'),
        ("'cuda' in str(device)", 'torch.device(device).type != "cpu"'),
        ("device.type == 'cuda'", 'device.type != "cpu", or'),
        ("device.type != 'cuda'", 'device.type == "cpu", or'),
    ],
)
def test_the_text_of_a_device_has_no_type(tmp_path: Path, asks: str, advice: str) -> None:
    code = f"import torch\ndef f(device):\n    if {asks}:\n        pass\n"
    (said,) = advised(tmp_path, code, "cuda-device-gate")
    assert said.startswith(advice)


@pytest.mark.parametrize(
    ("slice_", "value", "advice"),
    [
        ("..., ::2", "a.sin()", "torch.stack((a, b), dim=-1).flatten(-2)"),
        (":, 0::2", "a.sin()", "torch.stack((a, b), dim=-1).flatten(-2)"),
        ("::2", "a.sin()", "torch.stack((a, b), dim=1).flatten(0, 1)"),
        (":, ::2, :", "a.sin()", "torch.stack((a, b), dim=2).flatten(1, 2)"),
        ("..., ::2", "1.0", "x.masked_fill(positions, value)"),
        ("::2, :, a > 0.5", "1.0", ""),
    ],
)
def test_halves_are_joined_in_the_dimension_that_is_strided(
    tmp_path: Path, slice_: str, value: str, advice: str
) -> None:
    code = (
        "import torch\nclass Net(torch.nn.Module):\n    def forward(self, a):\n"
        f"        out = torch.zeros_like(a)\n        out[{slice_}] = {value}\n"
        f"        out[{slice_.replace('0::', '::').replace('::2', '1::2')}] = a.cos()\n        return out\n"
    )
    said = advised(tmp_path, code, "strided-slice-assignment")
    assert bool(said) == bool(advice)
    assert not advice or said[0].startswith(advice)


def test_one_half_alone_is_spread_and_four_phases_are_shuffled(tmp_path: Path) -> None:
    code = (
        "import torch\ndef f(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor):\n"
        "    x[:, ::2] = y.sin()\n    x[..., ::3] = y.sin()\n"
        "    z[..., ::2, ::2] = y.sin()\n    z[..., ::2, 1::2] = y.cos()\n"
        "    z[..., 1::2, ::2] = y.tan()\n    z[..., 1::2, 1::2] = y.exp()\n"
    )
    said = advised(tmp_path, code, "strided-slice-assignment")
    assert ["repeat_interleave" in text for text in said] == [True] * 2 + [False] * 4
    assert ["pixel_shuffle" in text for text in said] == [False] * 2 + [True] * 4


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        ("torch.unique(x)", "where the values are whole numbers from 0 to n - 1: F.one_hot"),
        (
            "torch.unique(x, return_inverse=True)",
            "where the values are whole numbers from 0 to n - 1, they",
        ),
        ("torch.unique(x, return_inverse=True, dim=0)", "leave it out where it only saves work"),
        ("torch.unique_consecutive(x, dim=1)", "a mask of the places where a new value begins"),
        ("torch.unique(x).numel()", "how many values occur"),
    ],
)
def test_unique_is_replaced_by_what_is_asked_of_it(tmp_path: Path, call: str, advice: str) -> None:
    code = f"import torch\ndef f(x: torch.Tensor):\n    u = {call}\n    g(u)\n"
    (said,) = advised(tmp_path, code, "unique-values")
    assert said.startswith(advice)


def test_a_tensor_takes_the_dtype_of_what_it_meets(tmp_path: Path) -> None:
    code = (
        "import torch\ndef f(model: torch.nn.Module, x: torch.Tensor):\n    model.half()\n"
        "    y = x.half()\n    z = torch.zeros(3, dtype=torch.float16)\n"
    )
    whole, *parts = advised(tmp_path, code, "float16-tensor")
    assert whole.startswith("torch.bfloat16, from one place")
    assert len(parts) == 2
    assert all("x.dtype" in text for text in parts)


def test_a_scatter_that_adds_takes_another_index(tmp_path: Path) -> None:
    code = (
        "import torch\ndef f(x: torch.Tensor, i, y):\n    a = x.gather(1, i)\n"
        "    return a.scatter_add(1, i, y)\n"
    )
    read, added = advised(tmp_path, code, "int64-gather")
    assert "index_select" in read
    assert "index_add" in added


def test_a_cache_passed_back_by_hand_is_made_before_the_loop(tmp_path: Path) -> None:
    code = (
        "import torch\ndef decode(model, ids):\n    past = None\n    for _ in range(9):\n"
        "        out = model(ids, past_key_values=past)\n        past = out.past_key_values\n"
    )
    (said,) = advised(tmp_path, code, "growing-generation-cache")
    assert said.startswith("a cache of the longest length made before the loop")


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ("0", True),
        ("y.mean()", True),
        ("y[m]", True),
        ("torch.cat((y, y))", False),
        ("y[y.argmax(1)]", False),
        ("y[0]", True),
    ],
)
def test_what_is_written_by_a_mask_may_be_the_rows_that_are_marked(
    tmp_path: Path, value: str, fits: bool
) -> None:
    code = (
        "import torch\ndef f(x: torch.Tensor, y: torch.Tensor):\n"
        f"    m = x > 0\n    x[m] = {value}\n    return x\n"
    )
    (said,) = advised(tmp_path, code, "boolean-mask-assignment")
    assert ("scatter by position" in said) is not fits


def test_a_check_of_values_compares_them(tmp_path: Path) -> None:
    code = (
        "import torch\ndef _tensor_validation(x: torch.Tensor):\n    u = torch.unique(x)\n"
        "def f(x: torch.Tensor):\n    u = torch.unique(x)\n"
    )
    check, other = advised(tmp_path, code, "unique-values")
    assert check.startswith("compare directly")
    assert other.startswith("where the values are whole")


def test_one_of_two_generators_is_not_certain(tmp_path: Path) -> None:
    code = (
        "import torch\nhost = torch.Generator()\nchip = torch.Generator('cuda')\n"
        "def f(flag, d):\n    g = host if flag else chip\n"
        "    return torch.randn(3, generator=g, device=d), torch.randn(3, generator=chip)\n"
    )
    part = judge_files(tmp_path, {"case.py": code})
    sure = [
        f.confidence.value
        for f in part.findings
        if f.rule == "rng-device-generator" and f.location.line == 6
    ]
    assert sure == ["likely", "certain"]


@pytest.mark.parametrize(
    ("decorator", "rule", "advice"),
    [
        ("@autocast()", "api/torch.cuda.amp.autocast", "with torch.autocast("),
        ("@torch.autocast('cuda')", "api/torch.amp.autocast:cuda", "with torch.autocast("),
        ("@torch.no_grad()", "api/torch.cuda.amp.autocast", ""),
    ],
)
def test_a_decorator_has_no_device_to_ask(
    tmp_path: Path, decorator: str, rule: str, advice: str
) -> None:
    code = (
        "import torch\nfrom torch.cuda.amp import autocast\nclass Net(torch.nn.Module):\n"
        f"    {decorator}\n    def forward(self, x):\n        return x\n"
    )
    said = advised(tmp_path, code, rule)
    assert any(text.startswith(advice) for text in said) or not advice
    inside = (
        "import torch\ndef f(x, device):\n    with torch.cuda.amp.autocast():\n        return x\n"
    )
    (here,) = advised(tmp_path, inside, "api/torch.cuda.amp.autocast")
    assert here.startswith("torch.autocast(")
