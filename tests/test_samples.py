"""The sample is a program, not decoration: it trains on a CPU, the same way every time."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from neuronport.findings import Verdict

pytest.importorskip("torch")

SAMPLE = Path(__file__).parents[1] / "samples" / "gpt_trainer"
SMALL = ["--n-layer", "1", "--n-embd", "32", "--batch-size", "8", "--warmup", "2"]


def train(out: Path, *options: str) -> list[float]:
    done = subprocess.run(
        [sys.executable, "train.py", "--device", "cpu", "--out-dir", str(out), *SMALL, *options],
        cwd=SAMPLE,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return [float(loss) for loss in re.findall(r"\| loss ([\d.]+)", done.stdout)]


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


def test_every_expected_line_is_there() -> None:
    labels = SAMPLE.with_name("gpt_trainer.expected.tsv").read_text(encoding="utf-8")
    rows = [row.split("\t") for row in labels.splitlines()[1:]]
    assert len(rows) > 60
    known = {str(verdict) for verdict in Verdict}
    for path, text, any_of in rows:
        assert text in (SAMPLE / path).read_text(encoding="utf-8"), (path, text)
        assert any_of == "-" or set(any_of.split()) <= known, (path, text)
