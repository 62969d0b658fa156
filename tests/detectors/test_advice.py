"""What to write instead fits what is there: the value by its name, settings that are only read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.judging import judge_files


def advice(tmp_path, code: str, rule: str) -> str:
    part = judge_files(tmp_path, {"case.py": code}, ("native",))
    (found,) = (f for f in part.findings if f.rule == rule)
    (judged,) = found.by_target.values()
    return judged.replacement


STEP = """\
import torch
class Net(torch.nn.Module):
    def forward(self, x, loss):
        mask = x > 0.5
        {read}
        return x
"""


def test_a_mask_is_no_loss(tmp_path):
    said = advice(tmp_path, STEP.format(read="m = mask.cpu()"), "host-read")
    assert said.startswith("keep mask on the device")
    assert "detach" not in said


def test_a_number_has_its_name(tmp_path):
    said = advice(tmp_path, STEP.format(read="n = mask.sum().item()"), "host-read")
    assert said == "keep mask.sum() on the device (mask.sum().detach()), read every N steps"


def test_a_loss_is_one(tmp_path):
    said = advice(tmp_path, STEP.format(read="n = loss.item()"), "host-read")
    assert said.startswith("accumulate on the device (loss.detach())")


def test_a_long_value_has_none(tmp_path):
    read = "m = x.view(-1).float().sum(dim=0).mean().clamp(0, 1).abs().cpu()"
    assert advice(tmp_path, STEP.format(read=read), "host-read").startswith("keep it on the device")


def test_a_setting_that_is_set(tmp_path):
    code = "import torch\ntorch.backends.cudnn.benchmark = True\n"
    assert advice(tmp_path, code, "api/torch.backends.cudnn.benchmark").startswith("remove")


def test_a_setting_that_is_only_read(tmp_path):
    code = "import torch\nflags = [torch.backends.cudnn.benchmark]\n"
    said = advice(tmp_path, code, "api/torch.backends.cudnn.benchmark")
    assert said.startswith("it is only read here")


def test_help_for_one_size_says_so_first(tmp_path):
    code = (
        "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n"
        "        return torch.inverse(x)\n"
    )
    part = judge_files(tmp_path, {"case.py": code}, ("native",))
    (found,) = (f for f in part.findings if f.rule == "operator-support")
    (judged,) = found.by_target.values()
    assert judged.replacement.startswith("On the host, once where its inputs do not change; ")
    assert "for size 2: Inverse of 2 x 2 matrices" in judged.replacement


STEPPED = """\
import gymnasium, torch

def run(agent: torch.nn.Module, optimizer, {holder}):
    seen = {holder}.reset()
    for _ in range(100):
        chosen = agent(torch.as_tensor(seen)).sum()
        {read}
        seen, gained = {holder}.step({told})
        chosen.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("holder", "read", "told", "for_environment"),
    [
        ("env", "a = 0", "chosen.cpu().numpy()", True),
        ("train_envs", "a = int(chosen.item())", "a + 1", True),
        ("env", "n = chosen.item()", "0", False),
        ("search", "a = chosen.item()", "a", False),
    ],
)
def test_an_environment_has_to_be_told(tmp_path, holder, read, told, for_environment):
    code = STEPPED.format(holder=holder, read=read, told=told)
    said = advice(tmp_path, code, "host-read")
    assert said.startswith("the environment is on the host") is for_environment


def test_an_environment_is_known_by_how_it_is_made(tmp_path):
    code = STEPPED.format(holder="world", read="a = 0", told="chosen.cpu()")
    assert advice(tmp_path, code, "host-read").startswith("keep chosen on the device")
    made = code.replace(
        "seen = world.reset()", "world = gymnasium.make('CartPole-v1')\n    seen = 0"
    )
    assert advice(tmp_path / "made", made, "host-read").startswith("the environment is on the host")


def test_an_environment_is_told_through_a_method(tmp_path):
    code = (
        "import torch\nclass Trainer:\n    def __init__(self, env, agent: torch.nn.Module, opt):\n"
        "        self.env, self.agent, self.opt = env, agent, opt\n"
        "    def act(self, seen):\n        return self.agent(torch.as_tensor(seen)).cpu().numpy()\n"
        "    def train(self, seen):\n        for _ in range(8):\n"
        "            seen, gained = self.env.step(self.act(seen))\n"
        "            self.agent(seen).sum().backward()\n            self.opt.step()\n"
    )
    assert advice(tmp_path, code, "host-read").startswith("the environment is on the host")


@pytest.mark.parametrize(
    ("made", "says", "never"),
    [
        ("pose = torch.eye(4, device=x.device)", "rigid transforms", "2 x 2"),
        ("pose = torch.eye(3, device=x.device)", "on the host", "size"),
        ("pose = x[:2, :2]", "2 x 2", "rigid"),
    ],
)
def test_help_for_another_size_is_not_given(
    tmp_path: Path, made: str, says: str, never: str
) -> None:
    code = (
        "import torch\nclass Box(torch.nn.Module):\n    def forward(self, x):\n"
        f"        {made}\n        return torch.inverse(pose)\n"
    )
    part = judge_files(tmp_path, {"case.py": code}, ("native",))
    (found,) = (f for f in part.findings if f.rule == "operator-support")
    (judged,) = found.by_target.values()
    assert says in judged.replacement
    assert never not in judged.replacement


def test_help_for_other_arguments_is_not_given(tmp_path: Path) -> None:
    code = (
        "import torch\nimport torch.nn.functional as F\nclass M(torch.nn.Module):\n"
        "    def forward(self, x, g):\n        a = F.grid_sample(x, g, align_corners=False)\n"
        "        return a + F.grid_sample(x, g, align_corners=True)\n"
    )
    part = judge_files(tmp_path, {"case.py": code}, ("native",))
    advice = {
        f.location.line: next(iter(f.by_target.values())).replacement
        for f in part.findings
        if f.rule == "operator-support"
    }
    assert "align_corners=False" in advice[5]
    assert "align_corners=True" in advice[6]


def test_between_traced_modules_tensors_are_on_the_host(tmp_path: Path) -> None:
    code = (
        "import torch\nimport torch.nn.functional as F\nclass Pipeline:\n"
        "    def __call__(self, x):\n        x = x.cuda()\n"
        "        return F.interpolate(x, size=(8, 8), mode='bicubic')\n"
        "class M(torch.nn.Module):\n    def forward(self, x):\n"
        "        return F.interpolate(x, size=(8, 8), mode='bicubic')\n"
    )
    part = judge_files(tmp_path, {"case.py": code}, ("xla",))
    sure = {
        f.location.line: (f.verdict.value, f.confidence.value)
        for f in part.findings
        if f.rule == "operator-support"
    }
    assert sure == {6: ("falls-back", "possible"), 9: ("breaks", "likely")}


def test_what_a_test_repeats_is_not_repeated_in_a_program(tmp_path: Path) -> None:
    loop = (
        "import torch\nfrom lib import solve\ndef test_it(model, opt):\n    for _ in range(9):\n"
        "        solve(model()).backward()\n        opt.step()\n"
    )
    lib = "import torch\ndef solve(m: torch.Tensor):\n    return torch.linalg.cholesky(m)\n"
    sure = []
    for caller in ("tests/test_lib.py", "train.py"):
        folder = tmp_path / caller.partition(".")[0].replace("/", "_")
        part = judge_files(folder, {"lib.py": lib, caller: loop}, ("native",))
        (found,) = (f for f in part.findings if f.rule == "operator-support")
        sure.append((found.confidence.value, found.context.hot))
    assert sure[0][1] is False
    assert sure[1] == ("likely", True)


@pytest.mark.parametrize(
    ("code", "says", "never"),
    [
        ("torch.cuda.FloatTensor(2, 3)", "torch.empty(size", "torch.tensor(data"),
        ("torch.cuda.FloatTensor([1.0, 2.0])", "torch.tensor(data", "torch.empty"),
        ("torch.cuda.FloatTensor(x.size())", "torch.empty(size", "torch.tensor(data"),
        ("torch.zeros(2).type(torch.cuda.FloatTensor)", "x.to(device, torch.float32)", "float64"),
    ],
)
def test_a_typed_tensor_by_what_it_is_made_of(
    tmp_path: Path, code: str, says: str, never: str
) -> None:
    program = f"import torch\ndef f(x: torch.Tensor):\n    return {code}\n"
    said = advice(tmp_path, program, "api/torch.cuda.FloatTensor")
    assert says in said
    assert never not in said


def test_tracing_a_function_is_less_sure_than_a_module(tmp_path: Path) -> None:
    code = (
        "import torch\ndef loss(x):\n    return x.sum()\n"
        "a = torch.jit.trace(torch.nn.Linear(2, 2), torch.ones(2))\n"
        "b = torch.jit.trace(loss, torch.ones(2), check_trace=False)\n"
    )
    part = judge_files(tmp_path, {"case.py": code}, ("xla",))
    sure = {f.location.line: f.confidence.value for f in part.findings if "trace" in f.rule}
    assert sure == {4: "likely", 5: "possible"}


def test_an_extension_is_called_what_its_name_says(tmp_path: Path) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/ops.py": "import torch\nfrom pkg import _C\nimport corr_cuda\nfrom other import _C as o\n",
    }
    part = judge_files(tmp_path, files, ("native",))
    told = {
        f.location.line: (f.confidence.value, "CUDA by its name" in f.message)
        for f in part.findings
        if f.rule == "compiled-cuda-module"
    }
    assert told == {2: ("likely", False), 3: ("likely", True), 4: ("likely", False)}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gpu_id", "one torch.device, chosen once, in place of the number"),
        ("use_cuda", "carry a torch.device"),
    ],
)
def test_a_number_of_a_device_is_no_switch(tmp_path, name, said):
    code = f"import torch\ndef main(args):\n    print(args.{name})\n"
    assert advice(tmp_path, code, "cuda-flag").startswith(said)


@pytest.mark.parametrize(("more", "embedded"), [("", False), (", images=images", True)])
def test_a_prompt_with_images_is_as_long_as_what_embeds_it(tmp_path, more, embedded):
    code = (
        "import transformers\ndef answer(model, ids, images):\n"
        f"    return model.generate(ids{more}, do_sample=True, max_new_tokens=9)\n"
    )
    said = advice(tmp_path, code, "growing-generation-cache")
    assert ("inputs_embeds" in said) is embedded
    assert "from transformers 4.38" in said


@pytest.mark.parametrize(
    ("index", "expanded"), [("i.unsqueeze(-1).repeat(1, 8)", True), ("i.unsqueeze(-1)", False)]
)
def test_an_index_is_expanded_in_place_of_repeated(tmp_path, index, expanded):
    code = (
        "import torch\ndef pick(x: torch.Tensor, i):\n"
        f"    index = {index}\n    return torch.gather(x, 1, index)\n"
    )
    assert (".expand()" in advice(tmp_path, code, "int64-gather")) is expanded


GOES_ON = """\
import torch
class Loss(torch.nn.Module):
    def forward(self, x, target, lengths, writer):
        y = torch.relu(x)
        {before}
        for i in range(3):
            {rounds}
        return {after}
"""


@pytest.mark.parametrize(
    ("before", "rounds", "after", "says"),
    [
        ("n = (y > 1).sum().item()", "pass", "y.sum() / n", "this very step computes with it"),
        ("n = float((y > 1).sum())", "pass", "y.sum() / max(n, 1)", "this very step computes"),
        ("m = y.max().item()", "pass", "torch.full_like(y, m)", "this very step computes with it"),
        ("top = y.max().item()", "pass", "(y, top)", "return y.max() as a tensor"),
        ("writer.add(y.max().item())", "pass", "y", "keep y.max() on the device"),
        ("pass", "writer.add(y[i, 0].item())", "y", "read all of them once before it (y.tolist())"),
        ("pass", "z = y.sum(i)\n            writer.add(z[i, 0].item())", "y", "torch.stack all"),
        ("m = y.cpu().numpy() + 1", "pass", "y", "keep y on the device and do there, with PyTorch"),
        ("print(y.cpu().numpy())", "pass", "y", "what the host needs of it, read once"),
        ("m = []", "m.append(y.cpu())", "y", "one read for each round of the loop"),
        (
            "m = y.cpu()\n        if m is not None: m = m + 1",
            "pass",
            "y",
            "keep y on the device and",
        ),
    ],
)
def test_what_becomes_of_a_number_decides_what_to_write(tmp_path, before, rounds, after, says):
    code = GOES_ON.format(before=before, rounds=rounds, after=after)
    assert says in advice(tmp_path, code, "host-read")


PACKED = """\
import torch
from torch.nn.utils.rnn import pack_padded_sequence
class Net(torch.nn.Module):
    def forward(self, x, n):
        known = n.cpu()
        return {use}
"""


@pytest.mark.parametrize(
    ("use", "sure"),
    [
        ("pack_padded_sequence(torch.relu(x), known)", "possible"),
        ("torch.relu(x)[known]", "likely"),
    ],
)
def test_lengths_that_are_packed_have_to_be_on_the_host(tmp_path, use, sure):
    part = judge_files(tmp_path, {"case.py": PACKED.format(use=use)}, ("native",))
    (found,) = (f for f in part.findings if f.rule == "host-read")
    assert found.confidence.value == sure


NAMED = """\
import torch
class Net(torch.nn.Module):
    def forward(self, x):
        for scale in torch.relu(x):
            {named}
        return x
"""


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ("x = getattr(self, f'layer_{scale}')(x)", False),
        ("x = getattr(self, 'layer_' + str(scale))(x)", False),
        ("x = self.layers[f'layer_{scale}'](x)", False),
        ("setattr(self, f'layer_{scale}', x)", False),
        ("print(f'layer_{scale}')", True),
    ],
)
def test_what_names_an_attribute_or_a_key_is_not_shown(tmp_path, named, says):
    part = judge_files(tmp_path, {"case.py": NAMED.format(named=named)}, ("native",))
    assert any(f.rule == "tensor-formatting" for f in part.findings) is says
