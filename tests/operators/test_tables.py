"""What ships: every statement is sourced, names operators that exist, and parses."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuronport.operators import Status, TableError, open_index, parse, shared
from neuronport.operators import tables as table_files
from neuronport.operators.tables import Tables, load

ROOT = table_files.folder()


@pytest.fixture(scope="module")
def tables() -> Tables:
    return load()


def test_every_statement_has_evidence(tables: Tables) -> None:
    assert all(row.evidence for rows in tables.rows.values() for row in rows)
    assert all(source.says and source.source for source in tables.sources.values())


def test_every_source_is_cited(tables: Tables) -> None:
    cited = {e.partition("#")[0] for rows in tables.rows.values() for r in rows for e in r.evidence}
    cited |= {e for rule in tables.stage_rules for e in rule.evidence} | {
        "torch-calls",
        "torch-core",
    }
    assert set(tables.sources) == cited


def test_old_absence_is_never_certain(tables: Tables) -> None:
    """What was not registered in an old build may be by now."""
    source = tables.sources["tn-unregistered"]
    assert source.stale
    assert source.confidence == "likely"
    assert "2026-02" in source.source


def test_called_operators_exist(tables: Tables) -> None:
    for calls in (tables.bodies, tables.decompositions, tables.backwards):
        for operator, callees in calls.items():
            assert operator in tables.schemas
            assert all(callee.operator in tables.schemas for callee in callees), operator


def test_conditions_look_at_arguments_of_their_operator(tables: Tables) -> None:
    for rows in tables.rows.values():
        for row in rows:
            if row.when is None or row.operator.startswith("hlo::"):
                continue
            known = {p.name for p in tables.schemas[row.operator].parameters} | {"chip"}
            assert row.when.names() <= known, f"{row.place}: {row.when}"


def test_spellings_reach_something(tables: Tables) -> None:
    for spelling, reached in tables.spellings.items():
        for text in reached:
            operator, _, when = text.partition("?")
            assert operator in tables.schemas or operator in tables.families, (spelling, operator)
            if when:
                parse(when.replace("~", " "))


def test_every_module_that_computes_is_spelled(tables: Tables) -> None:
    torch = pytest.importorskip("torch")
    containers = {
        "AdaptiveLogSoftmaxWithLoss", "Container", "CrossMapLRN2d", "DataParallel", "Identity",
        "Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "RNNBase",
        "RNNCellBase", "Sequential", "SyncBatchNorm", "TransformerDecoder",
    }  # fmt: skip
    modules = {
        name
        for name, value in vars(torch.nn).items()
        if isinstance(value, type) and issubclass(value, torch.nn.Module)
    }
    missing = {n for n in modules - containers if f"torch.nn.{n}" not in tables.spellings}
    assert missing == set()


def test_schemas_are_those_of_the_pinned_torch(tables: Tables) -> None:
    torch = pytest.importorskip("torch")
    if not torch.__version__.startswith("2.13."):
        pytest.skip("the tables are written for torch 2.13")
    from tools.build_operators.samples import overloads
    from tools.build_operators.write import _KINDS, _arguments, runs_composite

    functions = overloads()
    known = {n.removeprefix("aten::") for n in tables.schemas if n.startswith("aten::")}
    assert set(functions) == known
    text = (ROOT / "torch" / "schemas.tsv").read_text(encoding="utf-8")
    lines = {line.split("\t")[0]: line.split("\t") for line in text.splitlines()}
    for name, func in functions.items():
        assert lines[name][1] == _KINDS[runs_composite(func)]
        assert lines[name][3:] == ([_arguments(func._schema)] if _arguments(func._schema) else [])


def test_recorded_bodies_are_still_what_torch_does(tables: Tables) -> None:
    torch = pytest.importorskip("torch")
    from tools.build_operators import record

    x, w = torch.rand(2, 3), torch.rand(4, 3)
    for name, args in (
        ("linear", (x, w)),
        ("cosine_similarity", (x, x)),
        ("layer_norm", (x, [3])),
        ("huber_loss", (x, x)),
        ("chunk", (x, 2)),
    ):
        func = getattr(torch.ops.aten, name).default
        found = record.body(func, (args, {}))
        assert (found is None) == (f"aten::{name}" not in tables.bodies)
        reached = {callee.operator for callee in tables.bodies.get(f"aten::{name}", ())}
        assert {f"aten::{callee}" for callee, _ in found or ()} <= reached
    gradient = record.backward(torch.ops.aten.huber_loss.default, ((x, x), {}))
    assert gradient is not None
    assert {c for c, _ in gradient} <= {
        c.operator.removeprefix("aten::") for c in tables.backwards["aten::huber_loss"]
    }


def test_core_aten_is_known() -> None:
    """The goals: no core operator missing, at most a tenth unknown on either path."""
    from neuronport.operators import survey
    from neuronport.targets import resolve

    targets = (resolve("native"), resolve("xla"))
    for share in survey.coverage(targets, "eager"):
        if share.set == "core aten" and share.direction == "forward":
            assert share.total >= 190
            assert share.unknown_share <= 0.10, share


def test_core_aten_is_complete(tables: Tables) -> None:
    torch = pytest.importorskip("torch")
    listed = {name for name, schema in tables.schemas.items() if "core" in schema.tags}
    actual = set()
    for name in torch._C._dispatch_get_all_op_names():
        base, _, overload = name.partition("::")[2].partition(".")
        if name.startswith("aten::") and hasattr(torch.ops.aten, base):
            packet = getattr(torch.ops.aten, base)
            if (
                hasattr(packet, overload or "default")
                and torch.Tag.core in getattr(packet, overload or "default").tags
            ):
                actual.add(name)
    assert actual <= listed


def test_sizes() -> None:
    for file in table_files.files(ROOT):
        assert file.stat().st_size < 600_000, file


def test_sorted() -> None:
    for file in table_files.files(ROOT):
        if file.suffix == ".tsv" and file.name not in ("spellings.tsv", "signatures.tsv"):
            lines = [
                line.split("\t")
                for line in file.read_text(encoding="utf-8").splitlines()
                if line and not line.startswith("#")
            ][1:]
            assert lines == sorted(lines), file


HEADER = "operator\tstage\tstatus\twhen\tsdk\tevidence\tnote\n"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("abs\teager\tdevice\t\t\t\t", "no evidence"),
        ("abs\teager\tdevice\t\t\tnobody\t", "unknown source nobody"),
        ("abs\teager\tfine\t\t\tme\t", "unknown status 'fine'"),
        ("abs\tlater\tdevice\t\t\tme\t", "unknown stage 'later'"),
        ("abs\teager\tdevice\tx ==\t\tme\t", "column 5: a value expected"),
        ("nothing\teager\tdevice\t\t\tme\t", "unknown operator aten::nothing"),
        ("abs\teager\tdevice\t\t\tme\t\tmore", "8 cells"),
    ],
)
def test_a_wrong_row_is_refused(tmp_path: Path, row: str, message: str) -> None:
    root = _small(tmp_path)
    (root / "native" / "eager.tsv").write_text(HEADER + row + "\n", encoding="utf-8")
    with pytest.raises(TableError, match=message):
        load(root)


def _small(tmp_path: Path) -> Path:
    """A table of three operators: a kernel, a composite of it, one that nobody speaks of."""
    root = tmp_path / "operators"
    for name in ("torch", "native", "xla"):
        (root / name).mkdir(parents=True)
    (root / "sources.toml").write_text(
        '[me]\nkind = "source"\nsource = "here"\nsays = "so"\ndate = "2026-02"\n'
        '[old]\nkind = "source"\nsource = "there"\nsays = "was so"\nstale = true\n'
        'confidence = "likely"\n'
        '[user]\nkind = "reported"\nsource = "someone"\nsays = "saw it"\nconfidence = "likely"\n'
        '[torch-calls]\nkind = "measured"\nsource = "runs"\nsays = "calls"\n',
        encoding="utf-8",
    )
    (root / "stages.toml").write_text("", encoding="utf-8")
    (root / "spellings.tsv").write_text("spelling\toperators\n", encoding="utf-8")
    (root / "torch" / "spellings.tsv").write_text(
        "spelling\toperators\ntorch.abs\tabs\n", encoding="utf-8"
    )
    (root / "torch" / "schemas.tsv").write_text(
        "operator\tkind\ttags\targuments\n"
        "abs\tkernel\tcore\tself:T k:int=1\n"
        "twice\timplicit\t\tself:T k:int=1\n"
        "once\timplicit\t\tself:T\n"
        "other\tkernel\t\tself:T\n",
        encoding="utf-8",
    )
    (root / "torch" / "bodies.tsv").write_text(
        "operator\talways\tsometimes\ntwice\tabs(k=^k)\t\nonce\tabs(k=2)\tother\n",
        encoding="utf-8",
    )
    (root / "torch" / "backwards.tsv").write_text(
        "operator\talways\tsometimes\nabs\tother\t\n", encoding="utf-8"
    )
    return root


def test_composites_follow_what_they_call(tmp_path: Path) -> None:
    from neuronport.operators import Argument, CallFacts, lookup

    root = _small(tmp_path)
    (root / "native" / "eager.tsv").write_text(
        HEADER
        + "abs\teager\tdevice\t\t\tme\n"
        + "abs\teager\tcpu-fallback\tk != 1\t\tme\n"
        + "other\teager\tunsupported\t\t\told\n",
        encoding="utf-8",
    )
    index = open_index(root, tmp_path / "cache")
    plain = lookup("twice", "native", index=index)
    assert plain.status is Status.DECOMPOSES
    assert [(p.status, p.when) for p in plain.conditions_unknown] == [
        (Status.CPU_FALLBACK, "k != 1")
    ]
    known = CallFacts({"k": Argument(value=3)})
    assert lookup("twice", "native", call=known, index=index).status is Status.CPU_FALLBACK
    assert lookup("twice", "native", call=CallFacts(complete=True), index=index).status is (
        Status.DECOMPOSES
    )
    once = lookup("once", "native", index=index)
    assert once.status is Status.CPU_FALLBACK, "it always passes k=2"
    assert once.confidence == "likely"
    assert [(p.status, p.when) for p in once.conditions_unknown] == [(Status.UNSUPPORTED, "")]
    backward = lookup("twice", "native", direction="backward", index=index)
    assert backward.status is Status.UNSUPPORTED
    assert lookup("abs", "xla", index=index).status is Status.UNKNOWN


def test_newer_and_stronger_evidence_decides_and_the_other_stays(tmp_path: Path) -> None:
    from neuronport.operators import lookup

    root = _small(tmp_path)
    (root / "native" / "eager.tsv").write_text(
        HEADER + "abs\teager\tcpu-fallback\t\t\told\nabs\teager\tdevice\t\t\tuser\n",
        encoding="utf-8",
    )
    answer = lookup("abs", "native", index=open_index(root, tmp_path / "cache"))
    assert answer.status is Status.DEVICE
    assert answer.confidence == "likely"
    assert [c.status for c in answer.contradictions] == [Status.CPU_FALLBACK]


def test_windows(tmp_path: Path) -> None:
    from neuronport.operators import lookup

    root = _small(tmp_path)
    (root / "native" / "eager.tsv").write_text(
        HEADER + "abs\teager\tcpu-fallback\t\t-2.32\tme\nabs\teager\tdevice\t\t2.33-\tme\n",
        encoding="utf-8",
    )
    index = open_index(root, tmp_path / "cache")
    assert lookup("abs", "native@2.32", index=index).status is Status.CPU_FALLBACK
    assert lookup("abs", "native@2.33", index=index).status is Status.DEVICE


def test_the_index_is_made_again_when_a_table_changes(tmp_path: Path) -> None:
    from neuronport.operators import lookup

    root = _small(tmp_path)
    table = root / "native" / "eager.tsv"
    for status in ("device", "cpu-fallback"):
        table.write_text(f"{HEADER}abs\teager\t{status}\t\t\tme\n", encoding="utf-8")
        assert lookup("abs", "native", index=open_index(root, tmp_path / "c")).status == status


def test_an_unwritable_cache_changes_nothing(tmp_path: Path) -> None:
    from neuronport.operators import lookup

    root = _small(tmp_path)
    (root / "native" / "eager.tsv").write_text(
        f"{HEADER}abs\teager\tdevice\t\t\tme\n", encoding="utf-8"
    )
    blocked = tmp_path / "file"
    blocked.write_text("not a folder", encoding="utf-8")
    assert lookup("abs", "native", index=open_index(root, blocked)).status is Status.DEVICE


def test_a_broken_cache_is_not_believed(tmp_path: Path) -> None:
    from neuronport.operators import lookup

    root = _small(tmp_path)
    (root / "native" / "eager.tsv").write_text(
        f"{HEADER}abs\teager\tdevice\t\t\tme\n", encoding="utf-8"
    )
    open_index(root, tmp_path / "cache")
    [file] = (tmp_path / "cache" / "operators").glob("*.sqlite")
    file.write_bytes(b"nonsense")
    index = open_index(root, tmp_path / "cache")
    assert lookup("abs", "native", index=index).status is Status.DEVICE


def test_shared_index_answers_quickly() -> None:
    import time

    from neuronport.operators import lookup

    shared()
    begin = time.perf_counter()
    for name in ("torch.sort", "aten::addmm", "F.grid_sample", "nn.Conv2d", "hlo::cholesky"):
        lookup(name, "xla")
    assert time.perf_counter() - begin < 0.25


def test_what_writes_is_no_better_on_xla_than_what_does_not(tables: Tables) -> None:
    """Functionalization makes the one of the other before torch_xla sees it."""

    def fallbacks(operator: str) -> set[str]:
        rows = tables.rows.get(("xla", operator), ())
        return {str(r.when or "") for r in rows if r.status is Status.CPU_FALLBACK}

    checked, bad = 0, []
    for path, operator in tables.rows:
        name, _, overload = operator.partition("::")[2].partition(".")
        if path != "xla" or not operator.startswith("aten::"):
            continue
        if name.endswith("_") and not name.startswith("__"):
            name = name[:-1]
        elif overload == "out" or overload.endswith("_out"):
            overload = overload[:-3].rstrip("_")
        else:
            continue
        known = {p.name for p in tables.schemas[operator].parameters}
        plain = {
            when
            for when in fallbacks(f"aten::{name}.{overload}".removesuffix("."))
            if not when or parse(when).names() <= known
        }
        own = fallbacks(operator)
        checked += bool(plain)
        if plain and "" not in own and not plain <= own:
            bad.append(operator)
    assert checked > 20
    assert not bad
