"""How sure a finding is has to fit what can be known of its place: cases found wrong by reading."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuronport.findings import Confidence, Finding
from tests.rules.judging import judge_files


def of_rule(folder: Path, code: str, rule: str, name: str = "case.py") -> list[Finding]:
    part = judge_files(folder, {name: code})
    return [f for f in part.findings if f.rule == rule]


OBJECTS = "api/torch.distributed.broadcast_object_list"


@pytest.mark.parametrize(
    ("code", "sure"),
    [
        (
            "import torch.distributed as dist\nbox = [3]\ndist.broadcast_object_list(box, src=0)\n",
            "possible",
        ),
        (
            "import torch.distributed as dist\nfor batch in loader:\n    box = [batch]\n"
            "    dist.broadcast_object_list(box, src=0)\n",
            "certain",
        ),
    ],
)
def test_objects_sent_once_cost_little(tmp_path: Path, code: str, sure: str) -> None:
    (finding,) = of_rule(tmp_path, code, OBJECTS)
    assert finding.confidence is Confidence(sure)


LOAD = "import torch\n\ndef {scope}(self, pretrained_vocab_file):\n    return torch.load(pretrained_vocab_file)\n"


@pytest.mark.parametrize(
    ("name", "scope", "sure"),
    [
        ("tokenization_xl.py", "__init__", "possible"),
        ("words.py", "load_vocab", "possible"),
        ("modeling_xl.py", "__init__", "likely"),
    ],
)
def test_what_a_tokenizer_loads_is_hardly_a_model(
    tmp_path: Path, name: str, scope: str, sure: str
) -> None:
    (finding,) = of_rule(tmp_path, LOAD.format(scope=scope), "load-without-map-location", name)
    assert finding.confidence is Confidence(sure)


PADDED = """
def inputs(processor, images, texts):
    given = processor(images=images, text=texts, padding=True, return_tensors="pt")
    {kept}
"""


@pytest.mark.parametrize(
    ("kept", "sure"),
    [
        (
            'return {k: v for k, v in given.items() if k not in ["input_ids", "attention_mask"]}',
            "possible",
        ),
        ('return {k: v for k, v in given.items() if k not in ["pixel_values"]}', "likely"),
        ("return given", "likely"),
    ],
)
def test_padding_of_ids_that_nobody_keeps(tmp_path: Path, kept: str, sure: str) -> None:
    (finding,) = of_rule(tmp_path, PADDED.replace("{kept}", kept), "padding-to-longest")
    assert finding.confidence is Confidence(sure)


MARKED = "from {module} import {name}\n\n@{name}\ndef test_it():\n    pass\n"


@pytest.mark.parametrize(
    ("module", "name", "sure", "says"),
    [
        ("transformers.testing_utils", "require_torch_gpu", "certain", "skips this"),
        (
            "transformers.testing_utils",
            "require_torch_accelerator",
            "likely",
            "TRANSFORMERS_TEST_DEVICE=neuron",
        ),
        ("mine.testing", "require_torch_accelerator", "possible", "unless Neuron is one of them"),
    ],
)
def test_a_marker_for_any_accelerator_is_the_right_one(
    tmp_path: Path, module: str, name: str, sure: str, says: str
) -> None:
    code = MARKED.format(module=module, name=name)
    own = "import unittest\n\ndef require_torch_accelerator(test):\n    return unittest.skipUnless(DEVICE, '')(test)\n"
    part = judge_files(tmp_path, {"mine/testing.py": own, "mine/__init__.py": "", "case.py": code})
    of_case = [f for f in part.findings if f.location.path == "case.py" and f.location.line > 1]
    found = [f for f in of_case if f.rule == "cuda-only-test"]
    assert [f.confidence for f in found] == [Confidence(sure)]
    assert says in found[0].message


@pytest.mark.parametrize(
    ("body", "verdict", "sure"),
    [
        (
            "    if device != 'cuda':\n        kw['map'] = {'': device}\n    return kw\n",
            "locks-in",
            "possible",
        ),
        (
            "    if device == 'cuda':\n        kw['fast'] = True\n    return kw\n",
            "locks-in",
            "possible",
        ),
        (
            "    if device != 'cpu':\n        kw['map'] = {'': device}\n    return kw\n",
            "breaks",
            "certain",
        ),
        (
            "    if device != 'cuda':\n        kw = {}\n    return torch.zeros(1, device=device)\n",
            "breaks",
            "certain",
        ),
    ],
)
def test_a_default_that_is_only_compared_places_nothing(
    tmp_path: Path, body: str, verdict: str, sure: str
) -> None:
    code = f"import torch\ndef load(kw, device='cuda'):\n{body}"
    (finding,) = of_rule(tmp_path, code, "cuda-default-device")
    assert finding.confidence is Confidence(sure)
    assert {v.verdict.value for v in finding.by_target.values()} == {verdict}


def test_a_default_that_no_call_takes_ties_only(tmp_path: Path) -> None:
    make = "import torch\ndef make(n, device='cuda'):\n    return torch.zeros(n, device=device)\n"
    for calls, verdict in (("make(3, device=d)\n", "locks-in"), ("make(3)\n", "breaks")):
        (finding,) = of_rule(tmp_path, make + calls, "cuda-default-device")
        assert {v.verdict.value for v in finding.by_target.values()} == {verdict}


def test_the_place_of_the_toolkit_is_part_of_what_ends_a_build(tmp_path: Path) -> None:
    code = (
        "import torch\nfrom torch.utils.cpp_extension import CUDA_HOME\n"
        "if torch.cuda.is_available() and CUDA_HOME is not None:\n    pass\n"
        "else:\n    raise NotImplementedError('no')\nprint(CUDA_HOME)\n"
    )
    part = judge_files(tmp_path, {"setup.py": code})
    lines = {f.location.line for f in part.findings if f.rule.endswith("CUDA_HOME")}
    assert 3 not in lines
    assert 7 in lines
    assert [f.location.line for f in part.findings if f.rule == "cuda-required"] == [3]


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("y = x[torch.relu(x) > 0]", "boolean-mask-index"),
        ("y = torch.zeros(int(torch.relu(x).sum()))", "data-dependent-size"),
    ],
)
def test_how_many_are_left_is_never_certain(tmp_path: Path, line: str, rule: str) -> None:
    code = (
        "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x):\n"
        f"        {line}\n        return y\n"
    )
    (finding,) = of_rule(tmp_path, code, rule)
    assert finding.confidence is Confidence.LIKELY


COMPILED = """
import torch
import torch.nn.functional as F
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.loss = torch.nn.MSELoss(reduction="sum")
    def forward(self, x, y):
        return self.error(x, y)
    def error(self, x, y):
        return F.mse_loss(x, y, reduction="none")
def step(net, x, y):
    def inner():
        return F.mse_loss(net(x), y)
    return inner()
def score(net, x, y):
    return F.mse_loss(net(x), y)
{compiled}
"""


@pytest.mark.parametrize(
    ("compiled", "sure"),
    [
        ("f = torch.compile(Net())", ["likely", "likely", "possible", "possible"]),
        ("net = Net()\nf = torch.compile(net)", ["likely", "likely", "possible", "possible"]),
        ("f = torch.compile(step)", ["possible", "possible", "likely", "possible"]),
        (
            "@torch.compile(backend='neuron')\ndef run(net, x, y):\n    return score(net, x, y)",
            ["possible", "possible", "possible", "likely"],
        ),
        ("f = torch.compile(torch.nn.Linear(3, 3))", ["possible"] * 4),
        ("f = Net()", []),
    ],
)
def test_a_loss_outside_of_what_is_compiled_is_hardly_one_that_fails(
    tmp_path: Path, compiled: str, sure: list[str]
) -> None:
    told = of_rule(tmp_path, COMPILED.format(compiled=compiled), "mse-loss-compiled")
    assert [f.confidence.value for f in sorted(told, key=lambda f: f.location.line)] == sure
    said = [next(iter(f.by_target.values())).replacement for f in told]
    assert not said or said[:3] == ["((a - b) ** 2).sum()", "(a - b) ** 2", "((a - b) ** 2).mean()"]


@pytest.mark.parametrize(
    ("given", "loop", "sure"),
    [
        ("x", "for e in range(self.num_experts):", ["likely"]),
        ("x, top_k_weights", "for expert in self.experts:", ["likely"]),
        ("x", "for expert in self.experts:", ["possible"]),
        ("x", "for a, b in zip(self.model.layers, self.expert_layers):", []),
        ("x", "for name in self.expert_order:", []),
    ],
)
def test_two_networks_of_which_one_is_called_an_expert_are_no_mixture(
    tmp_path: Path, given: str, loop: str, sure: list[str]
) -> None:
    code = (
        "import torch\nclass Net(torch.nn.Module):\n"
        f"    def forward(self, {given}):\n        {loop}\n            x = self.run(x)\n        return x\n"
    )
    assert [f.confidence.value for f in of_rule(tmp_path, code, "expert-loop")] == sure


@pytest.mark.parametrize(
    ("name", "given", "sure"),
    [
        ("forward", "", "likely"),
        ("forward", ", device=lengths.device", "likely"),
        ("steps", ", device=lengths.device", "likely"),
        ("steps", "", "possible"),
    ],
)
def test_what_is_made_on_the_host_off_the_hot_path_hardly_changes_a_shape(
    tmp_path: Path, name: str, given: str, sure: str
) -> None:
    code = (
        "import torch\nclass Net(torch.nn.Module):\n"
        f"    def {name}(self, lengths: torch.Tensor):\n"
        f"        return torch.arange(lengths.max().item(){given})\n"
    )
    told = of_rule(tmp_path, code, "data-dependent-size")
    assert [f.confidence.value for f in told] == [sure]


@pytest.mark.parametrize(
    ("scope", "sure"),
    [("collate_fn", "likely"), ("pad_batch", "likely"), ("join", "possible")],
)
def test_sequences_are_padded_for_every_batch_where_batches_are_made(
    tmp_path: Path, scope: str, sure: str
) -> None:
    code = (
        "from torch.nn.utils.rnn import pad_sequence\n"
        f"def {scope}(rows):\n    return pad_sequence(rows)\n"
    )
    (finding,) = of_rule(tmp_path, code, "api/torch.nn.utils.rnn.pad_sequence")
    assert finding.confidence.value == sure


@pytest.mark.parametrize(
    ("other", "sure"), [("map_location='cpu'", "possible"), ("weights_only=True", "likely")]
)
def test_a_way_beside_reads_where_there_is_no_cuda(tmp_path: Path, other: str, sure: str) -> None:
    code = (
        "import torch\ndef load(model, path):\n    if torch.cuda.is_available():\n"
        "        model.load_state_dict(torch.load(path))\n    else:\n"
        f"        model.load_state_dict(torch.load(path, {other}))\n"
    )
    finding = of_rule(tmp_path, code, "load-without-map-location")[0]
    assert finding.confidence.value == sure


@pytest.mark.parametrize(
    ("test", "sure"),
    [
        ("vae.dtype == torch.float16 and vae.config.force_upcast", "possible"),
        ("vae.dtype != torch.float16", "certain"),
        ("vae.config.force_upcast", "certain"),
    ],
)
def test_what_goes_back_to_float16_was_float16(tmp_path: Path, test: str, sure: str) -> None:
    code = (
        "import torch\ndef decode(vae: torch.nn.Module, z):\n"
        f"    upcast = {test}\n    if upcast:\n        vae.float()\n    y = vae(z)\n"
        "    if upcast:\n        vae.to(dtype=torch.float16)\n    return y\n"
    )
    (finding,) = of_rule(tmp_path, code, "float16-tensor")
    assert finding.confidence.value == sure


def test_the_largest_of_integers_is_no_sum(tmp_path: Path) -> None:
    code = (
        "import torch\nimport torch.distributed as dist\ndef f(pred, y):\n"
        "    n = (pred == y).sum()\n    dist.all_reduce(n, op=dist.ReduceOp.MAX)\n"
        "    dist.all_reduce(n)\n    dist.reduce(n, 0, dist.ReduceOp.SUM)\n"
    )
    said = [f.message for f in of_rule(tmp_path, code, "integer-arithmetic")]
    assert ["summed" in text for text in said] == [False, True, True]
    assert "(MAX)" in said[0]


@pytest.mark.parametrize(
    ("prompt", "sure"),
    [("ids", "likely"), ("ids, texts", "possible"), ("images, texts", "possible")],
)
def test_a_generate_of_several_inputs_is_somebodys_own(
    tmp_path: Path, prompt: str, sure: str
) -> None:
    code = (
        "import torch, transformers\ndef answer(model, ids, images, texts):\n"
        f"    return model.generate({prompt}, max_new_tokens=9, do_sample=False)\n"
    )
    (finding,) = of_rule(tmp_path, code, "growing-generation-cache")
    assert finding.confidence.value == sure


@pytest.mark.parametrize(
    ("name", "scope", "sure"),
    [
        ("convert_to_hf.py", "main", "possible"),
        ("tools.py", "export_checkpoint", "possible"),
        ("model.py", "convert_weights_to_fp16", "certain"),
        ("generate.py", "main", "certain"),
    ],
)
def test_float16_of_files_for_others_is_their_format(
    tmp_path: Path, name: str, scope: str, sure: str
) -> None:
    code = (
        f"import torch\nfrom transformers import AutoModel\ndef {scope}(path):\n"
        "    return AutoModel.from_pretrained(path, torch_dtype=torch.float16)\n"
    )
    (finding,) = of_rule(tmp_path, code, "float16-tensor", name)
    assert finding.confidence.value == sure


def test_float16_where_only_cuda_comes_is_no_choice_for_neuron(tmp_path: Path) -> None:
    code = (
        "import torch\nfrom transformers import AutoModel\ndef main(path):\n"
        "    if torch.cuda.is_available():\n"
        "        return AutoModel.from_pretrained(path, torch_dtype=torch.float16)\n"
        "    return AutoModel.from_pretrained(path)\n"
    )
    (finding,) = of_rule(tmp_path, code, "float16-tensor")
    assert finding.confidence.value == "possible"


READ = """\
import torch
class Net(torch.nn.Module):
    def forward(self, p: torch.Tensor, x: torch.Tensor, n: int):
        m = p > 0
        k = m.sum()
        d = (p == 4).nonzero()
        {}
"""


@pytest.mark.parametrize(
    ("read", "rule", "says"),
    [
        ("return p[m].view(p.size(0), n)", "boolean-mask-index", "a fixed shape"),
        ("return p[m].reshape(2, x.shape[1], 3)", "boolean-mask-index", "a fixed shape"),
        ("return p[m].view(-1, n)", "boolean-mask-index", "how many elements are left"),
        ("return p[m].view(k, n)", "boolean-mask-index", "how many elements are left"),
        ("return p[m].reshape(n)", "boolean-mask-index", "how many elements are left"),
    ],
)
def test_a_shape_that_is_given_at_once_tells_how_many_are_left(
    tmp_path: Path, read: str, rule: str, says: str
) -> None:
    (finding,) = of_rule(tmp_path, READ.format(read), rule)
    assert says in finding.message


@pytest.mark.parametrize(
    ("read", "sure"),
    [
        ("return d.tolist()", "possible"),
        ("return d.reshape(-1).tolist()", "possible"),
        ("return d[:, 0].cpu()", "possible"),
        ("return d[:, 0].cpu(), x[d]", "certain"),
        ("return x[d]", "certain"),
    ],
)
def test_what_is_read_through_another_shape_ends_on_the_host(
    tmp_path: Path, read: str, sure: str
) -> None:
    (finding,) = of_rule(tmp_path, READ.format(read), "data-dependent-selection")
    assert finding.by_target["native@2.33"].confidence.value == sure
