"""The sweep of torch_xla, as far as it needs no torch_xla: plan, resuming, learning, tables."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from neuronport.operators import tables
from neuronport.operators.conditions import parse
from neuronport.operators.tables import Parameter, Schema, Tables
from neuronport.xla_environment import hlo
from tools.measure_xla import (
    check,
    compare,
    compiler,
    environment,
    learn,
    outcomes,
    plan,
    run,
    stubs,
    writing,
)
from tools.measure_xla.outcomes import Outcome

RESULTS = Path(writing.__file__).parent / "results"


@pytest.fixture(scope="module")
def known() -> Tables:
    return tables.load()


@pytest.fixture(scope="module")
def calls() -> plan.Calls:
    return plan.read_calls()


def schema(operator: str, *parameters: Parameter, tags: tuple[str, ...] = ()) -> Schema:
    return Schema(f"aten::{operator}", "kernel", frozenset(tags), parameters)


def tensor(name: str) -> Parameter:
    return Parameter(name, "T", None, True, False)


def outcome(
    operator: str,
    varied: str,
    status: str,
    *,
    dtype: str = "float32",
    direction: str = "forward",
    source: str = "ordinary",
    hlo: tuple[str, ...] = (),
    **arguments: Any,
) -> Outcome:
    return Outcome(
        operator, direction, dtype, varied, source, status, arguments, hlo=hlo,
        fallback=(operator,) if status == "falls-back" else (),
    )  # fmt: skip


def t(*size: int, dtype: str = "float32") -> list[Any]:
    return ["T", dtype, list(size)]


# -- the plan -------------------------------------------------------------------------------------


def test_every_core_operator_is_planned(known: Tables, calls: plan.Calls) -> None:
    names = plan.selected(known.schemas, "core")
    cases, without = plan.cases(known.schemas, names, plan.DTYPES, calls)
    assert without == {}
    assert {c.operator for c in cases} == set(names)
    assert len({c.key for c in cases}) == len(cases)
    # four parts, or a crash could not be written down
    assert all(len(c.key.split("|")) == 4 for c in cases)


def test_calls_name_operators_and_arguments_that_exist(known: Tables, calls: plan.Calls) -> None:
    for operator, own in calls.by_operator.items():
        parameters = {p.name for p in known.schemas[f"aten::{operator}"].parameters}
        named = {k for k in own if k not in ("vary", "also", "skip")} | set(own.get("vary", {}))
        for extra in own.get("also", ()):
            named |= set(extra)
        assert named <= parameters, operator


def test_ordinary_calls_come_first(known: Tables, calls: plan.Calls) -> None:
    cases, _ = plan.cases(known.schemas, ["addmm", "relu"], ["float32"], calls)
    varied = [bool(c.varied) for c in cases]
    assert varied == sorted(varied)
    assert [c.operator for c in cases if not c.varied] == ["addmm", "relu"]


def test_one_argument_is_varied_at_a_time(known: Tables, calls: plan.Calls) -> None:
    cases, _ = plan.cases(known.schemas, ["addmm", "convolution"], ["float32"], calls)
    base = {c.operator: c.arguments for c in cases if not c.varied}
    for case in cases:
        if not case.varied or case.varied.startswith(plan.ALSO):
            continue
        ordinary = base[case.operator]
        changed = {k for k, v in case.arguments.items() if k not in ordinary or ordinary[k] != v}
        assert changed == {case.varied.partition("=")[0]}
    assert {"beta=0.5", "alpha=2"} <= {c.varied for c in cases if c.operator == "addmm"}


def test_an_argument_nobody_knows_a_value_of_is_told() -> None:
    odd = schema("odd", tensor("self"), Parameter("equation", "str", None, True, False))
    cases, without = plan.cases({"aten::odd": odd}, ["odd"], ["float32"], plan.Calls({}, {}))
    assert cases == []
    assert without == {"odd": "no value is known of equation"}


def test_what_has_no_tensor_is_planned_for_one_dtype(known: Tables, calls: plan.Calls) -> None:
    for dtypes in (["float32", "int64"], ["int64"]):
        cases, _ = plan.cases(known.schemas, ["full"], dtypes, calls, varied=False)
        assert [c.dtype for c in cases] == ["float32"]


def test_selection_by_name_takes_the_family(known: Tables) -> None:
    assert {"sort", "sort.stable"} <= set(plan.selected(known.schemas, "sort"))
    assert plan.selected(known.schemas, "sort.stable") == ["sort.stable"]
    assert not any("out" in known.schemas[f"aten::{n}"].tags and n != "atan2.out"
                   for n in plan.selected(known.schemas, "core"))  # fmt: skip


# -- running and resuming -------------------------------------------------------------------------

WORKER = """
import json, os, sys, time
if sys.argv[1] == "versions":
    print(json.dumps({"torch": "2", "torch_xla": "2"})); raise SystemExit
with open(sys.argv[2], "a", buffering=1) as out:
    say = lambda **row: out.write(json.dumps(row) + "\\n")
    for line in sys.stdin:
        case = json.loads(line)
        say(begin=case["key"])
        if case["operator"] == "dies_early": os._exit(11)
        say(reached=case["key"])
        if case["operator"] == "dies": os._exit(11)
        if case["operator"] == "hangs": time.sleep(60)
        say(**case, direction="forward", status="lowered")
        say(done=case["key"])
"""


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A worker that needs no torch_xla, in an environment that is this interpreter."""
    script = tmp_path / "worker.py"
    script.write_text(WORKER, encoding="utf-8")
    monkeypatch.setattr(run, "WORKER", script)
    monkeypatch.setattr(environment, "python_of", lambda folder: Path(sys.executable))
    return tmp_path / "outcomes.jsonl"


def cases_of(*operators: str) -> list[plan.Case]:
    return [plan.Case(name, "", "float32") for name in operators]


def test_what_ends_a_worker_costs_one_case(worker: Path, tmp_path: Path) -> None:
    cases = cases_of("a", "dies", "b", "dies_early", "hangs", "c")
    assert run.run(tmp_path, cases, worker, seconds=3) == 0
    record = outcomes.read(worker)
    assert {o.operator: o.status for o in record.outcomes} == {
        "a": "lowered",
        "dies": "crash",
        "b": "lowered",
        "dies_early": "refused",
        "hangs": "timeout",
        "c": "lowered",
    }


def test_what_is_done_is_not_measured_again(worker: Path, tmp_path: Path) -> None:
    run.run(tmp_path, cases_of("a", "b"), worker)
    run.run(tmp_path, cases_of("a", "b", "c"), worker)
    assert outcomes.read(worker).begun == [c.key for c in cases_of("a", "b", "c")]


def test_half_a_line_is_no_obstacle(worker: Path, tmp_path: Path) -> None:
    run.run(tmp_path, cases_of("a"), worker)
    with worker.open("a", encoding="utf-8") as stream:
        stream.write('{"begin": "ordinary|b||flo')
    run.run(tmp_path, cases_of("a", "b"), worker)
    assert {o.operator for o in outcomes.read(worker).outcomes} == {"a", "b"}


def test_a_budget_leaves_the_rest_for_later(worker: Path, tmp_path: Path) -> None:
    assert run.run(tmp_path, cases_of("a", "b"), worker, budget=-1) == 2
    assert run.run(tmp_path, cases_of("a", "b"), worker) == 0


def test_versions_are_not_mixed(worker: Path, tmp_path: Path) -> None:
    worker.write_text(json.dumps({"versions": {"torch": "1"}, "date": "2020-01-01"}) + "\n")
    with pytest.raises(run.OtherVersionsError):
        run.run(tmp_path, cases_of("a"), worker)


def test_statuses_can_be_measured_again(worker: Path, tmp_path: Path) -> None:
    run.run(tmp_path, cases_of("a", "hangs"), worker, seconds=1)
    assert outcomes.forget(worker, ["timeout"]) == 1
    record = outcomes.read(worker)
    assert run.remaining(cases_of("a", "hangs"), record) == cases_of("hangs")
    assert record.header["versions"] == {"torch": "2", "torch_xla": "2"}


# -- learning -------------------------------------------------------------------------------------


def learned(members: list[Outcome], schemas: dict[str, Schema] | None = None) -> dict[str, str]:
    return {one.status: one.when for one in learn.learn(members, schemas or {})}


def test_a_scale_that_must_be_one(known: Tables) -> None:
    shapes = {"self": t(4), "mat1": t(2, 3), "mat2": t(3, 4)}
    members = [outcome("addmm", "", "lowered", **shapes)]
    members += [outcome("addmm", f"beta={v}", "falls-back", **shapes, beta=v) for v in (0, 0.5)]
    members += [outcome("addmm", f"alpha={v}", "falls-back", **shapes, alpha=v) for v in (0, 2)]
    assert learned(members, dict(known.schemas)) == {"cpu-fallback": "beta != 1 or alpha != 1"}


def test_one_bad_value_is_not_made_more_of() -> None:
    members = [outcome("op", "", "lowered", self=t(2), mode="sum")]
    members.append(outcome("op", "mode=mean", "falls-back", self=t(2), mode="mean"))
    assert learned(members) == {"cpu-fallback": "mode == mean"}


def test_sizes_that_do_not_divide() -> None:
    def call(size: list[int], status: str) -> Outcome:
        varied = "" if size == [4, 4] else f"output_size={size}"
        return outcome("pool", varied, status, self=t(1, 2, 8, 8), output_size=size)

    members = [call([4, 4], "lowered"), call([1, 1], "lowered"), call([3, 3], "falls-back")]
    members += [call([4, 3], "falls-back"), call([8, 8], "lowered")]
    (when,) = learned(members).values()
    assert when == (
        "size(self, -2) % item(output_size, 0) != 0 or size(self, -1) % item(output_size, 1) != 0"
    )


def test_a_dtype_is_not_blamed_for_another_variation() -> None:
    members = [
        outcome("op", "", "lowered", self=t(2, 3)),
        outcome("op", "", "refused", dtype="int64"),
    ]
    members.append(outcome("op", "self=T[]", "raises", self=t()))
    empty = t(0, 3, dtype="int64")
    members.append(outcome("op", "self=T[0,3]", "raises", dtype="int64", self=empty))
    members.append(outcome("op", "self=T[0,3]", "lowered", self=t(0, 3)))
    (when,) = learned(members).values()
    condition = parse(when)
    assert condition.holds(learn.facts_of(members[2], None)) is True
    fine = outcome("op", "", "lowered", dtype="int64", self=t(2, 3, dtype="int64"))
    assert condition.holds(learn.facts_of(fine, None)) is False


def test_two_arguments_that_have_to_come_together() -> None:
    members = [outcome("op", "", "lowered", self=t(2), ceil=False, pad=True)]
    members.append(outcome("op", "ceil=true", "falls-back", self=t(2), ceil=True, pad=True))
    members.append(
        outcome("op", "also ceil=true pad=false", "lowered", self=t(2), ceil=True, pad=False)
    )
    assert learned(members) == {"cpu-fallback": "ceil == true and pad == true"}


def test_what_always_falls_back_has_no_condition() -> None:
    members = [outcome("op", v, "falls-back", self=t(2)) for v in ("", "self=T[3]")]
    assert learned(members) == {"cpu-fallback": ""}


def test_what_nothing_explains_is_counted() -> None:
    same = {"self": t(2)}
    members = [outcome("op", "", "lowered", **same), outcome("op", "x=1", "falls-back", **same)]
    (one,) = learn.learn(members, {})
    assert (one.when, one.explained, one.unexplained) == ("?", 0, 1)


def test_refused_and_timed_out_calls_say_nothing() -> None:
    members = [outcome("op", "", "refused"), outcome("op", "a=1", "timeout", a=1)]
    assert learn.learn(members, {}) == []


def test_example_calls_can_refute_a_candidate() -> None:
    members = [outcome("op", "", "lowered", self=t(2), n=1)]
    members += [outcome("op", f"n={n}", "falls-back", self=t(2), n=n) for n in (2, 3)]
    refuting = outcome("op", "", "lowered", source="part of other", self=t(2), n=7)
    (one,) = learn.learn(members, {}, [refuting])
    assert one.when == "n in [2, 3]"


# -- HLO and the compiler -------------------------------------------------------------------------

MODULE = """HloModule IrToHlo.9

%Add.1 (x.2: s64[], y.3: s64[]) -> s64[] {
  %x.2 = s64[] parameter(0)
  %y.3 = s64[] parameter(1)
  ROOT %add.4 = s64[] add(s64[] %x.2, s64[] %y.3)
}

ENTRY %IrToHlo.9 (p0.1: s64[4], p1.2: f64[]) -> (s64[4]) {
  %p0.1 = s64[4]{0} parameter(0)
  %p1.2 = f64[] parameter(1)
  %scatter.5 = s64[4]{0} scatter(s64[4]{0} %p0.1, s64[2,1]{1,0} %i, s64[2]{0} %u), to_apply=%Add.1
  %rw.6 = (f32[2]{0}, s32[2]{0}) reduce-window(f32[4]{0} %a, s32[4]{0} %b), window={size=2 rhs_dilate=2}, to_apply=%Add.1
  ROOT %tuple.7 = (s64[4]{0}) tuple(s64[4]{0} %scatter.5)
}
"""


def test_tokens_tell_what_limits_look_at() -> None:
    assert hlo.tokens(MODULE) == [
        "parameter:f64",
        "reduce-window/add/variadic/rhs-dilated:f32+s32",
        "scatter/add:s64",
    ]


@pytest.mark.parametrize(
    ("token", "limit"),
    [
        ("scatter/add:s64", "integer-scatter"),
        ("scatter/assign:s64", None),
        ("scatter/add:f32", None),
        ("dot:s64", "integer-dot"),
        ("dot:s32", "int32-dot"),
        ("dot:bf16", None),
        ("multiply:c64", "complex"),
        ("reduce-window/max/variadic:f32+s32", "variadic-reduce-window"),
        ("reduce-window/max:f32", None),
        ("convolution/lhs-dilated/rhs-dilated:f32", "convolution-dilations"),
        ("convolution/rhs-dilated:f32", None),
        ("triangular-solve:f32", "triangular-solve"),
    ],
)
def test_limits_of_the_compiler(token: str, limit: str | None, known: Tables) -> None:
    limits = [*compiler.read_limits(), *compiler.opcode_limits(known.rows)]
    call = outcome("op", "", "lowered", hlo=(token,), self=t(2))
    assert [f.limit.id for f in compiler.facts([call], limits)] == ([limit] if limit else [])


def test_float64_counts_where_it_was_asked_for() -> None:
    limits = compiler.read_limits()
    scalar = outcome("op", "", "lowered", hlo=("constant:f64",), self=t(2))
    asked = outcome("op", "dtype=dtype:float64", "lowered", hlo=("convert:f64",), dtype="float32",
                    self=t(2), to="float64")  # fmt: skip
    found = compiler.facts([scalar, asked], limits)
    assert [(f.varied, f.limit.xla) for f in found] == [("dtype=dtype:float64", "diverges")]


def test_limits_cite_sources_that_exist(known: Tables) -> None:
    own = compiler.read_sources()
    for limit in compiler.read_limits():
        assert limit.evidence
        assert all(e in known.sources or e in own for e in limit.evidence), limit.id


# -- comparing, checking, writing -----------------------------------------------------------------


def record(*members: Outcome, versions: str = "1") -> outcomes.Record:
    return outcomes.Record({"versions": {"torch": versions}}, outcomes=list(members))


def test_two_runs_that_agree() -> None:
    one = outcome("op", "", "lowered", hlo=("add:f32",))
    assert list(compare.compare(record(one), record(one))) == []


@pytest.mark.parametrize(
    ("other", "kind"),
    [
        (outcome("op", "", "falls-back"), "status"),
        (outcome("op", "", "timeout"), "machine"),
        (outcome("op", "", "lowered", hlo=("dot:f32",)), "hlo"),
        (outcome("other", "", "lowered"), "only in one"),
    ],
)
def test_differences_are_told_by_kind(other: Outcome, kind: str) -> None:
    found = list(compare.compare(record(outcome("op", "", "lowered")), record(other)))
    assert {f.kind for f in found} == {kind}
    assert (kind in compare.EXPLAINED) == (kind in ("machine", "only in one"))


def test_other_versions_are_told() -> None:
    (found,) = compare.compare(record(), record(versions="2"))
    assert found.kind == "versions"


def test_check_finds_a_row_that_does_not_agree(known: Tables) -> None:
    shapes = {"self": t(4), "mat1": t(2, 3), "mat2": t(3, 4)}
    fine = outcome("addmm", "beta=2", "falls-back", **shapes, beta=2)
    wrong = outcome("addmm", "", "falls-back", **shapes)
    found = list(check.disagreements(known.rows, known.schemas, [fine, wrong]))
    assert [(f.operator, f.measured, f.calls) for f in found] == [("addmm", "cpu-fallback", 1)]


def test_a_condition_is_confirmed_from_both_sides(known: Tables) -> None:
    shapes = {"self": t(4), "mat1": t(2, 3), "mat2": t(3, 4)}
    bad = outcome("addmm", "beta=2", "falls-back", **shapes, beta=2)
    good = outcome("addmm", "", "lowered", **shapes)
    (one,) = check.confirmations(known.rows, known.schemas, [bad, good])
    assert (one.operator, one.true, one.false) == ("addmm", 1, 1)
    assert not list(check.confirmations(known.rows, known.schemas, [bad]))
    refuting = outcome("addmm", "alpha=2", "lowered", **shapes, alpha=2)
    assert not list(check.confirmations(known.rows, known.schemas, [bad, good, refuting]))


def test_calls_that_came_out_alike_share_a_row() -> None:
    members = [
        outcome("op", v, "lowered", dtype=d, hlo=(f"add:{h}",), self=t(2, dtype=d))
        for v in ("", "a=1")
        for d, h in (("float32", "f32"), ("int64", "s64"))
    ]
    members.append(outcome("op", "b=1", "refused"))
    (row,) = writing.calls(members)
    assert row == [
        "op",
        "forward",
        "lowered",
        "float32 int64",
        "ordinary(self=T[2]); a=1",
        "",
        "add",
        "",
    ]


def test_what_was_only_reached_is_told_apart() -> None:
    way = outcome("glu_backward", "", "falls-back", source="gradient of glu", self=t(2, 4))
    (row,) = writing.reached([way, outcome("glu", "", "lowered")], {("glu", "lowered")})
    assert row[:5] == [
        "glu_backward",
        "forward",
        "falls-back",
        "float32",
        "1 calls, as gradient-of-glu(self=T[2,4])",
    ]


def test_tables_are_read_as_written(tmp_path: Path) -> None:
    rows = [["op", "forward", "lowered", "float32", "ordinary", "", "add", ""]]
    writing.write(tmp_path, {"t.tsv": writing.text(["# head"], writing.CALL_COLUMNS, rows)})
    (row,) = writing.read(tmp_path / "t.tsv")
    assert list(row.values()) == rows[0]


def test_the_kept_results_are_whole() -> None:
    """What is committed has the documented form, is small, and its conditions parse."""
    files = sorted(RESULTS.glob("*.tsv"))
    assert {f.name.partition("-")[0] for f in files} == {"torch_xla", "conditions", "compiler"}
    assert sum(f.stat().st_size for f in files) < 600_000
    columns = {
        "torch_xla": writing.CALL_COLUMNS,
        "conditions": writing.CONDITION_COLUMNS,
        "compiler": writing.COMPILER_COLUMNS,
    }
    for file in files:
        head = file.read_text(encoding="utf-8").splitlines()[:3]
        assert "torch_xla 2.9" in head[1]
        assert head[2].startswith("# run: ")
        rows = writing.read(file)
        assert tuple(rows[0]) == columns[file.name.partition("-")[0]]
    for row in writing.read(RESULTS / "conditions-2.9.0.tsv"):
        assert row["status"] in ("cpu-fallback", "unsupported", "reads-back")
        if row["when"] not in ("always", "?"):
            parse(row["when"])


def test_the_kept_results_know_addmm() -> None:
    """Plain it lowers; with beta or alpha it does not: what a sweep of odd samples got wrong."""
    rows = [r for r in writing.read(RESULTS / "torch_xla-2.9.0.tsv") if r["operator"] == "addmm"]
    forward = [r for r in rows if r["direction"] == "forward"]
    plain = [r for r in forward if r["arguments"].startswith("ordinary")]
    assert {r["status"] for r in plain} == {"lowered"}
    assert any("beta=0.5" in r["arguments"] for r in forward if r["status"] == "falls-back")


# -- stub libraries -------------------------------------------------------------------------------


def test_symbols_go_to_the_library_that_has_them() -> None:
    wanted = {
        "libcublas.so.12": {"cublasCreate_v2"},
        "libcublasLt.so.12": {"cublasLtMatmul"},
        "": {"cublasGetVersion", "cublasLtCreate", "ncclAllReduce"},
        "NVSHMEM": {"nvshmem_init"},
    }
    symbols, versions = stubs.contents("libcublas.so.12", wanted)
    assert symbols == ["cublasCreate_v2", "cublasGetVersion"]
    assert versions == {"libcublas.so.12": ["cublasCreate_v2"]}
    assert stubs.contents("libnvshmem_host.so.3", wanted)[0] == ["nvshmem_init"]
    assert stubs.contents("libnccl.so.2", wanted) == (["ncclAllReduce"], {})
