"""Answers about operators that people ask about, with the tables that ship."""

from __future__ import annotations

import subprocess
import sys

import pytest

from neuronport.findings import Verdict
from neuronport.operators import (
    Argument,
    CallFacts,
    Status,
    UnknownOperatorError,
    bind,
    find,
    lookup,
    parameters,
    shared,
    spellings,
    stages,
    target_verdict,
)


def _call(**arguments: object) -> CallFacts:
    return CallFacts({name: Argument(value=value) for name, value in arguments.items()}, True)


@pytest.mark.parametrize(
    ("name", "operator"),
    [
        ("aten::sort", "aten::sort"),
        ("aten::sort.stable", "aten::sort.stable"),
        ("aten.sort.stable", "aten::sort.stable"),
        ("aten.addmm.default", "aten::addmm"),
        ("torch.ops.aten.sort.stable", "aten::sort.stable"),
        ("torch.sort", "aten::sort"),
        ("F.grid_sample", "aten::grid_sampler"),
        ("torch.nn.functional.grid_sample", "aten::grid_sampler"),
        ("Tensor.masked_fill_", "aten::masked_fill_"),
        ("torch.Tensor.masked_fill_", "aten::masked_fill_"),
        ("nn.Conv2d", "aten::conv2d"),
        ("torch.linalg.inv", "aten::linalg_inv"),
        ("hlo::cholesky", "hlo::cholesky"),
        ("torchvision::nms", "torchvision::nms"),
        ("torch.ops.torchvision.nms", "torchvision::nms"),
        ("torchvision.ops.nms", "torchvision::nms"),
        ("torch.cond", "higher_order::cond"),
        ("torch.ops.higher_order.cond", "higher_order::cond"),
    ],
)
def test_names(name: str, operator: str) -> None:
    assert [r.operator for r in find(shared(), name)] == [operator]


def test_a_wrong_name_gets_hints() -> None:
    with pytest.raises(UnknownOperatorError, match=r"did you mean .*sort"):
        lookup("torch.sortt", "native")


@pytest.mark.parametrize(
    ("name", "target", "stage", "call", "status"),
    [
        ("torch.add", "native", "eager", None, Status.DECOMPOSES),
        ("torch.sort", "native", "eager", None, Status.CPU_FALLBACK),
        ("torch.sort", "xla", "compiled", None, Status.UNSUPPORTED),
        ("torch.nonzero", "xla", "eager", None, Status.CPU_FALLBACK),
        ("torch.nonzero", "xla", "compiled", None, Status.UNSUPPORTED),
        ("torch.addmm", "xla", "eager", _call(beta=0.5), Status.CPU_FALLBACK),
        ("torch.addmm", "xla", "eager", _call(beta=1), Status.DEVICE),
        ("aten::min.dim", "native", "eager", None, Status.DEVICE),
        ("aten::_scaled_mm", "native", "eager", None, Status.CPU_FALLBACK),
        ("torchvision::nms", "native", "eager", None, Status.CPU_FALLBACK),
        ("flash_attn::_flash_attn_forward", "native", "eager", None, Status.UNSUPPORTED),
        ("F.grid_sample", "native", "eager", None, Status.CPU_FALLBACK),
        ("F.grid_sample", "xla", "eager", None, Status.CPU_FALLBACK),
        ("torch.linalg.inv", "xla", "compiled", None, Status.UNSUPPORTED),
        ("F.linear", "native", "eager", None, Status.DEVICE),
        ("nn.Conv2d", "xla", "eager", None, Status.DECOMPOSES),
    ],
)
def test_status(name: str, target: str, stage: str, call: CallFacts | None, status: Status) -> None:
    answer = lookup(name, target, stage=stage, call=call or CallFacts())
    assert answer.status is status
    assert answer.evidence or status is Status.UNKNOWN
    assert answer.verdict is status.verdict


def test_max_pool_with_dilation_falls_back_on_xla() -> None:
    """Measured: `max_pool2d k2` lowers, `dilation2` does not."""
    plain = lookup("aten::max_pool2d_with_indices", "xla", stage="eager", call=_call(dilation=[1]))
    dilated = lookup("aten::max_pool2d_with_indices", "xla", stage="eager", call=_call(dilation=2))
    assert plain.verdict is Verdict.PORTABLE
    assert dilated.verdict is Verdict.FALLS_BACK
    assert dilated.conditions_met == ("not every(dilation, 1)",)


def test_adaptive_pool_to_one_is_on_the_device_whatever_the_size() -> None:
    call = CallFacts({"self": Argument(), "output_size": Argument(value=[1, 1])}, True)
    answer = lookup("aten::_adaptive_avg_pool2d", "xla", stage="eager", call=call)
    assert answer.status is Status.DEVICE
    assert answer.conditions_unknown == ()


def test_interpolate_depends_on_its_mode() -> None:
    bilinear = lookup("F.interpolate", "xla", stage="eager", call=_call(mode="bilinear"))
    bicubic = lookup("F.interpolate", "xla", stage="eager", call=_call(mode="bicubic"))
    assert bilinear.verdict is Verdict.PORTABLE
    assert bicubic.verdict is Verdict.FALLS_BACK
    backward = lookup(
        "F.interpolate", "xla", stage="eager", direction="backward", call=_call(mode="bilinear")
    )
    assert backward.verdict is Verdict.FALLS_BACK


def test_exact_gelu_is_slow_and_attention_with_a_mask_is() -> None:
    """Reported by users; the tanh form and attention without a mask are not."""
    assert lookup("F.gelu", "native", call=_call(input=None)).verdict is Verdict.SLOW
    assert lookup("F.gelu", "native", call=_call(approximate="none")).verdict is Verdict.SLOW
    assert lookup("nn.GELU", "native", call=_call()).verdict is Verdict.SLOW
    assert lookup("F.gelu", "native", call=_call(approximate="tanh")).verdict is Verdict.PORTABLE
    tensor = Argument(dtype="bfloat16", shape=(1, 8, 1024, 64))
    qkv = {"query": tensor, "key": tensor, "value": tensor}
    fits = lookup("F.scaled_dot_product_attention", "native", call=CallFacts(qkv, True))
    masked = lookup(
        "F.scaled_dot_product_attention",
        "native",
        call=CallFacts({**qkv, "attn_mask": Argument(dtype="bool")}, True),
    )
    assert fits.verdict is Verdict.PORTABLE
    assert masked.verdict is Verdict.SLOW


def test_int64_products_break_on_xla() -> None:
    call = CallFacts({"self": Argument(dtype="int64"), "mat2": Argument(dtype="int64")}, True)
    answer = lookup("torch.mm", "xla", call=call)
    assert answer.verdict is Verdict.BREAKS
    assert any("EVRF035" in e.source for e in answer.evidence)


def test_a_chip_decides() -> None:
    call = CallFacts({"self": Argument(dtype="int32"), "mat2": Argument(dtype="int32")}, True)
    assert lookup("torch.mm", "xla@2.31:trn1", call=call).status is not Status.UNSUPPORTED
    assert lookup("torch.mm", "xla@2.31:trn2", call=call).status is Status.UNSUPPORTED
    assert lookup("torch.mm", "xla@2.31", call=call).status is Status.UNSUPPORTED


def test_contradictions_stay_visible() -> None:
    answer = lookup("aten::min.dim", "native", stage="eager")
    [other] = answer.contradictions
    assert other.status is Status.CPU_FALLBACK
    assert answer.confidence == "likely"


def test_an_old_fallback_is_at_most_likely_and_says_its_age() -> None:
    answer = lookup("aten::floor.out", "native", stage="eager")
    assert answer.status is Status.CPU_FALLBACK
    assert answer.confidence == "likely"
    assert "2026-02" in answer.evidence[0].source


def test_gradients_have_their_own_status() -> None:
    answers = stages("F.glu", "xla")
    assert answers["eager"]["forward"].verdict is Verdict.PORTABLE
    assert answers["eager"]["backward"].verdict is Verdict.FALLS_BACK
    assert not stages("torch.argmax", "xla")["eager"]["backward"].exists


def test_bind_tells_overloads_apart() -> None:
    tensor = Argument(dtype="float32")
    index = shared()
    assert bind(index, "aten::mm", [tensor, tensor], {}) is not None
    assert bind(index, "aten::mm.dtype", [tensor, tensor], {}) is None
    assert bind(index, "aten::mm", [tensor], {}) is None
    assert bind(index, "aten::mm", [tensor, tensor], {"bogus": tensor}) is None
    call = bind(index, "aten::addmm", [tensor] * 3, {"alpha": Argument(value=2)})
    assert call is not None
    assert lookup("aten::addmm", "xla", stage="eager", call=call).status is Status.CPU_FALLBACK


def test_spellings_are_full_names() -> None:
    names = spellings()
    assert {"torch.sort", "torch.nn.Conv2d", "torch.Tensor.sort", "torch.Tensor.scatter_add_"} <= (
        set(names)
    )
    assert all(name.startswith(("torch.", "torchvision.")) for name in names)


def test_parameters_are_those_of_the_call() -> None:
    assert parameters("F.interpolate")[:4] == ("input", "size", "scale_factor", "mode")
    assert parameters("torch.nn.Conv2d")[:3] == ("in_channels", "out_channels", "kernel_size")
    assert parameters("torch.addmm") == ("self", "mat1", "mat2", "beta", "alpha")
    assert parameters("torch.Tensor.addmm")[:2] == ("mat1", "mat2")
    assert parameters("aten::sort.stable") == ("self", "stable", "dim", "descending")
    assert parameters("no.such") == ()


def test_defaults_of_python_functions_decide() -> None:
    complete = CallFacts({"input": Argument(shape=(1, 3, 8, 8))}, complete=True)
    answer = lookup("F.interpolate", "xla", stage="eager", call=complete)
    assert answer.operator == "aten::upsample_nearest2d.vec"
    assert answer.conditions_unknown == ()


def test_workarounds_come_with_the_answer() -> None:
    assert "grid-sample-by-gather" in [w.id for w in lookup("F.grid_sample", "native").workarounds]
    assert lookup("aten::addmm", "native").workarounds == ()


def test_as_a_finding_holds_it() -> None:
    sort = target_verdict("torch.sort", "native")
    assert sort is not None
    assert sort.verdict is Verdict.FALLS_BACK
    assert sort.confidence == "likely"
    assert "torch.topk" in sort.replacement
    assert sort.stages["eager"]["forward"] is Verdict.FALLS_BACK
    glu = target_verdict("F.glu", "xla")
    assert glu is not None
    assert glu.verdict is Verdict.BREAKS, "its gradient, in a trace"
    assert glu.confidence == "possible"
    add = target_verdict("torch.add", "native")
    assert add is not None
    assert add.verdict is Verdict.PORTABLE
    assert target_verdict("hlo::add", "xla") is not None


def test_without_torch() -> None:
    code = (
        "import sys; from neuronport.operators import lookup; lookup('torch.sort', 'native');"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
