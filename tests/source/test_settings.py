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
