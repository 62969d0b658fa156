"""No input ends the audit, hangs it or is dropped in silence."""

from __future__ import annotations

import ast
import contextlib
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from neuronport.audit import Part, audit_serially
from neuronport.findings import Role
from neuronport.pool import audit_python
from neuronport.readers.python import evaluate
from neuronport.readers.python.facts import Span
from neuronport.rulebook.judge import locate
from neuronport.targets import resolve
from neuronport.workspace import open_workspace
from neuronport.workspace.files import StdinFile
from tests.audit import broken

TARGETS = [resolve("native"), resolve("xla")]
SECONDS = 20
"""Far above what any of these takes."""
PROGRAMS = {
    **{f"not_python/{k}": v for k, v in broken.NOT_PYTHON.items()},
    **{f"deep/{k}": v for k, v in broken.DEEP.items()},
    **{f"strange/{k}": v for k, v in broken.STRANGE.items()},
    **{f"encoding/{k}": broken.encoded(k) for k in broken.ENCODINGS},
}


@contextlib.contextmanager
def within(seconds: int) -> Iterator[None]:
    """Fail instead of hanging, where the platform can. Processor time: the machine may be busy."""
    if not hasattr(signal, "SIGPROF"):
        yield
        return

    def late(*_: object) -> None:
        raise AssertionError(f"still running after {seconds} s")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def judge(data: bytes, name: str = "case.py") -> Part:
    file = StdinFile(name, "", "python", Role.CODE, len(data), data)
    with within(SECONDS):
        return audit_serially([file], TARGETS, lambda phase: None)


def accounted_for(part: Part, files: int = 1) -> None:
    """Every file was looked at or says why not."""
    missed = {n.path for n in part.not_looked_at}
    assert part.looked_at + len(missed) == files
    for row in part.not_looked_at:
        assert row.reason
        assert row.detail, row.reason
        assert not row.detail.startswith(row.reason + ":")
    for finding in (*part.findings, *part.references, *part.suppressed):
        assert finding.location.line >= 1
        assert finding.location.column >= 1
        assert (finding.location.end_line, finding.location.end_column) >= (
            finding.location.line,
            finding.location.column,
        )
        assert finding.by_target


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_looked_at_or_says_why_not(name):
    accounted_for(judge(PROGRAMS[name]))


@pytest.mark.parametrize("name", broken.STRANGE)
def test_what_is_only_strange_is_looked_at(name):
    part = judge(broken.STRANGE[name])
    assert [n.reason for n in part.not_looked_at] == []


@pytest.mark.parametrize("encoding", broken.ENCODINGS)
def test_every_declared_encoding_is_read(encoding):
    part = judge(broken.encoded(encoding))
    assert part.looked_at == 1


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nul", "not-text"),
        ("binary", "not-text"),
        ("utf16", "not-text"),
        ("bad_cookie", "unknown-encoding"),
        ("cookie_hex", "unknown-encoding"),
        ("bad_utf8", "undecodable"),
        ("cookie_lies", "undecodable"),
        ("python2", "python-2"),
        ("jinja", "syntax-error"),
        ("prose", "syntax-error"),
        ("cut_bracket", "syntax-error"),
    ],
)
def test_the_reason_is_named(name, reason):
    assert [n.reason for n in judge(broken.NOT_PYTHON[name]).not_looked_at] == [reason]


def test_all_of_them_in_one_tree_in_several_processes(tmp_path, monkeypatch):
    """As in one process, and nobody dies of a neighbour."""
    for name, data in PROGRAMS.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    python = open_workspace([str(tmp_path)]).of_kind("python", "stub")
    assert len(python) == len(PROGRAMS)
    with within(60):
        serial = audit_serially(python, TARGETS, lambda phase: None)
    monkeypatch.setattr("neuronport.pool._WORTH_IT", 0)
    with within(60):
        parallel = audit_python(python, TARGETS, 2, lambda phase: None)
    accounted_for(serial, len(PROGRAMS))
    assert parallel == serial


@pytest.mark.parametrize("name", broken.TREES)
def test_trees_that_go_in_circles(name, tmp_path):
    for path, text in broken.TREES[name].items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    python = open_workspace([str(tmp_path)]).of_kind("python", "stub")
    with within(SECONDS):
        part = audit_serially(python, TARGETS, lambda phase: None)
    accounted_for(part, len(broken.TREES[name]))
    assert not part.not_looked_at


# ---- size ------------------------------------------------------------------------------------------


def test_fifty_megabytes_on_one_line(tmp_path):
    path = tmp_path / "huge.py"
    with path.open("wb") as file:
        file.write(b"x = '")
        for _ in range(50):
            file.write(b"a" * 1_000_000)
        file.write(b"'\n")
    (tmp_path / "small.py").write_text("x = 1\n")
    start = time.process_time()
    workspace = open_workspace([str(tmp_path)])
    part = audit_serially(workspace.of_kind("python"), TARGETS, lambda phase: None)
    assert time.process_time() - start < 5
    assert [(n.path, n.reason) for n in workspace.not_looked_at] == [("huge.py", "too-large")]
    assert part.looked_at == 1


def test_four_megabytes_on_one_line():
    """With a finding every few bytes, also where columns are not bytes."""
    for filler in ("a", "é"):
        word = f"'cuda', '{filler * 300}', "
        data = "import torch; x = [" + word * 8_000 + "]; torch.cuda.Event()\n"
        accounted_for(judge(data.encode()))


def test_a_hundred_thousand_lines():
    part = judge(b"import torch\n" + b"x = torch.zeros(1)\ny = x + 1\n" * 50_000)
    accounted_for(part)
    assert part.lines == 100_001


# ---- at random -------------------------------------------------------------------------------------

SAMPLE = sorted((Path(__file__).parents[2] / "samples").rglob("*.py"))
SOURCES = [path.read_bytes() for path in SAMPLE] + list(broken.STRANGE.values())
COMMON = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
WORDS = r"""
torch cuda device 'cuda' "cuda:0" is_available () ( ) [ ] { } : , . = == if else elif for in while
def class return lambda import from as try except finally with async await yield global nonlocal del
raise assert match case _ self x y * ** / // @ -> := + - not and or is None True f'{ }' b'' ... # ;
to Event zeros nn Module amp backward step pass \
"""
CHOICES = [*WORDS.split(), "\n", "\n\n", "\n    ", "\n\t"]


@COMMON
@given(st.binary(max_size=400))
@example(b"\xef\xbb\xbf\0")
@example(b"#coding:utf-7\n+AG-\n")
@example(b"#coding:unicode_escape\n\\n\\x00\n")
def test_random_bytes(data):
    accounted_for(judge(data))


@COMMON
@given(st.lists(st.sampled_from(CHOICES), max_size=40))
def test_random_words(words):
    accounted_for(judge(" ".join(words).encode()))


@COMMON
@given(st.sampled_from(SOURCES), st.floats(0, 1))
def test_programs_cut_anywhere(source, where):
    accounted_for(judge(source[: int(len(source) * where)]))


@COMMON
@given(st.sampled_from(SOURCES), st.integers(0, 2**32))
def test_programs_with_lines_lost_doubled_and_moved(source, seed):
    chance = random.Random(seed)
    lines = source.splitlines(keepends=True)
    for _ in range(chance.randint(1, 6)):
        if not lines:
            break
        at, to = chance.randrange(len(lines)), chance.randrange(len(lines))
        action = chance.randrange(3)
        if action == 0:
            del lines[at]
        elif action == 1:
            lines.insert(to, lines[at])
        else:
            lines[at], lines[to] = lines[to], lines[at]
    accounted_for(judge(b"".join(lines)))


@COMMON
@given(st.sampled_from(SOURCES), st.sampled_from(SOURCES), st.integers(0, 2**32))
def test_lines_of_two_programs_mixed(one, other, seed):
    chance = random.Random(seed)
    pool = one.splitlines(keepends=True) + other.splitlines(keepends=True)
    kept = [line for line in pool if chance.random() < 0.6]
    accounted_for(judge(b"".join(kept)))


@settings(deadline=None)
@given(st.text("aé€😀\ud800 ", max_size=30), st.integers(0, 40))
def test_columns_are_code_points(text, at):
    """The column of every character, from the offset of its first byte."""
    lines = [text]
    at = min(at, len(text))
    offset = len(text[:at].encode("utf-8", "surrogatepass"))
    assert locate("x", Span(1, offset, 1, offset), lines).column == at + 1


@pytest.mark.parametrize(
    ("table", "kind", "program"),
    [
        ("_EXPRS", ast.JoinedStr, "f'{flash_attn.flash_attn_func(q)}'"),
        ("_EXPRS", ast.NamedExpr, "print(x := flash_attn.flash_attn_func(q))"),
        ("_STMTS", ast.Assert, "assert flash_attn.flash_attn_func(q)"),
        ("_STMTS", ast.Return, "def f(q): return flash_attn.flash_attn_func(q)"),
    ],
)
def test_a_node_that_a_newer_python_may_have_is_looked_into(monkeypatch, table, kind, program):
    monkeypatch.delitem(getattr(evaluate, table), kind)
    part = judge(f"import flash_attn\n{program}\n".encode())
    assert (2, "api/flash_attn.flash_attn_func") in {
        (f.location.line, f.rule) for f in part.findings
    }
