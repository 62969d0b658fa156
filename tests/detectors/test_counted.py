"""What is said of sizes that the data decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuronport.findings import Confidence, Finding
from tests.rules.judging import judge_files

SHAPES = (
    "data-dependent-index",
    "data-dependent-selection",
    "unique-values",
    "boolean-mask-index",
    "boolean-mask-assignment",
)
POSSIBLE = Confidence.POSSIBLE


def judged(folder: Path, body: str) -> list[Finding]:
    code = "import torch\n\ndef f(x: torch.Tensor, y: torch.Tensor, n: int):\n"
    part = judge_files(folder, {"case.py": code + "".join(f"    {b}\n" for b in body.split("\n"))})
    return [f for f in part.findings if f.rule in SHAPES]


def of(found: list[Finding], rule: str) -> list[Finding]:
    return [f for f in found if f.rule == rule]


def test_the_call_that_makes_the_indices_is_named_as_written(tmp_path: Path) -> None:
    found = judged(tmp_path, "i = torch.nonzero(x > 0, as_tuple=True)\nreturn y[i[0], i[1]]")
    (index,) = of(found, "data-dependent-index")
    assert "torch.nonzero(x > 0, as_tuple=True)" in index.message
    assert "where" not in index.message


@pytest.mark.parametrize(
    "body",
    [
        "i = (x > 0).nonzero()\nfor j in range(n):\n    y[i[j]] = 0",
        "i = (x > 0).nonzero()\nfor j, _ in enumerate(y):\n    y[i[j]] = 0",
        "i = (x > 0).nonzero()\nreturn y[i[0]]",
        "i = torch.where(x > 0)[0]\nreturn y[i[0]]",
        # As many as the list that picks from it.
        "i = (x > 0).nonzero()\nreturn y[i[torch.randperm(n)]]",
        # As many for every x of one shape.
        "i = x.new_ones(n, n).tril(-1).nonzero()\nreturn y[i]",
    ],
)
def test_one_element_of_a_list_has_a_known_length(tmp_path: Path, body: str) -> None:
    assert not of(judged(tmp_path, body), "data-dependent-index")


@pytest.mark.parametrize(
    "body",
    [
        "i = (x > 0).nonzero()\nreturn y[i[:, 0]]",
        "i = torch.where(x > 0)[0]\nreturn y[i[:n]]",
        "i, j = torch.where(x > 0)\nreturn y[i, j]",
    ],
)
def test_a_column_of_a_list_is_as_long_as_the_data_says(tmp_path: Path, body: str) -> None:
    assert len(of(judged(tmp_path, body), "data-dependent-index")) == 1


def test_an_index_is_spoken_of_once_in_a_line_and_is_no_mask(tmp_path: Path) -> None:
    body = "valid = x.nonzero()\ny[valid] = (y[valid] * x[valid] - y[valid]) / x[valid]\nreturn y"
    found = judged(tmp_path, body)
    assert len(of(found, "data-dependent-index")) == 1
    assert not of(found, "boolean-mask-index")
    assert not of(found, "boolean-mask-assignment")


def test_unique_falls_back_and_nonzero_does_not(tmp_path: Path) -> None:
    found = judged(tmp_path, "return torch.unique(x), x.nonzero()")
    (unique,), (nonzero,) = of(found, "unique-values"), of(found, "data-dependent-selection")
    assert unique.by_target["native@2.33"].verdict.value == "falls-back"
    assert unique.by_target["native@2.33"].confidence is not Confidence.CERTAIN
    assert nonzero.by_target["native@2.33"].verdict.value == "recompiles"
    assert "one_hot" in unique.by_target["native@2.33"].replacement


def test_a_loop_over_what_occurs_goes_over_all_there_can_be(tmp_path: Path) -> None:
    (found,) = judged(tmp_path, "for i in torch.unique(x):\n    print(i)")
    assert "loop over all n values" in found.by_target["native@2.33"].replacement


@pytest.mark.parametrize(
    ("body", "instead"),
    [
        ("return (x == y).nonzero().numel()", "counts them on the device"),
        ("k = (x == y).nonzero()\nreturn k.shape[0]", "counts them on the device"),
        ("return (x == y).nonzero().item()", "argmax"),
        ("return (x == y).nonzero()", "topk with a fixed k"),
        ("k = (x == y).nonzero()\nj = 1 if len(k) > 1 else 0\nreturn k[j]", "topk with a fixed k"),
        ("k = (x == y).nonzero()\nif len(k):\n    y[k] = 0", "topk with a fixed k"),
    ],
)
def test_the_advice_is_by_what_is_asked_of_the_places(
    tmp_path: Path, body: str, instead: str
) -> None:
    (found,) = of(judged(tmp_path, body), "data-dependent-selection")
    assert instead in found.by_target["native@2.33"].replacement


def test_what_goes_to_the_host_at_once_makes_no_shapes(tmp_path: Path) -> None:
    (found,) = of(judged(tmp_path, "return x.nonzero().cpu()"), "data-dependent-selection")
    assert found.confidence is POSSIBLE


def test_filling_by_a_mask_is_not_said_to_give_wrong_numbers(tmp_path: Path) -> None:
    (filled,) = judged(tmp_path, "x[y > 0] = 0")
    assert filled.by_target["native@2.33"].verdict.value == "recompiles"
    assert "wrong numbers" not in filled.message
    found = judged(tmp_path, "m = y > 0\nx[m] = x[m].flip(-1)")
    (taken,) = of(found, "boolean-mask-assignment")
    assert "wrong numbers" in taken.message


def test_a_mask_that_shapes_decide_is_no_certain_cost(tmp_path: Path) -> None:
    (found,) = judged(tmp_path, "x[~torch.eye(n, device=x.device).bool()] = 0")
    assert found.confidence is POSSIBLE


def test_adding_by_a_mask_is_one_finding(tmp_path: Path) -> None:
    (found,) = judged(tmp_path, "x[y > 0] += 1")
    assert found.rule == "boolean-mask-assignment"


def test_on_xla_a_trace_is_spoken_of(tmp_path: Path) -> None:
    body = "i = x.nonzero()\nx[y > 0] = 0\nreturn y[i], x[y > 0], torch.unique(x)"
    found = judged(tmp_path, body)
    assert {f.rule for f in found} == set(SHAPES)
    for finding in found:
        assert finding.by_target["xla@2.31"].verdict.value == "breaks"
        assert finding.by_target["xla@2.31"].confidence is not Confidence.CERTAIN


def test_between_traces_the_lazy_device_runs_it(tmp_path: Path) -> None:
    code = (
        "import torch\n\ndef train(model, opt, loader):\n    for x in loader:\n"
        "        loss = model(x)\n        loss = loss[loss > 0].sum()\n        loss.backward()\n"
        "        opt.step()\n"
    )
    part = judge_files(tmp_path, {"case.py": code})
    (found,) = [f for f in part.findings if f.rule == "boolean-mask-index"]
    assert found.by_target["xla@2.31"].verdict.value == "falls-back"
    code = (
        "import torch\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n"
        "        y = torch.relu(x)\n        return y[y > 0].sum()\n"
    )
    part = judge_files(tmp_path, {"case.py": code})
    (found,) = [f for f in part.findings if f.rule == "boolean-mask-index"]
    assert found.by_target["xla@2.31"].verdict.value == "breaks"


def test_places_are_different_already(tmp_path: Path) -> None:
    found = judged(tmp_path, "return (x > 0).nonzero().squeeze(-1).unique()")
    (unique,) = of(found, "unique-values")
    assert "leave unique out" in unique.by_target["native@2.33"].replacement


GROWS = """
import torch

class Net(torch.nn.Module):
    def generate(self, ids, n):
        net = torch.nn.Linear(3, 3)
        for i in range(n):
{body}
        return ids
"""


@pytest.mark.parametrize(
    ("body", "grows"),
    [
        ("ids = torch.cat([ids, net(ids)[:, -1:]], dim=1)", True),
        # Made anew in every round, or cut to its length again.
        ("ids = net(ids)\nids = torch.cat([ids, ids], dim=1)", False),
        ("ids = torch.cat([ids, net(ids)[:, -1:]], dim=1)\nids = ids[:, 1:]", False),
    ],
)
def test_what_grows_is_what_the_round_before_left(tmp_path: Path, body: str, grows: bool) -> None:
    text = "".join(f"            {line}\n" for line in body.split("\n"))
    part = judge_files(tmp_path, {"case.py": GROWS.format(body=text)})
    assert bool([f for f in part.findings if f.rule == "growing-tensor"]) is grows


@pytest.mark.parametrize(
    ("joined", "likely"),
    [
        ("past_key, x", True),
        ("past_key_value[0], x", True),
        ("cache, x", False),
        ("cache[:, -1:], x", None),
        ("cache[0][:, :, -1].unsqueeze(2), x", None),
    ],
)
def test_a_window_of_a_cache_does_not_grow(
    tmp_path: Path, joined: str, likely: bool | None
) -> None:
    code = (
        "import torch\n\nclass Net(torch.nn.Module):\n"
        "    def forward(self, x, past_key, past_key_value, cache):\n"
        f"        return torch.cat([{joined}], dim=1)\n"
    )
    part = judge_files(tmp_path, {"case.py": code})
    found = [f for f in part.findings if f.rule == "growing-tensor"]
    assert [f.confidence is not POSSIBLE for f in found] == ([] if likely is None else [likely])


def test_a_sort_of_what_was_chosen_is_no_sort_of_a_vocabulary(tmp_path: Path) -> None:
    code = (
        "import torch\n\ndef next_token(logits: torch.Tensor, k: int):\n"
        "    log_probs = logits.log_softmax(-1)\n    {made}\n    return chosen_probs.sort(dim=-1)\n"
    )
    for made, expected in (
        ("chosen_probs = log_probs.gather(1, log_probs.topk(k)[1])", 0),
        ("chosen_probs, _ = torch.topk(log_probs, k)", 0),
        ("chosen_probs = log_probs.exp()", 1),
    ):
        part = judge_files(tmp_path, {"case.py": code.format(made=made)})
        assert len([f for f in part.findings if f.rule == "vocabulary-sort"]) == expected


def test_a_slice_that_ends_at_a_value_is_as_long_as_it_says(tmp_path: Path) -> None:
    code = (
        "import torch\n\ndef f(x: torch.Tensor, mask: torch.Tensor, n):\n"
        "    lengths = mask.sum(1)\n    for i in range(n):\n        {body}\n"
    )
    for body, expected in (
        ("print(x[i, : lengths[i]])", 1),
        ("print(x[: lengths.max().item()])", 1),
        ("print(x[: lengths[i]] + x[: lengths[i]])", 1),
        ("print(x[: lengths.shape[0]])", 0),
        ("print(x[: n])", 0),
        ("print(x.cpu()[: lengths.cpu()[i]])", 0),
    ):
        part = judge_files(tmp_path, {"case.py": code.format(body=body)})
        assert len([f for f in part.findings if f.rule == "data-dependent-size"]) == expected, body
