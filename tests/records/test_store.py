"""Writing records, reading them, and telling what has changed since."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuronport import records
from neuronport.records import digests, forms
from neuronport.records.kinds import kinds
from neuronport.records.model import FORM, Step
from neuronport.records.store import slug
from neuronport.workspace import printable
from tests.records.making import GRAPH, graph


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text("x = 1\n")
    return tmp_path


def test_what_is_written_is_read(tree: Path) -> None:
    graph(tree / ".neuronport", "model.py", tree / "model.py")
    found = records.load(str(tree / ".neuronport"))
    (record,) = found.graphs
    assert record.subject == "model.py"
    assert record.body == GRAPH
    assert list(record.inputs) == ["model.py"]
    assert record.state == "current"
    assert Path(record.root) == tree
    assert found.problems == ()
    assert "audit" in found.missing
    assert "graph" not in found.missing


def test_a_folder_that_is_not_there_is_not_an_error(tmp_path: Path) -> None:
    found = records.load(str(tmp_path / "none"))
    assert not found.exists
    assert found.audit is None
    assert found.graphs == ()
    assert set(found.missing) == set(kinds())


def test_what_changed_or_went_makes_a_record_stale(tree: Path) -> None:
    (tree / "gone.py").write_text("")
    graph(tree / ".neuronport", "m", tree / "model.py", tree / "gone.py")
    (tree / "model.py").write_text("x = 2\n")
    (tree / "gone.py").unlink()
    (record,) = records.load(str(tree / ".neuronport")).graphs
    assert [(c.what, c.name) for c in record.stale] == [
        ("vanished", "gone.py"),
        ("changed", "model.py"),
    ]
    assert record.state == "stale"
    (unchecked,) = records.load(str(tree / ".neuronport"), check=False).graphs
    assert unchecked.stale == ()


def test_records_move_with_their_tree(tree: Path) -> None:
    inside = tree / "project"
    inside.mkdir()
    (inside / "model.py").write_text("")
    graph(inside / ".neuronport", "m", inside / "model.py")
    inside.rename(tree / "elsewhere")
    (record,) = records.load(str(tree / "elsewhere" / ".neuronport")).graphs
    assert record.state == "current"


def test_other_rules_make_a_record_stale(tree: Path) -> None:
    snapshot = records.Snapshot.of_named(str(tree), [str(tree / "model.py")])
    folder = str(tree / ".neuronport")
    records.write(folder, "graph", json.dumps(GRAPH), snapshot, rules="old")
    (same,) = records.load(folder, rules=lambda: "old").graphs
    (other,) = records.load(folder, rules=lambda: "new").graphs
    assert same.state == "current"
    assert [c.what for c in other.stale] == ["rules"]


def test_several_of_one_kind_are_kept_apart(tree: Path) -> None:
    folder = tree / ".neuronport"
    names = ["a/b.py", "a-b.py", "a b.py", "a.b:make", "a.b-make"]
    files = {graph(folder, name).name for name in names}
    assert len(files) == len(names)
    assert {r.subject for r in records.load(str(folder)).graphs} == set(names)


@given(st.text())
def test_a_slug_is_a_file_name(subject: str) -> None:
    name = slug(subject)
    assert name
    assert len(name) < 100
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


@given(st.text(max_size=20).filter(lambda t: "/" not in t and "\0" not in t))
@pytest.mark.skipif(os.sep != "/", reason="a backslash separates folders")
def test_a_shown_path_leads_back_to_the_file(name: str) -> None:
    assert digests.actual(printable(name)) == name


@pytest.mark.skipif(sys.platform != "linux", reason="names that are no text")
def test_a_file_whose_name_is_no_text(tree: Path) -> None:
    from neuronport.workspace import open_workspace

    (Path(os.fsdecode(os.fsencode(str(tree)) + b"/od\xffd\\.py"))).write_text("")
    workspace = open_workspace([str(tree)])
    snapshot = records.Snapshot.of(workspace, workspace.files, paths=[str(tree)])
    folder = str(tree / ".neuronport")
    records.write(folder, "graph", json.dumps(GRAPH), snapshot)
    (record,) = records.load(folder).graphs
    assert record.stale == ()
    assert len(record.inputs) == 2


def test_a_new_file_makes_a_record_stale(tree: Path) -> None:
    from neuronport.workspace import open_workspace

    (tree / "out").mkdir()
    choice = {"extend_exclude": ["out/"]}
    workspace = open_workspace([str(tree)], **choice)
    snapshot = records.Snapshot.of(workspace, workspace.files, paths=[str(tree)], **choice)
    folder = str(tree / ".neuronport")
    records.write(folder, "graph", json.dumps(GRAPH), snapshot)
    (tree / "out" / "x.py").write_text("")
    (tree / "data.bin").write_text("")
    assert records.load(folder).graphs[0].stale == ()
    (tree / "new.py").write_text("")
    assert [(c.what, c.name) for c in records.load(folder).graphs[0].stale] == [("new", "new.py")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "empty"),
        (b"{", "not valid JSON (line 1"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[1]", "no JSON object"),
        (b"{}", "nor the JSON of a command"),
        (b'{"record": "weather", "form": 1}', "unknown kind 'weather'"),
        (b'{"record": "graph", "form": "x"}', "no number"),
        (b'{"record": "graph", "form": -1}', "no number"),
        (b'{"record": "graph", "form": true}', "no number"),
        (b'{"record": ["graph"], "form": 1}', "unknown kind"),
        (b'{"record": "graph", "form": 1}', "`tool` is missing"),
        (b"\xef\xbb\xbf[]", "no JSON object"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"schema": "neuronport/graph/1"}', "`model` of its body is missing"),
        (b'{"schema": "neuronport/graph/1x"}', "nor the JSON of a command"),
        (
            b'{"schema": "neuronport/graph/1", "model": {}, "targets": [], "graphs": [],'
            b' "summary": {}, "findings": [], "failures": {"a": 1}}',
            "`failures` of its body is missing or of the wrong type",
        ),
        (
            b'{"record": "audit", "form": 1, "tool": {}, "made": "", "tree": {}, "inputs": {"a": 1},'
            b' "not_looked_at": [], "body": {}}',
            "an input has no digest",
        ),
        (
            b'{"record": "audit", "form": 1, "tool": {}, "made": "", "tree": {}, "inputs": {},'
            b' "not_looked_at": [], "body": {"schema": "neuronport/graph/1"}}',
            "names the schema 'neuronport/graph/1'",
        ),
    ],
)
def test_what_is_no_record_is_told_and_the_rest_is_used(tree: Path, text: bytes, says: str) -> None:
    folder = tree / ".neuronport"
    graph(folder, "model.py")
    (folder / "broken.json").write_bytes(text)
    found = records.load(str(folder))
    assert len(found.graphs) == 1
    (problem,) = found.problems
    assert says in problem.reason
    assert problem.remedy
    assert problem.file.endswith("broken.json")


@pytest.mark.skipif(sys.platform == "win32", reason="pipes and links")
def test_no_pipe_and_no_link_is_read(tree: Path) -> None:
    folder = tree / ".neuronport"
    graph(folder, "model.py")
    os.mkfifo(folder / "pipe.json")
    (folder / "link.json").symlink_to("/etc/passwd")
    found = records.load(str(folder))
    assert sorted(p.reason for p in found.problems) == ["is a link", "is not a regular file"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
KEYS = ["record", "form", "tool", "made", "tree", "inputs", "not_looked_at", "body", "schema"]


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from(KEYS), json_values | st.sampled_from(list(kinds()))), st.data()
)
def test_any_json_is_a_record_or_a_problem(
    document: dict[str, object], data: st.DataObject
) -> None:
    import tempfile

    if data.draw(st.booleans()):
        document = {
            "record": "graph", "form": 1, "tool": {}, "made": "", "tree": {}, "inputs": {},
            "not_looked_at": [], "body": {**GRAPH, **document}, **document,
        }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "graph-x.json").write_text(json.dumps(document))
        found = records.load(folder)
        assert len(found.problems) + len(list(found)) == 1


# ---- forms ----------------------------------------------------------------------------------------


def test_a_bare_output_is_read_as_form_0_without_digests(tree: Path) -> None:
    folder = tree / ".neuronport"
    folder.mkdir()
    (folder / "graph.json").write_text(json.dumps(GRAPH))
    (record,) = records.load(str(folder)).graphs
    assert record.form == 0
    assert record.body == GRAPH
    assert not record.digests_known
    assert record.state == "digests not known"
    assert not record.current
    assert record.made == ""


def test_a_port_of_before_it_named_its_schema(tree: Path) -> None:
    folder = tree / ".neuronport"
    folder.mkdir()
    keys = ("files", "changes", "held_back", "left")
    failed = [{"path": "a.py", "reason": "unclear", "detail": "x"}]
    body = {**{k: [] for k in keys}, "failed": failed, "churn": {}}
    (folder / "port.json").write_text(json.dumps(body))
    record = records.load(str(folder)).port
    assert record is not None
    assert record.body == {**body, "schema": "neuronport/port/1"}
    assert [r["path"] for r in record.not_looked_at] == ["a.py"]


def test_every_step_up_to_the_newest_form_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: dict[int, Step] = {
        **forms.STEPS,
        1: lambda d: {**{k: v for k, v in d.items() if k != "when"}, "made": d.get("when", "")},
    }
    monkeypatch.setattr(forms, "STEPS", steps)
    monkeypatch.setattr(forms, "FORM", 2)
    one = {"record": "graph", "form": 1, "tool": {}, "when": "then", "tree": {}, "inputs": {}}
    brought = forms.bring({**one, "not_looked_at": [], "body": GRAPH})
    assert brought.form == 1
    assert brought.envelope["made"] == "then"
    assert forms.bring(GRAPH).form == 0


def test_a_newer_form_is_used_and_said_to_be_newer(tree: Path) -> None:
    folder = tree / ".neuronport"
    path = graph(folder, "model.py", tree / "model.py")
    document = json.loads(path.read_text())
    document["form"] = FORM + 1
    document["body"]["schema"] = "neuronport/graph/9"
    path.write_text(json.dumps(document))
    (record,) = records.load(str(folder)).graphs
    assert [c.what for c in record.stale] == ["newer-form", "newer-form"]
    assert "newer than this version" in str(record.stale[0])


# ---- git ------------------------------------------------------------------------------------------


def test_the_revision_is_read_from_gits_files(tmp_path: Path) -> None:
    import subprocess

    def git(*words: str) -> str:
        name = ["-c", "user.name=a", "-c", "user.email=a@b"]
        done = subprocess.run(["git", *name, *words], cwd=tmp_path, capture_output=True, check=True)
        return done.stdout.decode().strip()

    assert digests.revision(str(tmp_path)) is None
    git("init", "-b", "main")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "a").write_text("a")
    git("add", ".")
    git("commit", "-m", "a")
    head = git("rev-parse", "HEAD")
    assert digests.revision(str(tmp_path / "below")) == head
    git("pack-refs", "--all")
    assert digests.revision(str(tmp_path)) == head
    git("checkout", "--detach")
    assert digests.revision(str(tmp_path)) == head
    git("worktree", "add", "-b", "other", str(tmp_path / "tree"))
    assert digests.revision(str(tmp_path / "tree")) == head


# ---- folders --------------------------------------------------------------------------------------


def test_a_folder_of_other_things_is_refused(tree: Path) -> None:
    with pytest.raises(records.FolderError, match="holds other things"):
        records.check_folder(str(tree))
    with pytest.raises(records.FolderError, match="is a file"):
        records.check_folder(str(tree / "model.py"))
    graph(tree / "kept", "m")
    records.check_folder(str(tree / "kept"))
    records.check_folder(str(tree / "none"))
    (tree / ".neuronport").mkdir()
    (tree / ".neuronport" / "report.html").write_text("")
    records.check_folder(str(tree / ".neuronport"))
