"""The samples are programs, not decoration: they train on a CPU, the same way every time."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from neuronport.findings import Verdict

pytest.importorskip("torch")

SAMPLES = Path(__file__).parents[1] / "samples"
SAMPLE = SAMPLES / "gpt_trainer"
LABELS = sorted(SAMPLES.glob("*.expected.tsv"))
SMALL = ["--n-layer", "1", "--n-embd", "32", "--batch-size", "8", "--warmup", "2"]


def run(sample: str, *command: str) -> str:
    return subprocess.run(
        [sys.executable, *command],
        cwd=SAMPLES / sample,
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    ).stdout


def train(out: Path, *options: str) -> list[float]:
    said = run(
        "gpt_trainer", "train.py", "--device", "cpu", "--out-dir", str(out), *SMALL, *options
    )
    return losses_in(said)


def losses_in(said: str) -> list[float]:
    return [float(loss) for loss in re.findall(r"\| loss ([\d.]+)", said)]


def test_loss_falls_and_is_the_same_again(tmp_path: Path) -> None:
    losses = train(tmp_path / "a", "--steps", "6", "--lr", "1e-2")
    assert len(losses) == 6
    assert losses[-1] < losses[0] - 0.1
    assert losses == train(tmp_path / "b", "--steps", "6", "--lr", "1e-2")


def test_resumes_where_it_stopped(tmp_path: Path) -> None:
    first = train(tmp_path, "--steps", "4", "--lr", "1e-2")
    resumed = train(tmp_path, "--steps", "6", "--lr", "1e-2", "--resume")
    assert len(resumed) == 2
    assert resumed[0] < first[0] - 0.1


def test_corpus_is_what_its_generator_writes(tmp_path: Path) -> None:
    generator = (SAMPLE / "data" / "make_corpus.py").read_text(encoding="utf-8")
    (tmp_path / "make_corpus.py").write_text(generator, encoding="utf-8")
    subprocess.run([sys.executable, str(tmp_path / "make_corpus.py")], check=True, timeout=60)
    written = (tmp_path / "corpus.txt").read_bytes()
    assert written == (SAMPLE / "data" / "corpus.txt").read_bytes()
    assert len(written) < 50_000


def test_classifier_learns_and_its_checkpoint_says_the_same(tmp_path: Path) -> None:
    options = ["--synthetic", "128", "--out", str(tmp_path)]
    said = run("image_classifier", "train.py", *options, "--epochs", "2", "--lr", "1e-2")
    first, last = (float(x) for x in re.findall(r"val loss ([\d.]+)", said))
    assert last < first
    best = str(tmp_path / "best.pth")
    again = run("image_classifier", "train.py", *options, "--evaluate", "--resume", best)
    assert again.strip() in said


def test_detector_learns(tmp_path: Path) -> None:
    said = run("detector", "train.py", "--steps", "25", "--out", str(tmp_path))
    losses = losses_in(said)
    assert losses[-1] < losses[0] / 2
    assert (tmp_path / "detector.pt").stat().st_size > 0


def test_boxes_by_hand() -> None:
    """The detector's own NMS, which torchvision's replaces where it is there."""
    said = run(
        "detector",
        "-c",
        "import sys; sys.modules['torchvision'] = None\n"
        "import torch; from boxes import batched_nms, decode, encode, nms\n"
        "b = torch.tensor([[0., 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30]])\n"
        "s = torch.tensor([.8, .9, .7])\n"
        "print(nms(b, s, .5).tolist(), nms(b, s, .9).tolist())\n"
        "print(batched_nms(b, s, torch.tensor([0, 1, 1]), .5).tolist())\n"
        "print(torch.allclose(decode(encode(b, b + 3), b + 3), b))",
    )
    assert said.splitlines() == ["[1, 2] [1, 0, 2]", "[1, 0, 2]", "True"]


def test_extension_trains_without_its_kernel() -> None:
    said = run("cuda_extension", "-m", "examples.train", "--device", "cpu", "--steps", "25")
    assert said.startswith("without the kernel")
    losses = losses_in(said)
    assert losses[-1] < losses[0] / 2


@pytest.mark.parametrize("file", sorted(SAMPLES.glob("**/*.py")), ids=lambda path: path.name)
def test_every_file_is_python(file: Path) -> None:
    ast.parse(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("labels", LABELS, ids=lambda path: path.name)
def test_every_expected_line_is_there(labels: Path) -> None:
    sample = labels.with_name(labels.name.removesuffix(".expected.tsv"))
    rows = [row.split("\t") for row in labels.read_text(encoding="utf-8").splitlines()[1:]]
    assert len(rows) > 40
    known = {str(verdict) for verdict in Verdict}
    for path, text, any_of in rows:
        assert text in (sample / path).read_text(encoding="utf-8"), (path, text)
        assert any_of == "-" or set(any_of.split()) <= known, (path, text)


def test_the_first_command_installs_what_the_traced_model_imports() -> None:
    """Nothing else is there in the fresh environment that it makes."""
    folder = SAMPLES / "gpt_trainer"
    pending, seen, needed = [SAMPLES / "gpt_trainer_traced.py"], set(), set()
    while pending:
        file = pending.pop()
        seen.add(file)
        # What stands in a try or a function can be done without.
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for root in {name.partition(".")[0] for name in names}:
                own = folder / f"{root}.py"
                if own.is_file():
                    pending += [own] if own not in seen else []
                elif root not in sys.stdlib_module_names:
                    needed.add(root)
    text = (SAMPLES.parent / "README.md").read_text(encoding="utf-8")
    command = next(line for line in text.splitlines() if "samples/tour.sh" in line)
    assert "'.[graph]'" in command  # which brings torch
    assert "numpy" in needed
    assert needed - {"torch"} <= set(command.split())
