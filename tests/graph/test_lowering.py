"""Running a graph's calls: the machinery with this torch, the rest where torch_xla is."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from neuronport.data import data_folder
from neuronport.findings import Confidence, EvidenceKind, Verdict
from neuronport.graph.lowering import calls
from neuronport.graph.lowering.agreement import compare
from neuronport.graph.lowering.measured import Call, GraphLowering, Lowering
from neuronport.graph.reports.json_ import as_json
from neuronport.graph.reports.text import render
from neuronport.graph.result import judge
from neuronport.graph.run import Request, measured, run, statement
from neuronport.graph.verdicts import Judge
from neuronport.targets import resolve
from neuronport.xla_environment import Done, XlaPython
from tests.graph.running import MODELS, TARGETS, recorded

torch = pytest.importorskip("torch")
SELECTIVE = MODELS / "selective.py"
XLA = os.environ.get("NEURONPORT_XLA_PYTHON", "")


# -- what inputs hold -------------------------------------------------------------------------------


def test_what_inputs_hold_goes_along(tmp_path: Path) -> None:
    from neuronport.graph.lowering.program import Graph

    values = tmp_path / "values"
    record = run(Request(str(SELECTIVE), seconds=240, modes=("inference", "training")), values)
    for data in record.raw["graphs"]:
        assert not data["unvalued"]
        held = dict(Graph(data, str(values)).inputs())
        assert set(held) == {row["name"] for row in data["inputs"]}
        assert all("offset" in row for row in data["inputs"])
        assert held["mask"].tolist() == [True, False, True, True, False, True]
        weight = held["p_embed_weight"]
        assert weight.shape == (8, 8)
        assert 0 < weight.abs().max() < 1  # initialised, as no tensor without storage is
        held["mask"].zero_()  # and the file stays as it is
    again = dict(Graph(record.raw["graphs"][0], str(values)).inputs())
    assert again["mask"].any()


def test_the_calls_of_a_graph_run_on_any_torch(tmp_path: Path) -> None:
    """The CPU stands in for the device: names, references, sizes that depend on values."""
    from neuronport.graph.lowering import program

    values = tmp_path / "values"
    record = run(Request(str(SELECTIVE), seconds=240, modes=("training",)), values)
    (data,) = record.raw["graphs"]
    graph = program.Graph({**data, "outputs": data["gradients"]}, str(values))
    known: dict[str, Any] = dict(graph.inputs())
    cpu = torch.device("cpu")
    with torch.no_grad():
        for node in graph.nodes:
            args = program.resolved(node.get("args", []), known, cpu, graph)
            kwargs = {
                k: program.resolved(v, known, cpu, graph) for k, v in node.get("kwargs", {}).items()
            }
            known[node["name"]] = program.function(node["operator"])(*args, **kwargs)
            graph.learn(node, known[node["name"]])
    assert 4 in graph.symbols.values()
    gradients = [program.resolved(g, known, cpu, graph) for g in graph.data["outputs"]]
    assert {tuple(g.shape) for g in gradients} == {(8, 8), (8,), (4, 8), (4,)}


def test_what_cannot_be_had_is_named() -> None:
    from neuronport.graph.lowering import program

    with pytest.raises(program.MissingError):
        program.function("aten::no_such_operator.default")
    with pytest.raises(program.MissingError):
        program.function("nowhere::nothing")
    with pytest.raises(program.UnknownValueError, match="over graphs"):
        program.function("higher_order::cond")
    graph = program.Graph({"nodes": [], "outputs": [], "inputs": []}, "")
    with pytest.raises(program.UnknownValueError, match="x is not known"):
        program.resolved([{"ref": "x"}], {}, torch.device("cpu"), graph)
    graph.symbols["u0"] = 3
    assert program.resolved({"symbol": "2*u0 + 1"}, {}, torch.device("cpu"), graph) == 7
    with pytest.raises(program.UnknownValueError, match="u1"):
        program.resolved({"symbol": "u0*u1"}, {}, torch.device("cpu"), graph)


# -- calls that end their process -------------------------------------------------------------------

NODES = [{"name": name, "operator": f"aten::{name}", "args": [], "outputs": []} for name in "abc"]
WHOLE = {
    "cuts": [{"node": "b", "operator": "aten::b", "because": ["b"]}],
    "executed": 2,
    "compiled": 2,
    "compile_seconds": 0.25,
    "seconds": 0.5,
    "fallbacks": {"b": 1},
    "finite": True,
}


def stub(monkeypatch: pytest.MonkeyPatch, *answers: Done) -> list[dict[str, Any]]:
    asked: list[dict[str, Any]] = []
    rest = list(answers)

    def run_(python: XlaPython, worker: str, request: dict[str, Any], **limits: Any) -> Done:
        asked.append({**request, **limits})
        return rest.pop(0)

    monkeypatch.setattr(calls, "run", run_)
    return asked


def done(*rows: dict[str, Any], why: str = "", seconds: float = 1) -> Done:
    return Done(rows, why, ("last words",), seconds)


def of(name: str) -> dict[str, Any]:
    return {"node": name, "call": name.upper()}


def ended(name: str, status: str = "lowered") -> list[dict[str, Any]]:
    return [of(name), {"begin": name.upper()}, {"call": name.upper(), "status": status}]


def measured_graph() -> GraphLowering:
    request = {"graph": {"nodes": NODES, "inputs": [], "outputs": []}, "values": ""}
    return calls._graph("forward", "inference", request, XlaPython("x"), 100, 0)


def test_a_call_that_ends_its_process_costs_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = stub(
        monkeypatch,
        done(*ended("a"), of("b"), {"begin": "B"}, why="ended by SIGSEGV", seconds=30),
        done(of("a"), of("b"), *ended("c", "falls-back"), {"begin": "whole"},
             {"first": WHOLE}, {"second": {**WHOLE, "compiled": 0}}),
    )  # fmt: skip
    found = measured_graph()
    assert {name: call.status for name, call in found.nodes.items()} == {
        "a": "lowered",
        "b": "crash",
        "c": "falls-back",
    }
    assert found.nodes["b"].error == "ended by SIGSEGV"
    assert asked[1]["calls"] == {"A": "lowered", "B": "crash"}
    assert [round(a["seconds"]) for a in asked] == [100, 70]
    assert found.why == ""
    assert found.whole is not None
    assert (found.whole.compiled, found.whole.compiled_again) == (2, 0)
    assert found.whole.cuts[0].because == ("b",)


@pytest.mark.parametrize(
    ("answer", "statuses", "why"),
    [
        (done(*ended("a"), of("b"), {"begin": "B"}, why="not finished after 9 s"),
         ["lowered", "skipped"], "not finished after 9 s: last words"),
        (done(why="ended with status 1"), [], "ended with status 1: last words"),
        (done(*ended("a"), {"begin": "whole"}, why="ended by SIGSEGV"),
         ["lowered"], "all together: ended by SIGSEGV: last words"),
    ],
)  # fmt: skip
def test_what_is_missing_has_a_reason(
    answer: Done, statuses: list[str], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub(monkeypatch, answer)
    found = measured_graph()
    assert [call.status for call in found.nodes.values()] == statuses
    assert found.why == why
    assert found.whole is None


def test_one_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    stub(
        monkeypatch,
        done(of("a"), {"begin": "A"}, why="idle"),
        done(of("a"), *ended("b"), {"begin": "whole"}, why="idle"),
    )
    found = measured_graph()
    assert found.nodes["a"].status == "timeout"
    assert found.nodes["b"].status == "lowered"


# -- against the operator table ---------------------------------------------------------------------


def compared(statuses: dict[str, str]) -> Any:
    record = recorded(str(SELECTIVE))
    (graph,) = record.graphs
    target = resolve("xla")
    lowering = GraphLowering(
        "forward",
        "inference",
        {n.name: Call(statuses.get(n.name, "lowered")) for n in graph.nodes},
    )
    return compare([(lowering, Judge([target]).graph(graph))], target)


def test_agreement_is_counted_per_node() -> None:
    right = {"index": "falls-back", "item": "reads-back"}
    found = compared(right)
    assert found.disagreements == ()
    assert found.share == 1
    wrong = compared({**right, "index": "lowered", "relu": "falls-back"})
    assert {(d.node.operator, d.says, d.measured) for d in wrong.disagreements} == {
        ("aten::index.Tensor", "falls-back", "device"),
        ("aten::relu", "device", "falls-back"),
    }
    assert wrong.compared == found.compared
    assert wrong.agree == found.agree - 2


def test_what_was_not_run_is_not_compared() -> None:
    found = compared({"index": "missing", "item": "reads-back"})
    assert found.not_run == 1
    assert found.disagreements == ()


# -- with torch_xla ---------------------------------------------------------------------------------


def test_it_is_said_before() -> None:
    said = statement(Request("m.py", seconds=7, megabytes=99), "/opt/xla/python")
    assert said.endswith("runs the graph's operators with /opt/xla/python, under the same limits")


@pytest.mark.skipif(not XLA, reason="NEURONPORT_XLA_PYTHON names no interpreter")
def test_a_mask_falls_back_and_cuts_the_graph() -> None:
    request = Request(str(SELECTIVE), seconds=400, modes=("inference", "training"))
    record, lowering = measured(request, XLA)
    assert lowering is not None
    result = judge(record, TARGETS, with_audit=False, lowering=lowering)
    inference, training = lowering.graphs
    nodes = {n.name: n.operator for n in record.graphs[0].nodes}
    by_operator = {nodes[name]: call for name, call in inference.nodes.items()}
    assert inference.nodes["index"].status == "falls-back"
    assert inference.nodes["index"].fallback == ("nonzero",)
    assert inference.nodes["item"].status == "reads-back"
    assert by_operator["aten::relu"].hlo == ("broadcast:f32", "maximum:f32")
    assert "sort:f32+s32" in by_operator["aten::sort.stable"].hlo
    assert inference.whole is not None
    assert [c.operator for c in inference.whole.cuts] == ["aten::index.Tensor", "aten::item"]
    assert inference.whole.executed == 3
    assert inference.whole.compiled_again == 0
    assert training.count("falls-back") == 2
    assert result.agreement is not None
    assert result.agreement.share == 1
    text = render(result)
    assert "cut at index, aten::index.Tensor (nonzero)" in text
    assert "XLA:CPU seconds" in text
    schema = json.loads((data_folder("schemas") / "graph.json").read_text("utf-8"))
    data = json.loads(json.dumps(as_json(result)))
    jsonschema.Draft202012Validator(schema).validate(data)
    assert data["lowering"]["graphs"][0]["whole"]["seconds_are"] == "XLA:CPU"


def test_a_model_too_large_to_run_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    record = recorded(str(SELECTIVE))
    raw = {**record.raw, "graphs": [{**g, "unvalued": "too large"} for g in record.raw["graphs"]]}
    monkeypatch.setattr(XlaPython, "versions", lambda self: {"torch": "2.9", "torch_xla": "2.9"})
    lowering = calls.lower(replace(record, raw=raw), XlaPython("x"), Path("none"), 1, 0)
    assert [(g.why, dict(g.nodes)) for g in lowering.graphs] == [("too large", {})]


# -- as evidence on findings ------------------------------------------------------------------------


def with_calls(calls_: dict[str, Call], with_audit: bool = False) -> Any:
    record = recorded(str(SELECTIVE))
    (graph,) = record.graphs
    nodes = {n.name: calls_.get(n.name, Call("skipped")) for n in graph.nodes}
    lowering = Lowering(
        {"torch_xla": "2.9.0", "torch": "2.9.0"}, (GraphLowering("forward", "inference", nodes),)
    )
    return judge(record, TARGETS, with_audit=with_audit, lowering=lowering)


def of_operator(result: Any, operator: str) -> Any:
    """What is said of its only finding on the path xla."""
    (found,) = [f for f in result.findings if operator in f.message]
    return found.by_target[str(resolve("xla"))]


def test_what_was_measured_is_evidence_on_the_finding() -> None:
    fell = Call("falls-back", ("nonzero",), ("gather:f32",))
    found = of_operator(with_calls({"index": fell}), "aten::index")
    evidence = found.evidence[0]
    assert evidence.kind is EvidenceKind.MEASURED
    assert evidence.path == "xla"
    assert evidence.source == (
        "neuronport graph --xla-python: torch_xla 2.9.0, torch 2.9.0, XLA:CPU"
    )
    assert evidence.says == "this call runs on the CPU (nonzero); HLO gather:f32"
    assert found.confidence is Confidence.CERTAIN
    (native,) = [t for t in TARGETS if t.path == "native"]
    every = with_calls({"index": fell}).findings
    assert not any(
        e.kind is EvidenceKind.MEASURED and e.source.startswith("neuronport graph")
        for f in every
        if str(native) in f.by_target
        for e in f.by_target[str(native)].evidence
    )


def judged_node(result: Any, name: str, stage: str) -> Any:
    ((_, verdicts),) = result.verdicts
    (item,) = [v for v in verdicts if v.node.name == name]
    return item.by_target[str(resolve("xla"))][stage]


@pytest.mark.parametrize("stage", ["eager", "compiled"])
def test_what_contradicts_makes_less_sure(stage: str) -> None:
    plain = judged_node(with_calls({}), "index", stage)
    found = judged_node(with_calls({"index": Call("lowered", hlo=("gather:f32",))}), "index", stage)
    assert found.verdict is plain.verdict
    assert found.verdict in (Verdict.FALLS_BACK, Verdict.BREAKS)
    order = list(Confidence)
    assert order.index(found.confidence) == order.index(plain.confidence) + 1
    assert found.evidence[0].says == "this call is lowered; HLO gather:f32"
    assert found.evidence[1:] == plain.evidence


def test_a_compilers_refusal_is_no_surer_for_being_lowered() -> None:
    plain = judged_node(with_calls({}), "sort", "compiled")
    found = judged_node(
        with_calls({"sort": Call("lowered", hlo=("sort:f32",))}), "sort", "compiled"
    )
    assert plain.verdict is found.verdict is Verdict.BREAKS
    assert plain.confidence is found.confidence


def test_what_falls_back_against_the_table_is_a_finding() -> None:
    assert not [f for f in with_calls({}).findings if "aten::relu" in f.message]
    found = of_operator(with_calls({"relu": Call("falls-back", ("relu",))}), "aten::relu")
    assert found.stages["eager"]["forward"] is Verdict.FALLS_BACK
    assert found.verdict is Verdict.BREAKS  # this path compiles ahead unless told otherwise
    assert found.confidence is Confidence.POSSIBLE


def test_a_line_that_the_audit_knows_has_one_finding_with_it() -> None:
    result = with_calls({"index": Call("falls-back", ("nonzero",))}, with_audit=True)
    found = of_operator(result, "aten::index")
    assert [e for e in found.evidence if e.source.startswith("neuronport graph")]
    text = render(result)
    assert "measured on XLA:CPU: this call runs on the CPU (nonzero)" in text


def test_the_table_is_compared_as_it_is() -> None:
    result = with_calls({"relu": Call("falls-back", ("relu",))})
    assert [d.node.operator for d in result.agreement.disagreements] == ["aten::relu"]
