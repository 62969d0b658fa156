"""What a place is given: a script without a device, whole numbers, models with buckets, a loader."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuronport.findings import Finding
from tests.rules.judging import judge_files


def of_rule(folder: Path, code: str, rule: str, name: str = "case.py") -> list[Finding]:
    part = judge_files(folder, {name: code})
    return [f for f in part.findings if f.rule == rule]


@pytest.mark.parametrize(
    ("moved", "sure"), [("", "possible"), ('model = model.to("cuda")\n', "certain")]
)
def test_a_script_that_places_nothing_hardly_waits(tmp_path: Path, moved: str, sure: str) -> None:
    code = (
        "import random\nimport torch\nimport transformers\n\n"
        f'model = transformers.GPT2LMHeadModel.from_pretrained("gpt2")\n{moved}'
        'tok = transformers.GPT2Tokenizer.from_pretrained("gpt2")\ntotals = []\n'
        'for text in ["a", "b"]:\n    ids = tok.encode(text, return_tensors="pt")\n'
        "    logits = torch.log_softmax(model(ids)[0], dim=-1)\n"
        "    totals.append(float(logits.sum()))\n"
    )
    (found,) = of_rule(tmp_path, code, "host-read")
    assert found.confidence.value == sure


@pytest.mark.parametrize("also", ["", "import case\ncase.main()\n"])
def test_the_main_function_of_a_script_that_places_nothing(tmp_path: Path, also: str) -> None:
    code = (
        "import torch\n\n\ndef main():\n    model = torch.nn.Linear(2, 2)\n"
        "    sgd = torch.optim.SGD(model.parameters())\n    for n in range(9):\n"
        "        loss = model(torch.rand(3, 2)).sum()\n        loss.backward()\n"
        "        sgd.step()\n        print(float(loss))\n\n\n"
        'if __name__ == "__main__":\n    main()\n'
    )
    part = judge_files(tmp_path, {"case.py": code, "other.py": also})
    (found,) = [f for f in part.findings if f.rule == "host-read"]
    assert (found.confidence.value == "possible") is not bool(also)


@pytest.mark.parametrize(
    ("line", "sure", "bfloat16"),
    [
        ("target = target.half()", "possible", False),
        ("batch['x'] = labels.half()", "possible", False),
        ("model = model.half()", "likely", True),
        ("images = images.half()", "likely", True),
    ],
)
def test_classes_are_no_matter_of_a_range(
    tmp_path: Path, line: str, sure: str, bfloat16: bool
) -> None:
    code = f"import torch\n\n\ndef f(model, images, target, labels, batch):\n    {line}\n"
    (found,) = of_rule(tmp_path, code, "float16-tensor")
    assert found.confidence.value == sure
    assert ("bfloat16" in found.by_target["native@2.33"].replacement) is bfloat16


@pytest.mark.parametrize(
    ("head", "sure"),
    [
        ("from optimum.neuron import NeuronModelForCausalLM", "possible"),
        ("import transformers_neuronx", "possible"),
        ("import torch_neuronx\ntorch_neuronx.trace(model, example)", "likely"),
        ("import torch", "likely"),
    ],
)
def test_who_is_given_batches_of_any_length_by_a_library_of_xla(
    tmp_path: Path, head: str, sure: str
) -> None:
    code = (
        f"import transformers\n{head}\n\n\ndef encode(tokenizer, texts):\n"
        '    return tokenizer(texts, padding="longest", return_tensors="pt")\n'
    )
    (found,) = of_rule(tmp_path, code, "padding-to-longest")
    by_path = {t.partition("@")[0]: v.confidence.value for t, v in found.by_target.items()}
    assert by_path == {"native": "likely", "xla": sure}


@pytest.mark.parametrize(
    ("name", "shuffle", "sure"),
    [
        ("train_vae.py", "not sampler", "likely"),
        ("train_vae.py", "False", None),
        ("train_vae.py", "None", None),
        ("load.py", "not sampler", None),
    ],
)
def test_a_loader_whose_order_is_computed_in_the_script_that_trains(
    tmp_path: Path, name: str, shuffle: str, sure: str | None
) -> None:
    code = (
        "from torch.utils.data import DataLoader\nds = make()\nsampler = pick()\n"
        f"dl = DataLoader(ds, 8, shuffle={shuffle}, sampler=sampler)\n"
    )
    found = of_rule(tmp_path, code, "ragged-last-batch", name)
    assert [f.confidence.value for f in found] == ([sure] if sure else [])


@pytest.mark.parametrize(("leaves", "ends"), [("continue", False), ("break", True)])
def test_a_round_left_out_is_no_end_of_a_loop(tmp_path: Path, leaves: str, ends: bool) -> None:
    code = (
        "import torch\n\n\nclass M(torch.nn.Module):\n    def forward(self, x, n):\n"
        "        y = torch.relu(x)\n        for b in range(n):\n"
        f"            if y[b].sum() == 0:\n                {leaves}\n"
        "            y[b] = y[b] * 2\n        return y\n"
    )
    (found,) = of_rule(tmp_path, code, "tensor-branch")
    assert ("fixed number of rounds" in found.by_target["native@2.33"].replacement) is ends
