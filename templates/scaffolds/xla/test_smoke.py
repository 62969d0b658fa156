"""What can be known without a chip, and whether the compiled model runs where there is one."""

import importlib.util
from pathlib import Path

import pytest
import torch
from check_model import tensors
from neuron_model import BUCKETS, example, length, load, pad
from run_model import Compiled

COMPILED = Path(__file__).parent / "compiled" / "buckets.json"


@pytest.mark.parametrize("bucket", BUCKETS)
def test_the_model_takes_every_bucket(bucket):
    inputs = example(bucket)
    assert length(inputs) == bucket
    with torch.no_grad():
        outputs = tensors(load()(*inputs))
    assert outputs
    for output in outputs:
        assert not output.is_floating_point() or output.isfinite().all()


def test_padding_makes_one_shape():
    shapes = {tuple(x.shape for x in pad(example(b), max(BUCKETS))) for b in BUCKETS}
    assert len(shapes) == 1


@pytest.mark.skipif(
    importlib.util.find_spec("torch_neuronx") is None or not COMPILED.is_file(),
    reason="needs torch-neuronx and compile_model.py run before",
)
def test_the_compiled_model_runs():
    compiled = Compiled()
    for bucket in compiled.buckets:
        inputs = example(bucket)
        with torch.no_grad():
            expected = tensors(load()(*inputs))
        actual = tensors(compiled(*inputs))
        assert [a.shape for a in actual] == [e.shape for e in expected]
