"""The three levels: what each concludes from which records, and what it does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from neuronport.portability import Holds, conclude
from neuronport.portability.checkpoints.roundtrip import Difference, Leg, RoundTrip
from neuronport.portability.contract import read as read_contract
from neuronport.records import load
from tests.portability.making import TARGET, audit_body, finding, recorded, run_record
from tests.records.making import check

CONTRACT = {
    "requires": "performance",
    "workload": "chat",
    "precision": ["bf16", "fp8"],
    "batch": 8,
    "lengths": {"input": 128, "output": 16},
    "concurrency": 4,
    "quality": {"metric": "accuracy", "at_least": 0.8},
    "latency_ms": {"p50": 20, "p99": 50},
    "throughput": {"at_least": 900, "unit": "tokens/s"},
    "cost": {"at_most": 1.0, "currency": "USD", "per": 1_000_000},
}


def verdicts(result: Any) -> tuple[str, ...]:
    check(result.as_json(), "portability")
    return tuple(str(result.levels[n].verdict) for n in ("source", "artifact", "performance"))


# ---- nothing is concluded from nothing ------------------------------------------------------------


def test_without_records_nothing_is_measured(tmp_path: Path) -> None:
    result = conclude(load(str(tmp_path / ".neuronport")))
    assert verdicts(result) == ("not measured",) * 3
    assert {s.kind: s.state for s in result.sources} == dict.fromkeys(
        ("audit", "port", "run"), "missing"
    )
    assert all(level.not_known for level in result.levels.values())
    assert not any(g.speaks_for for level in result.levels.values() for g in level.because)
    assert result.broken == ()


def test_nothing_is_concluded_from_a_stale_audit(tmp_path: Path) -> None:
    recorded(tmp_path, "audit", audit_body(finding(effort="redesign")))
    (tmp_path / "train.py").write_text("x = 2\n")
    result = conclude(load(str(tmp_path / ".neuronport")))
    assert verdicts(result)[0] == "not measured"
    says = " ".join(g.says for g in result.levels["source"].not_known)
    assert "the audit is stale (train.py has changed)" in says


# ---- source ---------------------------------------------------------------------------------------

REDESIGN = finding(effort="redesign")


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        (audit_body(), Holds.HOLDS),
        (audit_body(finding()), Holds.WITH_CHANGES),
        (audit_body(finding(), REDESIGN), Holds.FAILS),
        # Not sure enough, not in the code, not an error, not on the target.
        (audit_body(finding(confidence="possible", effort="redesign")), Holds.HOLDS),
        (audit_body(finding(role="test"), finding(role="vendored")), Holds.HOLDS),
        (audit_body(finding("slow"), finding("locks-in")), Holds.HOLDS),
        (audit_body(finding(on={"xla@2.31": "breaks"})), Holds.HOLDS),
        # Locked in the other way round.
        (audit_body(finding("locks-in", area="lock-in")), Holds.WITH_CHANGES),
        (audit_body(finding("locks-in", area="lock-in", confidence="possible")), Holds.HOLDS),
        # What was not looked at.
        (audit_body(tree={"looked_at": 0}), Holds.NOT_MEASURED),
        (audit_body(not_looked_at=[{"path": "a", "reason": "syntax-error"}]), Holds.NOT_MEASURED),
        (audit_body(not_looked_at=[{"path": "a/", "reason": "ignored"}]), Holds.HOLDS),
        (
            audit_body(finding(), not_looked_at=[{"path": "a", "reason": "syntax-error"}]),
            Holds.WITH_CHANGES,
        ),
    ],
)
def test_source(tmp_path: Path, body: dict[str, Any], verdict: Holds) -> None:
    result = conclude(recorded(tmp_path, "audit", body))
    verdicts(result)
    assert result.levels["source"].verdict is verdict
    assert result.levels["source"].by_target == {TARGET: verdict}


def test_one_place_is_one(tmp_path: Path) -> None:
    result = conclude(recorded(tmp_path, "audit", audit_body(finding())))
    said = " ".join(ground.says for ground in result.levels["source"].because)
    assert "0 references work as they are; 1 place is an error: " in said


def test_the_weakest_target_counts_and_each_is_told(tmp_path: Path) -> None:
    other = "xla@2.31"
    row = finding(effort="redesign", on={TARGET: "portable", other: "breaks"})
    body = audit_body(row)
    body["targets"] = [{"target": TARGET}, {"target": other}]
    level = conclude(recorded(tmp_path, "audit", body)).levels["source"]
    assert level.by_target == {TARGET: Holds.HOLDS, other: Holds.FAILS}
    assert level.verdict is Holds.FAILS


def test_an_audit_of_some_rules_shows_no_absence(tmp_path: Path) -> None:
    missed = [{"path": "", "reason": "not-selected", "detail": "only device", "line": None}]
    level = conclude(recorded(tmp_path, "audit", audit_body(), missed=missed)).levels["source"]
    assert level.verdict is Holds.NOT_MEASURED
    assert any("only device" in g.says for g in level.not_known)


def test_figures_of_the_source(tmp_path: Path) -> None:
    body = audit_body(
        finding(fix={"safety": "safe"}),
        finding(fix={"safety": "review"}),
        finding(),
        finding(confidence="possible"),
        finding("locks-in", context={"role": "code", "guarded_by": "cuda"}),
        finding("locks-in", area="lock-in"),
        finding(role="test"),
        references=[finding("portable"), finding("benign"), finding("portable", role="test")],
    )
    figures = conclude(recorded(tmp_path, "audit", body)).levels["source"].figures
    assert figures["by_target"][TARGET] == {
        "references_portable": 2,
        "findings": 6,
        "errors": 3,
        "errors_by_way": {"safe": 1, "review": 1, "manual": 1},
        "redesign": 0,
        "possible_errors": 1,
        "guarded": 1,
        "lock_in": {"cuda_only": 1, "neuron_only": 1},
        "apart": 1,
        "suppressed": 0,
    }


def test_divergence_is_that_of_the_churn(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import torch\nif torch.cuda.is_available():\n    a = 1\n    b = 2\nc = 3\n"
    )
    level = conclude(recorded(tmp_path, "audit", audit_body())).levels["source"]
    # cuda reaches 5 lines, neuron and cpu 3 of them: distances 2/5, 2/5 and 0.
    assert level.figures["divergence"] == {"now": round((0.4 + 0.4 + 0) / 3, 4)}
    assert level.figures["device_lines"]["now"] == {"cuda_only": 2, "neuron_only": 0}


def test_a_record_shaped_otherwise_concludes_nothing(tmp_path: Path) -> None:
    for rows in ([3], [{"verdict": 1}], [{"context": {}, "verdict": {TARGET: "odd"}}]):
        body = audit_body()
        body["findings"] = rows
        result = conclude(recorded(tmp_path, "audit", body))
        assert verdicts(result)[:2] == ("not measured",) * 2


def test_one_program_on_two_devices(tmp_path: Path) -> None:
    program = {"name": "serve.py", "revision": "abc"}
    neuron = run_record(tmp_path, "a", program=program)
    cuda = run_record(tmp_path, "b", program=program, device={"kind": "cuda"})
    other = run_record(tmp_path, "c", program={"name": "serve.py"}, device={"kind": "cuda"})
    failed = run_record(tmp_path, "d", program=program, device={"kind": "cuda"}, completed=False)
    records = load(str(tmp_path / "none"))
    ran = conclude(records, runs=[neuron, cuda]).levels["source"]
    assert ran.figures["ran_on_two_devices"] == [
        {"program": program, "devices": ["cuda", "neuron"]}
    ]
    # It says that it ran, not that nothing else of the code stands in the way.
    assert ran.verdict is Holds.NOT_MEASURED
    for runs in ([neuron], [neuron, other], [neuron, failed], [cuda, other]):
        level = conclude(records, runs=runs).levels["source"]
        assert level.figures["ran_on_two_devices"] is None


def compiled(tmp_path: Path, *graphs: dict[str, Any]) -> Any:
    body = {
        "schema": "neuronport/compile/1",
        "neuron": {"compiler_here": True, "compiled_by_neuron": True, "missing": []},
        "model": {"name": "net", "class": "Net"},
        "target": TARGET,
        "drivers": [],
        "graphs": [{"graph": "forward", "mode": "inference", "because": "", **g} for g in graphs],
        "failures": [],
    }
    return recorded(tmp_path, "compile", body)


FAILED = {"compiler": "neuron", "status": "failed", "because": "NCC_X", "problems": []}
MENDED = {**FAILED, "problems": [{"code": "NCC_X", "remedy": "smaller graphs"}]}


@pytest.mark.parametrize(
    ("graph", "alone", "beside"),
    [
        (FAILED, Holds.FAILS, Holds.FAILS),
        (MENDED, Holds.NOT_MEASURED, Holds.WITH_CHANGES),
        ({**FAILED, "status": "cut"}, Holds.NOT_MEASURED, Holds.WITH_CHANGES),
        ({**FAILED, "status": "timed-out"}, Holds.NOT_MEASURED, Holds.HOLDS),
        ({**FAILED, "status": "compiled"}, Holds.NOT_MEASURED, Holds.HOLDS),
        # Another compiler's word is not Neuron's.
        ({**FAILED, "compiler": "xla-cpu"}, Holds.NOT_MEASURED, Holds.HOLDS),
    ],
)
def test_what_neurons_compiler_said_counts(
    tmp_path: Path, graph: dict[str, Any], alone: Holds, beside: Holds
) -> None:
    result = conclude(compiled(tmp_path, graph))
    verdicts(result)
    assert result.levels["source"].verdict is alone
    records = recorded(tmp_path, "audit", audit_body())
    assert conclude(records).levels["source"].verdict is beside


def test_a_graph_that_ran_on_neuron_and_on_the_cpu(tmp_path: Path) -> None:
    ran = {"first_run": 0.1}
    on_neuron = {"compiler": "neuron", "status": "compiled", "neuron_seconds": ran}
    on_cpu = {"compiler": "xla-cpu", "status": "compiled", "xla_cpu_seconds": ran}
    level = conclude(compiled(tmp_path, on_neuron, on_cpu)).levels["source"]
    (row,) = level.figures["ran_on_two_devices"]
    assert row["devices"] == ["cpu", "neuron"]
    assert row["program"]["name"] == "net"
    for graphs in ([on_cpu, on_cpu], [on_neuron], [on_cpu, {**on_neuron, "mode": "training"}]):
        level = conclude(compiled(tmp_path, *graphs)).levels["source"]
        assert level.figures["ran_on_two_devices"] is None


# ---- artifact -------------------------------------------------------------------------------------

SAME = RoundTrip("a.pt", "same", "torch.save", tensors=1, bytes=4, legs=(Leg("read"),))


@pytest.mark.parametrize(
    ("trips", "verdict"),
    [
        ([], Holds.NOT_MEASURED),
        ([SAME], Holds.HOLDS),
        ([RoundTrip("a.pt", "refused", problem="asks for os.system")], Holds.FAILS),
        ([RoundTrip("a.pt", "unreadable", problem="empty")], Holds.NOT_MEASURED),
        ([SAME, RoundTrip("b.pt", "unreadable", problem="empty")], Holds.NOT_MEASURED),
        ([SAME, RoundTrip("b.pt", "refused")], Holds.FAILS),
        (
            [
                RoundTrip(
                    "a", "differs", legs=(Leg("read", differences=(Difference("w", "values"),)),)
                )
            ],
            Holds.FAILS,
        ),
        ([RoundTrip("a", "same", dtypes={"float64": 1}, legs=SAME.legs)], Holds.WITH_CHANGES),
        ([RoundTrip("a", "same", dtypes={"float32": 1}, legs=SAME.legs)], Holds.HOLDS),
        ([RoundTrip("a", "same", locations={"cuda:0": 1}, legs=SAME.legs)], Holds.WITH_CHANGES),
    ],
)
def test_artifact(tmp_path: Path, trips: list[RoundTrip], verdict: Holds) -> None:
    result = conclude(load(str(tmp_path / "none")), trips=trips)
    verdicts(result)
    assert result.levels["artifact"].verdict is verdict


def test_what_the_code_saves_and_loads(tmp_path: Path) -> None:
    mapping = finding(rule="load-without-map-location", area="checkpoints")
    faulty = recorded(tmp_path, "audit", audit_body(mapping))
    assert conclude(faulty).levels["artifact"].verdict is Holds.NOT_MEASURED
    assert conclude(faulty, trips=[SAME]).levels["artifact"].verdict is Holds.WITH_CHANGES
    clean = recorded(tmp_path, "audit", audit_body(finding()))
    assert conclude(clean, trips=[SAME]).levels["artifact"].verdict is Holds.HOLDS
    # The audit says that every load of the code maps: so a device in the file is no matter.
    moved = RoundTrip("a", "same", locations={"cuda:0": 1}, legs=SAME.legs)
    assert conclude(clean, trips=[moved]).levels["artifact"].verdict is Holds.HOLDS
    assert conclude(faulty, trips=[moved]).levels["artifact"].verdict is Holds.WITH_CHANGES


def test_that_no_neuron_device_was_there_is_told(tmp_path: Path) -> None:
    level = conclude(load(str(tmp_path / "none")), trips=[SAME]).levels["artifact"]
    assert any("only cpu was there" in g.says for g in level.not_known)


# ---- performance ----------------------------------------------------------------------------------


def performance(tmp_path: Path, *runs: dict[str, Any], **contract: Any) -> Any:
    given = [run_record(tmp_path, f"run{i}", **changes) for i, changes in enumerate(runs)]
    read = read_contract({**CONTRACT, **contract}, "pyproject.toml")
    result = conclude(load(str(tmp_path / "none")), contract=read, runs=given)
    verdicts(result)
    return result


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, Holds.HOLDS),
        ({"precision": "fp8"}, Holds.WITH_CHANGES),
        ({"precision": "fp32"}, Holds.NOT_MEASURED),
        ({"batch": 4}, Holds.NOT_MEASURED),
        ({"lengths": {"input": 128}}, Holds.NOT_MEASURED),
        ({"concurrency": None}, Holds.NOT_MEASURED),
        ({"workload": "other"}, Holds.NOT_MEASURED),
        ({"device": {"kind": "cuda"}}, Holds.NOT_MEASURED),
        ({"latency_ms": {"p50": 10, "p99": 51}}, Holds.FAILS),
        ({"latency_ms": {"p50": 10}}, Holds.NOT_MEASURED),
        ({"throughput": {"value": 899, "unit": "tokens/s"}}, Holds.FAILS),
        ({"throughput": {"value": 9999, "unit": "images/s"}}, Holds.NOT_MEASURED),
        ({"quality": {"metric": "accuracy", "value": 0.79}}, Holds.FAILS),
        ({"quality": {"metric": "other", "value": 0.9}}, Holds.NOT_MEASURED),
        ({"quality": None}, Holds.NOT_MEASURED),
        # 3.6 an hour for 3,600,000 tokens: 1.0 for a million, which is the limit; then above it.
        ({"cost": {"per_hour": 3.61, "currency": "USD"}}, Holds.FAILS),
        ({"cost": {"per_hour": 3.6, "currency": "EUR"}}, Holds.NOT_MEASURED),
        ({"completed": False, "error": "out of memory"}, Holds.FAILS),
        ({"latency_ms": None, "latencies_ms": [10.0] * 99 + [49.0]}, Holds.HOLDS),
        ({"latency_ms": None, "latencies_ms": [10.0] * 98 + [51.0] * 2}, Holds.FAILS),
        # 99 samples say nothing of the 99th percentile.
        ({"latency_ms": None, "latencies_ms": [10.0] * 99}, Holds.NOT_MEASURED),
    ],
)
def test_a_run_against_the_contract(
    tmp_path: Path, changes: dict[str, Any], verdict: Holds
) -> None:
    result = performance(tmp_path, changes)
    assert result.levels["performance"].verdict is verdict
    assert result.broken == (
        () if verdict in (Holds.HOLDS, Holds.WITH_CHANGES) else ("performance",)
    )


def test_the_newest_run_counts(tmp_path: Path) -> None:
    slow = {"latency_ms": {"p50": 99, "p99": 99}}
    newer = {"made": "2026-02-01T00:00:00Z"}
    assert performance(tmp_path, slow, newer).levels["performance"].verdict is Holds.HOLDS
    assert performance(tmp_path, {**slow, **newer}, {}).levels["performance"].verdict is Holds.FAILS
    assert performance(tmp_path, slow, {}).levels["performance"].verdict is Holds.FAILS


def test_without_limits_or_contract_nothing_is_measured(tmp_path: Path) -> None:
    read = read_contract({"workload": "chat"}, "x.toml")
    runs = [run_record(tmp_path, "run")]
    for contract in (None, read):
        result = conclude(load(str(tmp_path / "none")), contract=contract, runs=runs)
        assert verdicts(result)[2] == "not measured"


def test_a_run_that_is_malformed_is_named_and_the_rest_is_used(tmp_path: Path) -> None:
    good = run_record(tmp_path, "good")
    bad = run_record(tmp_path, "bad", throughput={"value": "fast", "unit": "tokens/s"})
    result = conclude(
        load(str(tmp_path / "none")), contract=read_contract(CONTRACT, "x"), runs=[bad, good]
    )
    assert verdicts(result)[2] == "holds"
    assert "throughput.value is no number" in result.problems[0]


def test_runs_in_the_folder_are_read(tmp_path: Path) -> None:
    folder = tmp_path / ".neuronport"
    folder.mkdir()
    run_record(folder, "run-a")
    result = conclude(load(str(folder)), contract=read_contract(CONTRACT, "x"))
    assert verdicts(result)[2] == "holds"
    assert json.loads((folder / "run-a.json").read_text())["schema"] == "neuronport/run/1"
