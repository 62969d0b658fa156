"""Strings of interest are found as the rules' regular expressions would find them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuronport.readers.python.scan import searcher
from neuronport.rulebook.interest import interest
from neuronport.rulebook.load import rulebook

PATTERNS = interest(rulebook()).strings
SEARCH = searcher(PATTERNS)
PLAIN = re.compile("|".join(f"(?:{p})" for p in PATTERNS)).search
PIECES = st.sampled_from(
    ["cuda", "CUDA", "cuda:0", ":", "gpu", " ", "\n", "nvidia", "-smi", "NCCL_", "DEBUG", "x", "_",
     "cuda error", "out of memory", "torchrun --nproc_per_node", "=8", "cu118", "+", "é", "K",
     "download.pytorch.org/whl/", "A100", "auto", "--", "no", "zero_optimization", "ſ", "cpu"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=6).map("".join) | st.text(max_size=200))
def test_finds_what_the_patterns_find(text: str) -> None:
    assert SEARCH(text) == (PLAIN(text) is not None)


@pytest.mark.parametrize(
    "text",
    [
        "cuda:0",
        "run nvidia-smi first",
        "x" * 300 + " CUDA_VISIBLE_DEVICES",
        "torchrun --nproc_per_node=8 train.py",
        "RuntimeError: CUDA out of memory",
        "NVIDIA A100-SXM4-80GB",
    ],
)
def test_long_and_short(text: str) -> None:
    assert SEARCH(text)


@pytest.mark.parametrize("text", ["", "a barracuda", "x" * 5000, "the cpu time", "\ncpu"])
def test_not(text: str) -> None:
    assert not SEARCH(text)


@pytest.mark.parametrize(
    ("patterns", "text", "found"),
    [
        (["(?i:KEY)"], "a \u212aey", True),
        (["a?b"], "xb", True),
        (["(?m:^ab)"], "x\nab", True),
        (["^ab|cd"], "xcd", True),
        (["^ab|^cd"], "xcd", False),
        (["(?:ab){2,}"], "ab", False),
        ([], "anything", False),
    ],
)
def test_other_patterns(patterns: list[str], text: str, found: bool) -> None:
    assert searcher(patterns)(text) is found
