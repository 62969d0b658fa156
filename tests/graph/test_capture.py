from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from neuronport.graph.capture.inputs import InputError, parse
from neuronport.graph.record import Graph, Node, RecordError
from neuronport.graph.run import Request, run
from tests.graph.running import MODELS, ROOT, SAMPLE, judged, line_of, recorded

SELECTIVE = MODELS / "selective.py"


def graph(name: str, record: object) -> Graph:
    (found,) = [g for g in record.graphs if g.name == name]  # type: ignore[attr-defined]
    return found


def nodes(graph: Graph, operator: str) -> list[Node]:
    return [n for n in graph.nodes if n.operator.partition(".")[0] == operator]


SAMPLE_LINES = [
    ("aten::arange", "pos = torch.arange(t"),
    ("aten::embedding", "x = self.drop(self.tok_emb(idx)"),
    ("aten::unbind", ".unbind(dim=2)"),
    ("aten::scaled_dot_product_attention", "y = F.scaled_dot_product_attention("),
    ("aten::contiguous", "y = y.contiguous().view(b, t, c)"),
    ("aten::gelu", 'F.gelu(self.up(x), approximate="tanh")'),
    ("aten::index", "return self.head(x[:, [-1], :]), None"),
]


@pytest.mark.parametrize(("operator", "text"), SAMPLE_LINES)
def test_every_operator_of_the_sample_has_its_line(operator: str, text: str) -> None:
    found = nodes(graph("forward", recorded(str(SAMPLE))), operator)
    if operator == "aten::contiguous" and not found:
        found = nodes(graph("forward", recorded(str(SAMPLE))), "aten::view")
        found = [n for n in found if n.user and "y.contiguous" in _text(n)]
    assert found
    for node in found:
        assert node.user is not None
        assert Path(node.user.file) == SAMPLE
        assert node.user.line == line_of(SAMPLE, text)


def _text(node: Node) -> str:
    assert node.user is not None
    return SAMPLE.read_text(encoding="utf-8").splitlines()[node.user.line - 1]


def test_no_storage_and_no_library_frame_for_own_code() -> None:
    record = recorded(str(SAMPLE))
    assert record.device == "meta"
    assert record.failures == ()
    forward = graph("forward", record)
    assert forward.how == "export"
    assert all(n.user is not None for n in forward.nodes)
    assert {n.module for n in nodes(forward, "aten::layer_norm")} == {
        "blocks.0.ln_1",
        "blocks.0.ln_2",
        "blocks.1.ln_1",
        "blocks.1.ln_2",
        "ln_f",
    }


def test_backward_operators_carry_the_line_of_their_forward() -> None:
    training = graph("training", recorded(str(SAMPLE), modes=("training",)))
    assert training.mode == "training"
    backward = [n for n in training.nodes if n.direction == "backward"]
    assert backward
    for operator, text in [
        ("aten::native_layer_norm_backward", "x = self.ln_f(x)"),
        ("aten::gelu_backward", 'F.gelu(self.up(x), approximate="tanh")'),
        ("aten::nll_loss_backward", "loss = F.cross_entropy("),
        ("aten::embedding_dense_backward", "x = self.drop(self.tok_emb(idx)"),
    ]:
        found = nodes(training, operator)
        assert found, operator
        assert all(n.direction == "backward" for n in found)
        lines = {n.user.line for n in found if n.user}
        assert line_of(SAMPLE, text) in lines, operator
    norms = nodes(training, "aten::native_layer_norm_backward")
    assert sorted(n.module for n in norms) == sorted(
        ["ln_f", *(f"blocks.{b}.ln_{n}" for b in (0, 1) for n in (1, 2))]
    )


def test_what_export_refuses_is_drafted_and_said() -> None:
    record = recorded(str(SELECTIVE))
    (only,) = record.graphs
    assert only.how == "draft-export"
    refused = [f for f in record.failures if f.step == "export"]
    assert refused
    assert refused[0].user is not None
    assert refused[0].user.line == line_of(SELECTIVE, "if scores.sum() > 0")
    assert {(r.what, r.user.line if r.user else 0) for r in record.redirects} == {
        ("Module.cuda()", line_of(SELECTIVE, "return Selective().cuda()")),
        ("cuda()", line_of(SELECTIVE, "x = x.cuda()")),
        ("zeros", line_of(SELECTIVE, 'device="cuda"')),
    }
    assert {(r.what, r.user.line if r.user else 0) for r in record.reads} == {
        ("bool", line_of(SELECTIVE, "if scores.sum() > 0"))
    }
    (index,) = [n for n in only.nodes if n.operator == "aten::index.Tensor" and "u0" in n.symbols][
        :1
    ]
    assert index.user is not None
    assert index.user.line == line_of(SELECTIVE, "kept = h[mask]")


def test_one_bad_block_does_not_hide_the_others() -> None:
    bad = MODELS / "raising_block.py"
    record = recorded(str(bad))
    assert {(g.module, g.how) for g in record.graphs} == {("first", "submodule")}
    assert {n.operator for g in record.graphs for n in g.nodes} == {"aten::linear", "aten::tanh"}
    failed = [f for f in record.failures if f.step == "run"]
    assert failed[0].user is not None
    assert failed[0].user.line == line_of(bad, "raise NotImplementedError")


# -- one run written down ---------------------------------------------------------------------------


def test_what_nothing_exports_is_run_and_what_leaves_the_graph_is_said() -> None:
    bad = MODELS / "bad_block.py"
    record = recorded(str(bad))
    (only,) = record.graphs
    assert (only.module, only.how) == ("", "run")
    assert [n.operator for n in only.nodes].count("aten::addmm") == 2
    modules = {n.module for n in only.nodes}
    assert modules >= {"first", "first.fc", "last", "last.fc"}
    assert modules <= {"first", "first.fc", "middle", "last", "last.fc"}
    left = [f for f in record.failures if f.error == "left"]
    assert [f.reason.partition(" ")[0] for f in left] == ["numpy()"]
    assert left[0].user is not None
    assert left[0].user.line == line_of(bad, "torch.from_numpy")


def test_a_run_knows_lines_values_that_decide_and_the_backward() -> None:
    file = MODELS / "routed.py"
    record = recorded(str(file), modes=("inference", "training"))
    assert [(g.mode, g.how) for g in record.graphs] == [("inference", "run"), ("training", "run")]
    inference, training = record.graphs
    line = line_of(file, "out[mask] = expert(x[mask])")
    masked = [n for n in inference.nodes if n.operator == "aten::index.Tensor"]
    assert [n.user.line for n in masked if n.user] == [line, line]
    assert [n.symbols for n in masked] == [("u0",), ("u1",)]
    read = [n for n in inference.nodes if n.operator == "aten::_local_scalar_dense"]
    assert [n.user.line for n in read if n.user] == [line_of(file, "if scores.max() > 10:")]
    kinds = {i.kind for i in inference.inputs}
    assert kinds == {"parameter", "input"}
    backward = [n for n in training.nodes if n.direction == "backward"]
    put = [n for n in backward if n.operator == "aten::index_put"]
    assert put
    assert {n.user.line for n in put if n.user} == {line}
    assert "training" not in {f.step for f in record.failures}
    assert [n for n in record.notes if "loss is" in n] == [
        "forward: the loss is the mean of the outputs: no loss is known"
    ]


def test_a_run_finds_both_sides_of_a_mask_once_each() -> None:
    result = judged(str(MODELS / "routed.py"), modes=("inference",))
    line = line_of(MODELS / "routed.py", "out[mask] = expert(x[mask])")
    rules = [f.rule for f in result.findings if f.location.line == line]
    assert sorted(rules) == ["boolean-mask-assignment", "boolean-mask-index"]
    assert all(f.node for f in result.findings if f.location.line == line)


def test_factory_inputs_of_the_command_line_and_their_shapes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    record = run(
        Request(
            "tests.graph.models.selective:Selective",
            [["randn(5, 8)", "mask=ones((5,), dtype=bool)"], ["randn(7, 8)", "ones(7,dtype=bool)"]],
            seconds=240,
        )
    )
    shapes = {
        g.name: [i.tensor.shape for i in g.inputs if i.kind == "input"] for g in record.graphs
    }
    assert shapes == {"forward": [(5, 8), (5,)], "forward-2": [(7, 8), (7,)]}


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("no.such.module:thing", "no module 'no.such.module'"),
        ("tests.graph.running:nothing", "has no 'nothing'"),
        ("not a model", "is no model"),
    ],
)
def test_what_cannot_be_named_is_said(
    model: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(RecordError) as error:
        run(Request(model, seconds=120))
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("system('x')", "is none of"),
        ("randn(__import__('os'))", "is none of"),
        ("open('/etc/passwd')", "is none of"),
        ("randn(2, dtype=float17)", "'float17' is no dtype"),
        ("x + 1", "is no literal"),
        ("randn(", "was never closed"),
        ("randn('a')", "randn"),
    ],
)
def test_inputs_are_a_language_of_their_own(text: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        parse(text)
    assert said in str(error.value)


def test_inputs_have_names_dtypes_and_structure() -> None:
    name, value = parse("mask=ones((2, 3), dtype=torch.bool)")
    assert (name, tuple(value.shape), str(value.dtype)) == ("mask", (2, 3), "torch.bool")
    name, value = parse("(randn(2), {'a': zeros(1)}, 3, None)")
    assert name == ""
    assert [type(v).__name__ for v in value] == ["Tensor", "dict", "int", "NoneType"]


def test_time_and_memory_have_limits(tmp_path: Path) -> None:
    slow = tmp_path / "slow.py"
    slow.write_text("import time\ntime.sleep(60)\n", encoding="utf-8")
    with pytest.raises(RecordError, match="not finished after 8 s"):
        run(Request(str(slow), seconds=8))
    large = tmp_path / "large.py"
    large.write_text(
        "import torch\ndef model():\n    return torch.nn.Linear(2, 2)\n"
        "data = bytearray(3 << 30)\n"
        "def inputs():\n    return torch.randn(2)\n",
        encoding="utf-8",
    )
    with pytest.raises(RecordError, match="MemoryError"):
        run(Request(str(large), seconds=120, megabytes=2500))


def test_exported_program_and_torchscript(tmp_path: Path) -> None:
    import torch

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = torch.nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.fc(x))

    x = torch.randn(2, 4)
    archive = tmp_path / "net.pt2"
    torch.export.save(torch.export.export(Net(), (x,)), archive)
    given = recorded(str(archive)).graphs[0]
    assert given.how == "given"
    assert [n.operator for n in given.nodes] == ["aten::linear", "aten::relu"]

    script = tmp_path / "net.pt"
    torch.jit.trace(Net(), (x,)).save(str(script))  # type: ignore[no-untyped-call]
    record = run(Request(str(script), [["randn(2,4)"]], seconds=240))
    assert [n.operator for g in record.graphs for n in g.nodes] == ["aten::linear", "aten::relu"]


@pytest.mark.parametrize(
    ("operator", "text"),
    [
        ("aten::exp", "y = torch.exp(x)"),
        ("aten::sum", "return y / y.sum("),
        ("aten::div", "return y / y.sum("),
        ("aten::tanh", "self.act = lambda t"),
        ("aten::roll", "return torch.roll("),
        ("aten::add", "return functools.reduce("),
        ("aten::linear", "self.step(self.fc(x))"),
    ],
)
def test_helpers_have_their_own_lines(operator: str, text: str) -> None:
    helpers = MODELS / "helpers.py"
    (node,) = nodes(graph("forward", recorded(str(helpers))), operator)
    assert node.user is not None
    assert node.user.line == line_of(helpers, text)
    assert node.library is None


def test_backward_has_the_lines_of_helpers() -> None:
    helpers = MODELS / "helpers.py"
    training = graph("forward", recorded(str(helpers), modes=("training",)))
    for operator, text in [
        ("aten::tanh_backward", "self.act = lambda t"),
        ("aten::roll", "return torch.roll("),
    ]:
        found = [n for n in nodes(training, operator) if n.direction == "backward"]
        assert len(found) == 1, operator
        assert found[0].user is not None
        assert found[0].user.line == line_of(helpers, text)
