"""`neuronport audit`: options in, the right thing on the right stream, the right exit status."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from neuronport.cli import cli
from tests.cli.running import neuronport

BREAKS = "import flash_attn\n"
NOTE = "try:\n    import flash_attn\nexcept ImportError:\n    flash_attn = None\n"
CLEAN = "x = 1\n"
RULE = "api/flash_attn#import"


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "breaks.py").write_text(BREAKS)
    (tmp_path / "note.py").write_text(NOTE)
    (tmp_path / "clean.py").write_text(CLEAN)
    return tmp_path


def audit(*arguments: str | Path, stdin: bytes | str = b"") -> Result:
    result = CliRunner().invoke(cli, ["audit", *map(str, arguments)], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def found(*arguments: str | Path, stdin: bytes | str = b"") -> list[tuple[str, int, str]]:
    document = json.loads(audit(*arguments, "--format", "json", stdin=stdin).stdout)
    return [(f["path"], f["line"], f["rule"]) for f in document["findings"]]


# ---- exit status -----------------------------------------------------------------------------------


def test_0_nothing(project):
    assert audit("clean.py").exit_code == 0


def test_1_something(project):
    assert audit("breaks.py").exit_code == 1
    assert audit().exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--target", "tpu"], "unknown path 'tpu'; known: native, xla"),
        (["--target", "native@1.0"], "not known in SDK 1.0"),
        (["--target", "native:inf2"], "does not reach 'inf2'"),
        (["--format", "yaml"], "json"),
        (["--output", "sarif"], "FORMAT=FILE"),
        (["--output", "yaml=x"], "sarif"),
        (["--select", "no-such-rule"], "'no-such-rule' is no rule, area or verdict"),
        (["--ignore", "no-such-rule"], "neuronport rules"),
        (["--select", "api/no.such*"], "is no rule"),
        (["--baseline", "none.json"], "--write-baseline none.json"),
        (["--fail-on", "loud"], "loud"),
        (["--jobs", "0"], "0"),
        (["--no-such-option"], "--no-such-option"),
    ],
)
def test_2_usage(project, arguments, said):
    result = audit("clean.py", *arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_3_a_path_that_is_not_there_is_one_clear_line(project):
    result = audit("breaks.py", "none.py")
    assert result.exit_code == 3
    assert result.stdout == ""
    assert result.stderr == "neuronport: none.py: no such file or folder\n"


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX's")
def test_3_a_named_file_that_may_not_be_read(project, monkeypatch):
    """Root may read anything, so it is asked of somebody who may not."""
    secret = project / "secret.py"
    secret.write_text("x = 1\n")
    secret.chmod(0)
    really = open

    def refused(path, *arguments, **keywords):
        if str(path).endswith("secret.py"):
            raise PermissionError(13, "Permission denied", path)
        return really(path, *arguments, **keywords)

    monkeypatch.setattr("builtins.open", refused)
    monkeypatch.setattr(os, "access", lambda path, mode, **_: "secret" not in str(path))
    result = audit("secret.py")
    assert result.exit_code == 3
    assert result.stderr == "neuronport: secret.py: unreadable: permission denied\n"


@pytest.mark.parametrize(
    "words",
    [
        ["audit", ""],
        ["audit", ".", ""],
        ["audit", "--baseline", ""],
        ["port", ""],
        ["port", "--write", "--out", ""],
        ["portability", ""],
        ["report", ""],
    ],
)
def test_2_an_empty_path_is_not_the_current_folder(project, words):
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 2
    assert "the path is empty" in result.stderr


def test_3_a_named_file_that_does_not_parse(project):
    (project / "broken.py").write_text("def f(:\n")
    for paths in (["broken.py"], ["clean.py", "broken.py"], ["breaks.py", "broken.py"]):
        result = audit(*paths)
        assert result.exit_code == 3
        assert "syntax-error" in result.stdout
    # found below a folder, it is listed and does not hide what else there is
    below = audit(".")
    assert below.exit_code == 1
    assert "broken.py:1  syntax-error" in below.stdout


def test_3_everything_too_large(project):
    folder = project / "big"
    folder.mkdir()
    (folder / "a.py").write_bytes(b"#" * 5_000_001)
    result = audit("big")
    assert result.exit_code == 3
    assert "everything, could not be looked at" in result.stdout
    assert "nothing is left to be read in big (1 too-large): nothing was looked at" in result.stderr
    (folder / "b.py").write_text("x = 1\n")
    assert audit("big").exit_code == 0


def test_what_is_left_out_on_purpose_fails_nothing_and_is_said(project):
    folder = project / "mine"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    (folder / ".gitignore").write_text("*.py\n*.h\n*.json\n")
    for name in ("version.h", "data.json"):
        (folder / name).write_text("")
    result = audit("mine")
    assert result.exit_code == 0
    assert "1 ignored" in result.stderr
    # what is not read anyway is no loss
    assert "0 lines looked at; 1 not looked at" in result.stdout
    assert "version.h" not in result.stdout


def test_3_everything_unreadable(project):
    folder = project / "only"
    folder.mkdir()
    (folder / "broken.py").write_text("def f(:\n")
    assert audit("only").exit_code == 3


def test_a_path_without_python_says_so(project):
    (project / "empty").mkdir()
    (project / "other").mkdir()
    (project / "other" / "x.bin").write_bytes(b"\0")
    for name in ("empty", "other"):
        result = audit(name)
        assert result.exit_code == 0
        assert f"no Python file in {name}" in result.stderr
        assert "nothing was looked at, so nothing is known" in result.stdout


def test_what_is_not_read_is_counted_once(project):
    (project / "broken.py").write_text("def f(:\n")
    (project / "data.bin").write_bytes(b"\0")
    for arguments in (["."], ["broken.py", "data.bin"]):
        document = json.loads(audit(*arguments, "--format", "json").stdout)
        assert document["tree"]["not_read"] == 1


# ---- what is audited -------------------------------------------------------------------------------


def test_standard_input(project):
    assert found("-", stdin=BREAKS) == [("<stdin>", 1, RULE)]
    assert found("-", "--stdin-filename", "src/a.py", stdin=BREAKS)[0][0] == "src/a.py"
    assert audit("-", stdin=CLEAN).exit_code == 0
    assert audit("-", stdin=BREAKS).exit_code == 1
    assert audit("-", stdin="def f(:\n").exit_code == 3
    assert audit("-", stdin=b"\0").exit_code == 3
    assert {f[0] for f in found("-", "breaks.py", stdin=BREAKS)} == {"<stdin>", "breaks.py"}


def test_several_paths_and_the_same_one_twice(project):
    assert [f[0] for f in found("breaks.py", "note.py")] == ["breaks.py", "note.py"]
    assert [f[0] for f in found("breaks.py", "breaks.py", ".")] == ["breaks.py", "note.py"]


def test_exclude(project):
    assert [f[0] for f in found("--exclude", "breaks.py")] == ["note.py"]
    # what is named is looked at whatever patterns say
    assert [f[0] for f in found("breaks.py", "--exclude", "breaks.py")] == ["breaks.py"]


# ---- what counts -----------------------------------------------------------------------------------


def test_fail_on(project):
    assert [audit("note.py", "--fail-on", x).exit_code for x in ("error", "warning", "note")] == [
        0,
        0,
        1,
    ]
    assert [audit("breaks.py", "--fail-on", x).exit_code for x in ("error", "note", "none")] == [
        1,
        1,
        0,
    ]


@pytest.mark.parametrize(
    ("path", "role"),
    [("tests/test_a.py", "test"), ("examples/a.py", "example"), ("third_party/a.py", "vendored")],
)
def test_only_code_fails_a_run_unless_asked(project, path, role):
    folder = project / "tree"
    (folder / path).parent.mkdir(parents=True)
    (folder / path).write_text(BREAKS)
    (folder / "code.py").write_text(CLEAN)
    assert [f[0] for f in found("tree")] == [path]
    assert audit("tree").exit_code == 0
    assert audit("tree", "--fail-role", role).exit_code == 1
    assert audit("tree", "--fail-role", "code").exit_code == 0


def test_select_and_ignore(project):
    assert found("--select", RULE)
    assert found("--select", "libraries")
    assert found("--select", "api/flash_attn*")
    assert [f[0] for f in found("--select", "breaks")] == ["breaks.py"]
    assert found("--ignore", RULE) == []
    assert [f[0] for f in found("--ignore", "locks-in")] == ["breaks.py"]
    assert audit("breaks.py", "--ignore", RULE).exit_code == 0


def test_two_targets_side_by_side(project):
    document = json.loads(
        audit("breaks.py", "-t", "native", "-t", "xla@2.30:trn1", "--format", "json").stdout
    )
    (finding,) = document["findings"]
    assert [t.partition("@")[0] for t in finding["verdict"]] == ["native", "xla"]
    assert "xla@2.30:trn1" in finding["by_target"]


# ---- configuration ---------------------------------------------------------------------------------


def test_settings_are_found_above_the_path_and_options_win(project):
    (project / "neuronport.toml").write_text(f'ignore = ["{RULE}"]\ntarget = ["xla"]\n')
    folder = project / "a" / "b"
    folder.mkdir(parents=True)
    (folder / "c.py").write_text(BREAKS)
    assert audit("a/b").exit_code == 0
    assert "xla@" in audit("a/b").stdout
    assert "xla@" not in audit("a/b", "--target", "native").stdout
    assert audit("a/b", "--ignore", "recompiles").exit_code == 1
    assert audit("a/b", "--no-config").exit_code == 1


def test_settings_in_pyproject(project):
    (project / "pyproject.toml").write_text('[tool.neuronport]\nfail-on = "none"\n')
    assert audit().exit_code == 0
    (project / "pyproject.toml").write_text('[tool.other]\nfail-on = "none"\n')
    assert audit().exit_code == 1


@pytest.mark.parametrize("name", ["neuronport.toml", "pyproject.toml"])
@pytest.mark.parametrize(
    ("text", "reason", "remedy"),
    [
        ('colour = "red"', "unknown key 'colour'", "known: baseline, contract, exclude"),
        ('target = "native"', "target is to be", "a list of strings"),
        ('exclude = "x"', "exclude is to be", "a list of strings"),
        ("contract = 3", "contract is to be", "a table"),
        ("report = 3", "unknown key 'report'", "known: baseline"),
        ("jobs = true", "jobs is to be", "a number"),
        ("select = [1]", "select is to be", "a list of strings"),
        ('include-ignored = "yes"', "include-ignored is to be", "true or false"),
        ('fail-on = "loud"', "'loud'", ""),
        ('fail-roles = ["prod"]', "'prod'", ""),
        ('target = ["tpu"]', "target: unknown path 'tpu'", "known: native, xla"),
        ('select = ["no-such-rule"]', "'no-such-rule' is no rule", "`neuronport rules`"),
        ('baseline = "none.json"', "none.json: cannot be read", "--write-baseline"),
        ("this is not = = toml", "not valid TOML", ""),
    ],
)
def test_a_bad_setting_names_the_file_the_reason_and_the_remedy(
    project, name, text, reason, remedy
):
    head = "[tool.neuronport]\n" if name == "pyproject.toml" else ""
    (project / name).write_text(head + text + "\n")
    result = audit("clean.py")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert (name in result.stderr) or "baseline" in text
    assert reason in result.stderr
    assert remedy in result.stderr
    assert "Traceback" not in result.stderr


def test_bytes_that_are_no_text_in_a_setting(project):
    (project / "neuronport.toml").write_bytes(b"target = '\xff'\n")
    result = audit("clean.py")
    assert result.exit_code == 2
    assert "neuronport.toml: not valid TOML" in result.stderr


# ---- output ----------------------------------------------------------------------------------------


def test_files_and_stdout_at_once(project):
    out = project / "out"
    out.mkdir()
    result = audit(
        "breaks.py",
        "--format=github",
        "--output=json=out/a.json",
        "-o",
        "sarif=out/a.sarif",
        "--output=text=out/a.txt",
    )
    assert result.exit_code == 1
    assert "::error file=breaks.py" in result.stdout
    assert json.loads((out / "a.json").read_text())["findings"]
    assert json.loads((out / "a.sarif").read_text())["version"] == "2.1.0"
    assert "\x1b" not in (out / "a.txt").read_text()


def test_a_place_that_cannot_be_written(project):
    for path in ("none/a.sarif", "."):
        result = audit("clean.py", "--output", f"sarif={path}")
        assert result.exit_code == 2
        assert f"{path}: cannot be written" in result.stderr


def test_quiet(project):
    result = audit("breaks.py", "-q")
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", "")


def test_colour(project):
    assert "\x1b" not in neuronport("audit", "breaks.py", cwd=project).stdout
    forced = neuronport("audit", "breaks.py", cwd=project, env={"FORCE_COLOR": "1"})
    assert "\x1b[" in forced.stdout
    both = {"FORCE_COLOR": "1", "NO_COLOR": "1"}
    assert "\x1b" not in neuronport("audit", "breaks.py", cwd=project, env=both).stdout


def test_data_on_stdout_and_nothing_else(project):
    done = neuronport("audit", "--format", "json", cwd=project)
    assert json.loads(done.stdout)["findings"]
    assert done.stderr == ""


# ---- baseline --------------------------------------------------------------------------------------


def test_a_baseline_accepts_what_is_there_and_keeps_reasons(project):
    written = audit("--write-baseline", "known.json", "-q")
    assert written.exit_code == 0
    assert written.stderr == "2 findings accepted in known.json\n"
    assert audit("--baseline", "known.json").exit_code == 0
    assert found("--baseline", "known.json") == []

    document = json.loads((project / "known.json").read_text())
    document["findings"][0]["reason"] = "until the new kernel"
    (project / "known.json").write_text(json.dumps(document))
    shown = json.loads(audit("--baseline", "known.json", "--format", "json").stdout)
    assert "until the new kernel" in json.dumps(shown)

    # a new finding fails; accepting it keeps the reason of the old one
    (project / "more.py").write_text(BREAKS)
    assert [f[0] for f in found("--baseline", "known.json")] == ["more.py"]
    assert audit("--baseline", "known.json").exit_code == 1
    audit("--write-baseline", "known.json", "-q")
    after = json.loads((project / "known.json").read_text())
    reasons = {row["path"]: row["reason"] for row in after["findings"]}
    assert reasons == {"breaks.py": "until the new kernel", "note.py": "", "more.py": ""}


def test_a_baseline_survives_edits_elsewhere(project):
    audit("--write-baseline", "known.json", "-q")
    (project / "breaks.py").write_text("# a comment\n\nimport os\n\n" + BREAKS)
    assert found("--baseline", "known.json") == []


def test_a_baseline_beside_the_settings(project):
    audit("--write-baseline", "known.json", "-q")
    (project / "neuronport.toml").write_text('baseline = "known.json"\n')
    sub = project / "sub"
    sub.mkdir()
    (sub / "clean.py").write_text(CLEAN)
    assert audit("sub").exit_code == 0
    assert audit(".").exit_code == 0


@pytest.mark.parametrize("text", ["{", "[]", '{"neuronport_baseline": 99}', "\ud800", "[" * 9999])
def test_a_broken_baseline_is_a_usage_error(project, text):
    (project / "known.json").write_text(text, encoding="utf-8", errors="surrogatepass")
    for option in ("--baseline", "--write-baseline"):
        result = audit("--no-config", option, "known.json")
        assert result.exit_code == 2, option
        assert "known.json" in result.stderr
    assert (project / "known.json").read_bytes() == text.encode("utf-8", "surrogatepass")


def test_a_baseline_that_cannot_be_written(project):
    result = audit("--write-baseline", os.path.join("none", "known.json"))
    assert result.exit_code == 2
    assert "known.json: cannot be written" in result.stderr


def test_paths_for_servers_begin_at_the_repository(project):
    """`audit src` in a repository: an annotation at `a.py` would be at no file."""
    (project / ".git").mkdir()
    (project / "src").mkdir()
    (project / "src" / "a.py").write_text(BREAKS)
    assert "file=src/a.py," in audit("src", "--format", "github").stdout
    sarif = json.loads(audit("src", "--format", "sarif").stdout)
    locations = [r["locations"][0]["physicalLocation"] for r in sarif["runs"][0]["results"]]
    assert {x["artifactLocation"]["uri"] for x in locations} == {"src/a.py"}
    rows = json.loads(audit("src", "--format", "gitlab").stdout)
    assert {row["location"]["path"] for row in rows} == {"src/a.py"}
    assert {path for path, _, _ in found("src")} == {"a.py"}
    assert "file=src/a.py," in audit("src/a.py", "--format", "github").stdout


def test_what_a_baseline_accepts_does_not_work_for_that(project):
    audit("breaks.py", "--write-baseline", "known.json")
    report = audit("breaks.py", "--baseline", "known.json").stdout
    assert "0 of 1 device-specific place (0 %)" in report
    assert "nothing new found" in report


def test_the_full_format_does_not_name_itself_as_the_next_step(project):
    assert "--format full" in audit("breaks.py").stdout
    assert "--format full" not in audit("breaks.py", "--format", "full").stdout


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
def test_names_that_are_no_text_are_their_bytes_in_sarif(project):
    folder = os.fsencode(project) + b"/f\xe9"
    os.mkdir(folder)
    (project / ".git").mkdir()
    with open(folder + b"/bad\xff\xfe\\x41.py", "w") as file:
        file.write(BREAKS)
    for path in (".", os.fsdecode(folder)):
        sarif = json.loads(audit(path, "--format", "sarif").stdout)
        found = {
            r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            for r in sarif["runs"][0]["results"]
        }
        assert "f%E9/bad%FF%FE%5Cx41.py" in found
