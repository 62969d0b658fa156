"""How sure the rules about process groups are, beside where they fire."""

from __future__ import annotations

import pytest

from tests.rules.judging import judge_files


def found(tmp_path, code, rule):
    part = judge_files(tmp_path, {"case.py": code})
    return [
        (f.location.line, str(f.verdict), str(f.confidence))
        for f in part.findings
        if f.rule == rule
    ]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('BACKENDS = {"cuda": "nccl", "npu": "hccl"}', [(1, "locks-in", "possible")]),
        ('cfg = {"backend": "nccl"}', [(1, "breaks", "certain")]),
        (
            'import torch\nb = "nccl" if torch.cuda.is_available() else "gloo"',
            [(2, "falls-back", "likely")],
        ),
        ('b = "nccl" if fast else "gloo"', [(1, "falls-back", "likely")]),
    ],
)
def test_a_backend_by_where_it_stands(tmp_path, code, expected):
    assert found(tmp_path, code, "nccl-backend-name") == expected


DDP = "from torch.nn.parallel import DistributedDataParallel as DDP\n"


@pytest.mark.parametrize(
    ("code", "confidence"),
    [
        ("def wrap(net, rank):\n    return DDP(net, device_ids=[rank])", "likely"),
        ("def wrap(net, ids=None):\n    return DDP(net, device_ids=ids)", "possible"),
        (
            "def wrap(net, rank, cuda):\n    ids = None\n    if cuda:\n        ids = [rank]\n"
            "    return DDP(net, device_ids=ids)",
            "possible",
        ),
    ],
)
def test_device_ids_that_may_be_none(tmp_path, code, confidence):
    assert [c for _, _, c in found(tmp_path, DDP + code, "ddp-device-ids")] == [confidence]


def test_the_processes_are_followed_back_to_the_devices(tmp_path):
    code = (
        "import torch\nimport torch.multiprocessing as mp\n"
        "def main(n):\n    mp.spawn(work, nprocs=n)\n"
        "def start():\n    main(torch.cuda.device_count())\n"
    )
    assert found(tmp_path, code, "process-per-cuda-device") == [(4, "breaks", "certain")]
