"""The contract's table, and runs and their comparison."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuronport.portability import runs
from neuronport.portability.contract import ContractError, read
from tests.portability.making import run_body
from tests.portability.test_levels import CONTRACT


def test_a_whole_contract() -> None:
    contract = read(CONTRACT, "pyproject.toml")
    assert contract.requires == ("performance",)
    assert contract.precision == ("bf16", "fp8")
    assert contract.limits == 5
    assert contract.conditions["lengths"] == {"input": 128.0, "output": 16.0}
    assert read({}, "x").limits == 0


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ([], "contract is to be a table"),
        ({"latency": 3}, "unknown key 'contract.latency'; known: requires"),
        ({"requires": "speed"}, "requires is to be one or several of source, artifact"),
        ({"requires": 3}, "a text or a list of texts"),
        ({"workload": 3}, "contract.workload is to be a text"),
        ({"batch": 0}, "contract.batch is to be a whole number above 0"),
        ({"batch": True}, "contract.batch is to be a whole number above 0"),
        ({"lengths": 3}, "contract.lengths is to be a table"),
        ({"lengths": {"input": "long"}}, "contract.lengths.input is to be a number"),
        ({"quality": {"metric": "a"}}, "one of at_least and at_most"),
        ({"quality": {"metric": "a", "at_least": 1, "at_most": 2}}, "one of at_least and at_most"),
        (
            {"quality": {"metric": "a", "at_least": "x"}},
            "contract.quality.at_least is to be a number",
        ),
        ({"latency_ms": {"average": 3}}, "percentiles such as p99; not 'average'"),
        ({"latency_ms": {"p101": 3}}, "percentiles"),
        ({"latency_ms": {"p99": -1}}, "not negative"),
        ({"latency_ms": {"p99": float("nan")}}, "not negative"),
        ({"throughput": {"at_least": 3}}, "unit"),
        ({"throughput": {"at_least": 3, "unit": "a/s", "x": 1}}, "at_least, unit"),
        ({"cost": {"at_most": 3, "currency": "USD"}}, "per"),
    ],
)
def test_what_is_wrong_is_named_with_its_key(table: Any, says: str) -> None:
    with pytest.raises(ContractError) as caught:
        read(table, "pyproject.toml")
    assert says in str(caught.value)
    assert str(caught.value).startswith("pyproject.toml: ")


def run(**changes: Any) -> runs.Run:
    return runs.read(run_body(**changes), changes.get("made", "run.json"))


@pytest.mark.parametrize(
    "changes",
    [
        {"device": {}},
        {"device": {"kind": 3}},
        {"batch": "8"},
        {"batch": -1},
        {"latencies_ms": [1, "x"]},
        {"latencies_ms": 3},
        {"latency_ms": {"p50": None}},
        {"latency_ms": {"mean": 3}},
        {"throughput": {"value": float("nan"), "unit": "a/s"}},
        {"throughput": {"value": 1}},
        {"quality": {"metric": "a"}},
        {"cost": {"per_hour": 1}},
        {"program": {"name": 3}},
        {"lengths": [1]},
    ],
)
def test_a_malformed_run(changes: dict[str, Any]) -> None:
    with pytest.raises(runs.RunError, match=r"^run\.json: "):
        run(**changes)


@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=300), st.sampled_from([50, 75, 90, 99, 100])
)
def test_a_percentile_is_the_smallest_sample_that_so_many_are_not_above(
    samples: list[float], share: int
) -> None:
    value, _ = run(latencies_ms=samples).latency(f"p{share}")
    if share < 100 and len(samples) * (100 - share) < 100:
        assert value is None
        return
    assert value in samples
    below = [s for s in sorted(samples) if s <= value]
    assert len(below) * 100 >= share * len(samples)
    smaller = [s for s in samples if s < value]
    assert len(smaller) * 100 < share * len(samples)


def test_the_cost_of_a_million() -> None:
    assert run().cost(1e6)[0] == pytest.approx(1.0)
    assert run(cost=None).cost(1e6) == (None, "it has no cost per hour")
    assert run(throughput=None).cost(1e6)[0] is None
    assert run(throughput={"value": 3, "unit": "tokens"}).cost(1e6)[0] is None
    assert run(throughput={"value": 0, "unit": "tokens/s"}).cost(1e6)[0] is None


def test_two_runs_of_the_same_thing() -> None:
    other = {"value": 500.0, "unit": "tokens/s"}
    found = runs.compare(run(), run(device={"kind": "cuda"}, throughput=other))
    assert found.differs == ()
    assert found.figures["throughput"]["ratio"] == 0.5
    assert found.figures["cost"]["ratio"] == 2.0
    assert found.figures["latency p99"] == {"unit": "ms", "first": 40, "second": 40, "ratio": 1.0}
    assert found.figures["quality"]["unit"] == "accuracy"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"workload": "other"}, "workload: chat and other"),
        ({"precision": "fp16"}, "precision: bf16 and fp16"),
        ({"batch": None}, "batch: 8 and not said"),
        ({"lengths": {"input": 128}}, "lengths: input 128, output 16 and input 128"),
        ({"completed": False}, "did not complete"),
    ],
)
def test_runs_of_different_things_are_not_compared(changes: dict[str, Any], says: str) -> None:
    found = runs.compare(run(), run(**changes))
    assert len(found.differs) == 1
    assert says in found.differs[0]
    assert found.figures == {}


def test_what_neither_says_is_told_and_other_units_are_left_out() -> None:
    found = runs.compare(run(model=None), run(model=None, throughput={"value": 1, "unit": "x/s"}))
    assert found.unknown == ("model",)
    assert "throughput" not in found.figures
    assert "cost" not in found.figures
