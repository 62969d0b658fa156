"""Switches of the project say nothing of the host, and only some of them are seldom on."""

from neuronport.findings import Confidence, Verdict
from tests.rules.judging import judge_files


def test_a_switch_that_is_off_keeps_nothing_away_from_neuron(tmp_path):
    """`compile = False` may be overridden; that there is no CUDA may not."""
    part = judge_files(
        tmp_path,
        {
            "main.py": "import torch\ncompile = False\nhas_cuda = torch.cuda.is_available()\n"
            "def f(model):\n    if compile:\n        torch.cuda.synchronize()\n"
            "    if has_cuda:\n        torch.cuda.synchronize()\n"
        },
    )
    verdicts = {
        f.location.line: f.verdict for f in part.findings if f.rule == "api/torch.cuda.synchronize"
    }
    assert verdicts == {6: Verdict.BREAKS, 8: Verdict.LOCKS_IN}


def test_what_runs_without_the_switch_runs_in_every_step(tmp_path):
    part = judge_files(
        tmp_path,
        {
            "main.py": "import torch\ndef train(model, loader, optimizer, profile):\n"
            "    for x, y in loader:\n"
            "        loss = torch.nn.functional.mse_loss(model(x), y)\n"
            "        loss.backward()\n        optimizer.step()\n"
            "        if profile:\n            print(loss.item())\n"
            "        else:\n            total = loss.item()\n"
            "        if not profile:\n            total = loss.item()\n"
        },
    )
    reads = {f.location.line: f for f in part.findings if f.rule == "host-read"}
    assert set(reads) >= {8, 10, 12}
    assert reads[8].confidence is Confidence.POSSIBLE
    assert not reads[8].context.hot
    for line in (10, 12):
        assert reads[line].confidence is not Confidence.POSSIBLE
        assert reads[line].context.hot
        assert "not in every step" not in reads[line].message


ATTENTION = """\
import torch
from transformers import AutoModelForCausalLM
try:
    import flash_attn
    HAS_FLASH = True
except ImportError:
    HAS_FLASH = False

def pick():
    if not HAS_FLASH:
        return "sdpa"
    return "flash_attention_2" if torch.cuda.get_device_capability()[0] >= 8 else "sdpa"

def load(name):
    return AutoModelForCausalLM.from_pretrained(name, attn_implementation=pick())
"""


def attention(tmp_path, code: str) -> list[str]:
    part = judge_files(tmp_path, {"case.py": code})
    return [f.rule for f in part.findings if f.rule.endswith("from_pretrained:attention")]


def test_what_a_function_never_returns_there_is_not_what_is_set(tmp_path):
    assert attention(tmp_path, ATTENTION) == []


def test_what_it_may_return_there_is(tmp_path):
    without = ATTENTION.replace("not HAS_FLASH", "name is None")
    assert attention(tmp_path, without) != []
    swapped = ATTENTION.replace(
        'return "sdpa"\n    return', 'return "flash_attention_2"\n    return'
    )
    assert attention(tmp_path, swapped) != []
    looked_for = ATTENTION.replace("flash_attn\n", "json\n")
    assert attention(tmp_path, looked_for) != []
