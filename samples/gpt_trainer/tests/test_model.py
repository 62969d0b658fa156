import pathlib
import sys

import pytest
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from model import GPT, GPTConfig

CFG = GPTConfig(vocab_size=11, block_size=8, n_layer=2, n_head=2, n_embd=16)


def test_later_tokens_do_not_change_earlier_logits():
    torch.manual_seed(0)
    model = GPT(CFG).eval()
    a = torch.randint(0, 11, (1, 8))
    b = a.clone()
    b[0, -1] = (b[0, -1] + 1) % 11
    la, _ = model(a, a)
    lb, _ = model(b, b)
    torch.testing.assert_close(la[:, :-1], lb[:, :-1])
    assert not torch.equal(la[:, -1], lb[:, -1])


def test_generate_appends_tokens():
    torch.manual_seed(0)
    out = GPT(CFG).eval().generate(torch.zeros(2, 1, dtype=torch.long), 12, top_k=3)
    assert out.shape == (2, 13)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_half_precision_agrees_with_single():
    torch.manual_seed(0)
    model = GPT(CFG).cuda().eval()
    idx = torch.randint(0, 11, (2, 8), device="cuda")
    want, _ = model(idx, idx)
    with torch.cuda.amp.autocast(dtype=torch.bfloat16):
        got, _ = model(idx, idx)
    torch.testing.assert_close(got.float(), want, atol=5e-2, rtol=5e-2)
