"""Configurations of transformers, where it is installed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neuronport.graph.result import judge
from neuronport.graph.run import Request, run
from tests.graph.running import TARGETS

pytest.importorskip("torch")
pytest.importorskip("transformers", reason="configurations are transformers' own")

LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 96,
    "dtype": "bfloat16",
}


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("llama")
    (folder / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    return folder


def test_prefill_and_a_decode_step(llama: Path) -> None:
    record = run(Request(str(llama), sequence=8, cache=24, seconds=240))
    assert record.failures == ()
    assert record.device == "meta"
    prefill, decode = record.graphs
    assert (prefill.name, decode.name) == ("prefill", "decode")
    assert (prefill.how, decode.how) == ("export", "export")
    caches = [i for i in decode.inputs if i.kind == "cache"]
    assert len(caches) == 2 * 2
    assert {i.tensor.shape for i in caches} == {(1, 2, 24, 8)}
    attention = [n for n in decode.nodes if n.operator == "aten::scaled_dot_product_attention"]
    assert len(attention) == 2
    for node in attention:
        assert node.user is None
        assert node.library is not None
        line = Path(node.library.file).read_text(encoding="utf-8").splitlines()
        assert "scaled_dot_product_attention(" in line[node.library.line - 1]
    result = judge(record, TARGETS)
    assert result.graphs.growing == ("decode",)
    by_graph = {c.graph: c for c in result.costs}
    assert by_graph["decode"].cache == 2 * 2 * (2 * 24 * 8) * 2
    assert by_graph["prefill"].cache == 2 * 2 * (2 * 8 * 8) * 2
    linear = 32 * 32 * 2 + 2 * 32 * 16 + 3 * 32 * 64
    products = 2 * (2 * linear + 32 * 96)
    scores = 2 * 2 * 2 * 4 * 25 * 8
    assert by_graph["decode"].matrix_flops == products + scores


def test_training_with_keys_set_and_the_models_own_loss(llama: Path) -> None:
    record = run(
        Request(
            str(llama),
            modes=("training",),
            sequence=8,
            overrides=("num_hidden_layers=1",),
            dtype="float32",
            seconds=240,
        )
    )
    assert len([m for m in record.modules if m.cls == "LlamaDecoderLayer"]) == 1
    assert {p.tensor.dtype for p in record.parameters} == {"float32"}
    (training,) = record.graphs
    assert "training: the loss is the output's loss" in record.notes
    backward = {n.operator for n in training.nodes if n.direction == "backward"}
    assert "aten::silu_backward" in backward
    assert "aten::embedding_dense_backward" in backward
