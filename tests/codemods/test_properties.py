"""What holds for every rewrite: it parses, it is final, and nothing else changes."""

from __future__ import annotations

import ast
import difflib
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuronport.codemods.engine.plan import comments
from tests.codemods.porting import plan_for, plant

LINES = st.sampled_from(
    [
        'x = torch.zeros(3, device="cuda")',
        "x = x.cuda()  # to the GPU",
        "x = x.cuda(rank, non_blocking=True)",
        'y = "cuda" if torch.cuda.is_available() else "cpu"  # größer: ü",',
        "torch.cuda.synchronize(); torch.cuda.empty_cache()",
        "if torch.cuda.is_available():\n    torch.cuda.manual_seed_all(1)  # seeds",
        "with torch.cuda.amp.autocast(dtype=torch.bfloat16):\n    y = x  # half",
        'd = torch.device(\n    "cuda"  # first\n)',
        'd = torch.device(  # why\n    "cuda",\n)',
        'name = "ü" + "cuda"',
        'text = """torch.cuda.synchronize()\nx.cuda()"""',
        "# x = x.cuda()",
        "s = 'cuda'; t = f'cuda:{rank}'",
        'log("on cuda", "cuda")',
        "model = torch.compile(model)",
        'é = torch.ones(2, device="cuda:1")',
        "def f(device='cuda'):\n    return device",
        "class A:\n    device = 'cuda'\n    def cuda(self): ...",
        "x = x.cuda \\\n    ()",
        'return_ = [\n    x.cuda(),  # one\n    "cuda",\n]',
        "x[mask > 0] = 0  # größer",
        "x[:, x[0] > 1, :] = x[:, x[0] > 1, :]",
        "x[(\n    mask  # which\n)] = -1",
        "def g(labels, num_classes): return torch.nn.functional.one_hot(labels)  # ü",
        "y = torch.nn.functional.one_hot(\n    x.argmax(-1),  # best\n)",
        "n = len((x > 1).nonzero())  # how many",
        "if torch.where(x > 2)[0].numel() == 0:  # größer\n    y = 1",
        "def h(x):\n    i = torch.where(\n        x > 1  # why\n    )[0]\n    x[i] = 0; return len(i)",
        "def r(x, a):\n    t = torch.polar(torch.ones_like(a), a)  # ü\n"
        "    return torch.view_as_real(torch.view_as_complex(x) * t)",
        "",
    ]
)
HEADS = st.sampled_from(
    [
        "import torch\n",
        '#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n"""On cuda."""\nimport torch\n',
        '"""Doc."""\nfrom __future__ import annotations\nimport os, torch  # both\n',
        "import torch as T\nimport torch\nrank = 0\n",
        "from torch.cuda.amp import autocast\nimport torch.nn as nn, torch\n",
    ]
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(
    HEADS, st.lists(LINES, min_size=1, max_size=6), st.sampled_from(["\n", "\r\n"]), st.booleans()
)
def test_every_rewrite(head: str, lines: list[str], newline: str, bom: bool) -> None:
    code = (head + "\n".join(lines) + "\n").replace("\n", newline)
    ast.parse(code)
    data = (b"\xef\xbb\xbf" if bom else b"") + code.encode("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        plant(root, {"case.py": data})
        project, plan = plan_for(root, review=True)
        assert not plan.failed
        after = {item.path: item.after for item in plan.rewritten}.get("case.py", code)
        ast.parse(after)
        assert comments(after) == comments(code)
        assert after.count("\r\n") == after.count("\n") if newline == "\r\n" else "\r" not in after
        found = {
            line
            for f in project.part.findings
            for line in range(f.location.line, f.location.end_line + 1)
        }
        _only_these_lines_change(code, after, found)
        for item in plan.rewritten:
            text = item.after
            raw = (b"\xef\xbb\xbf" if bom and item.path == "case.py" else b"") + text.encode()
            (root / item.path).write_bytes(raw)
        _, second = plan_for(root, review=True)
        assert [item.path for item in second.rewritten] == [], "a second run changes something"


def _only_these_lines_change(before: str, after: str, found: set[int]) -> None:
    old, new = before.splitlines(), after.splitlines()
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        if tag == "equal":
            continue
        imports = all(
            not line or line.startswith(("from ", "import ", "    ", ")")) for line in new[c:d]
        )
        touched = set(range(a + 1, b + 1))
        if touched & found:
            continue
        assert imports, (old[a:b], new[c:d])
        assert all(line.startswith(("from torch", "import ")) for line in old[a:b])
