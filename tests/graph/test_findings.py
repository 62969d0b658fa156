from __future__ import annotations

import json

import jsonschema
import pytest

from neuronport.data import data_folder
from neuronport.findings import Confidence, Verdict
from neuronport.graph import reports
from neuronport.graph.reports.analyze import as_json as analyzed
from neuronport.graph.reports.json_ import as_json
from tests.graph.running import MODELS, SAMPLE, TARGETS, judged, line_of

pytest.importorskip("torch")

SELECTIVE = MODELS / "selective.py"
NATIVE, XLA = (str(t) for t in TARGETS)


def test_one_finding_for_a_mask_with_both_stages() -> None:
    result = judged(str(SELECTIVE))
    line = line_of(SELECTIVE, "kept = h[mask]")
    (finding,) = [f for f in result.findings if f.location.line == line]
    assert finding.node
    native, xla = finding.by_target[NATIVE], finding.by_target[XLA]
    assert finding.rule == "boolean-mask-index"
    assert native.verdict is Verdict.RECOMPILES
    assert native.confidence is Confidence.CERTAIN
    assert native.stages["compiled"]["forward"] is Verdict.BREAKS
    assert xla.verdict is Verdict.BREAKS
    assert xla.stages["eager"]["forward"] is Verdict.FALLS_BACK
    assert "aten::index" in finding.message
    assert finding.context.scope == "Selective.forward"
    assert any("dynamo_spec" in e.source for e in native.evidence)


def test_a_condition_on_a_value_is_one_finding() -> None:
    result = judged(str(SELECTIVE))
    line = line_of(SELECTIVE, "if scores.sum() > 0")
    (finding,) = [
        f for f in result.findings if f.location.line == line and f.area in ("control", "shapes")
    ]
    assert finding.by_target[XLA].stages["compiled"]["forward"] is Verdict.DIVERGES
    assert finding.by_target[NATIVE].verdict is Verdict.SYNCS


def test_findings_of_the_audit_are_there_once() -> None:
    result = judged(str(SELECTIVE))
    line = line_of(SELECTIVE, "x = x.cuda()")
    assert [f.rule for f in result.findings if f.location.line == line] == ["api/torch.Tensor.cuda"]
    without = judged(str(SELECTIVE), with_audit=False)
    assert not [f for f in without.findings if f.location.line == line]
    assert len({f.fingerprint for f in result.findings}) == len(result.findings)


def test_sort_falls_back_and_names_its_replacement() -> None:
    result = judged(str(SELECTIVE))
    line = line_of(SELECTIVE, "torch.sort(")
    (finding,) = [f for f in result.findings if f.location.line == line]
    assert finding.by_target[NATIVE].verdict is Verdict.FALLS_BACK
    assert finding.by_target[NATIVE].replacement
    (native, xla) = result.partitions
    assert native.host_nodes == {"aten::sort.stable": 1}
    assert (native.host_regions, native.device_regions) == (1, 2)
    assert native.crossings == 2
    (best,) = native.replacements
    assert best.crossings_removed == 2
    assert best.workaround
    assert xla.crossings > native.crossings


def test_backward_of_layer_norm_falls_back_on_xla_only() -> None:
    result = judged(str(SAMPLE), modes=("training",))
    line = line_of(SAMPLE, "x = self.ln_f(x)")
    (finding,) = [f for f in result.findings if f.location.line == line]
    assert finding.by_target[XLA].verdict is Verdict.FALLS_BACK
    assert finding.by_target[XLA].stages["eager"] == {"backward": Verdict.FALLS_BACK}
    native = finding.by_target.get(NATIVE)
    assert native is None or native.verdict.is_reference


def test_sample_runs_on_the_device() -> None:
    result = judged(str(SAMPLE))
    nodes = len(result.record.graphs[0].nodes)
    assert result.counts(TARGETS[0]) == {"portable": nodes - 2, "slow": 2}
    assert result.counts(TARGETS[1]) == {"portable": nodes}
    line = line_of(SAMPLE, "y = F.scaled_dot_product_attention(")
    assert [f.rule for f in result.findings if f.location.line == line] == ["operator-support"]
    assert result.partitions[0].host_regions == 0
    assert result.partitions[0].crossings == 0


@pytest.mark.parametrize("model", [SELECTIVE, SAMPLE, MODELS / "bad_block.py"])
def test_json_is_as_its_schema_says(model: object) -> None:
    schema = json.loads((data_folder("schemas") / "graph.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    data = json.loads(json.dumps(as_json(judged(str(model)))))
    jsonschema.Draft202012Validator(schema).validate(data)
    for graph in data["graphs"]:
        for node in graph["nodes"]:
            for stages in node["by_target"].values():
                for answer in stages.values():
                    assert all(n < len(data["evidence"]) for n in answer["evidence"])


def test_analyze_has_the_shape_that_scripts_read() -> None:
    data = analyzed(judged(str(SELECTIVE)))
    assert data["support_percentage"].endswith("%")
    total = sum(data["supported_operators"].values()) + len(data["unsupported_operators"])
    share = 100 * sum(data["supported_operators"].values()) / total
    assert data["support_percentage"] == f"{share:.2f}%"
    (sort,) = data["unsupported_operators"]
    assert sort["kind"] == "aten::sort"
    line = line_of(SELECTIVE, "torch.sort(")
    assert f"selective.py({line}): forward" in sort["call"]


def test_every_form_renders() -> None:
    result = judged(str(SAMPLE))
    texts = {name: reports.named(name)(result) for name in reports.forms()}
    assert set(texts) == {"analyze", "dot", "json", "svg", "text"}
    assert texts["dot"].startswith("digraph modules {")
    assert "blocks" in texts["dot"]
    assert "× 2" in texts["dot"]
    import xml.etree.ElementTree as ET

    assert ET.fromstring(texts["svg"]).tag.endswith("svg")
    assert "no prediction" in texts["text"]
