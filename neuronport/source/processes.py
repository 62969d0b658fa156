"""Commands that a program starts, as far as its strings show: ``subprocess.run(["nvidia-smi"])``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event, Value
from neuronport.source.understanding import understanding

if TYPE_CHECKING:
    from neuronport.source.view import ModuleView

_SEPARATOR = re.compile(r"\|\||&&|[;|&\n(`]|\$\(")
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*=")
_CAUGHT = frozenset(("*", "OSError", "FileNotFoundError", "IOError", "EnvironmentError"))
_STARTS = re.compile(
    r"(?i)run|exec|call|popen|shell|spawn|command|cmd|launch|system|output|(?:^|_)sh$"
)
"""What functions that start programs are called."""


class Program(NamedTuple):
    """A command at a place."""

    name: str
    """Without its folder."""
    confidence: Confidence
    """How surely it is started, or looked for, rather than only named."""
    excused: str
    """Why the program goes on where the command is missing; empty: it does not."""


@cache
def processes() -> Mapping[str, Any]:
    """The parsed ``rules/understanding/processes.toml``; lists as sets."""
    raw = understanding("processes")
    return {k: frozenset(v) if isinstance(v, list) else v for k, v in raw.items()}


def programs(event: Event, view: ModuleView) -> Iterator[Program]:
    """The commands that a string names; only ``str`` events have any."""
    if event.kind != "str":
        return
    role, in_list = event.role, False
    while role[0] in ("elem", "branch"):
        in_list = in_list or role[0] == "elem"
        role = role[1]
    found = manner(role, view)
    if found is None:
        return
    confidence, excused = found
    if in_list or excused == "asked":
        words = event.name.split()
        if len(words) == 1:
            yield Program(_base(words[0]), confidence, _excuse(excused, event, view))
            return
    if (in_list or confidence is not Confidence.CERTAIN) and not _is_command(event.name):
        return
    seen = set()
    for name, asked in commands(event.name):
        if name not in seen:
            seen.add(name)
            why = "asked" if asked else excused
            yield Program(name, confidence, _excuse(why, event, view))


def manner(role: Any, view: ModuleView) -> tuple[Confidence, str] | None:
    """How surely a string at a place is a command, and whether a missing one is no error."""
    data = processes()
    tag = role[0]
    if tag == "arg":
        name = view.name(role[1])
        if name in data["finders"]:
            return Confidence.CERTAIN, "asked"
        if name in data["runners"]:
            if role[2] not in (0, "args", "cmd", "command", "program"):
                # ``create_subprocess_exec("sudo", "nvidia-smi")``: the rest are arguments.
                return (Confidence.CERTAIN, "") if isinstance(role[2], int) else None
            return Confidence.CERTAIN, "quiet" if name in data["quiet"] else ""
        last = name.rpartition(".")[2] or _last(role[1])
        return (Confidence.LIKELY, "") if _STARTS.search(last) else None
    if tag == "method":
        return (Confidence.LIKELY, "") if _STARTS.search(role[2]) else None
    if tag == "assign":
        return Confidence.LIKELY, ""
    if tag in ("attr", "field"):
        return Confidence.LIKELY, ""
    if tag in ("return", "default", "other", "value"):
        return Confidence.POSSIBLE, ""
    return None


def _last(value: Value) -> str:
    return str(value[2]) if value is not None and value[0] == "attr" else ""


def _base(word: str) -> str:
    return word.strip("'\"").replace("\\", "/").rpartition("/")[2].removesuffix(".exe")


def _is_command(text: str) -> bool:
    """Whether a text that nothing is known of looks like a command line, not like a sentence."""
    words = text.split()
    return len(words) == 1 or any(w.startswith(("-", "|", ">", "2>")) for w in words[1:4])


def _excuse(excused: str, event: Event, view: ModuleView) -> str:
    if excused == "asked":
        return "asks whether the command is there"
    if excused == "quiet":
        return ""
    if not _CAUGHT.isdisjoint(view.ctx(event).tries):
        return "except OSError"
    return ""


def commands(text: str) -> Iterator[tuple[str, bool]]:
    """The commands of a shell text in order, and whether each is only asked for."""
    data = processes()
    for part in _SEPARATOR.split(text):
        asked = False
        skip_option_value = False
        for word in part.replace("'", " ").replace('"', " ").split():
            if _ASSIGNMENT.match(word) or word.startswith("-"):
                skip_option_value = word in ("-n", "-u", "-v")
                asked = asked or word == "-v"
                continue
            if skip_option_value and word.replace(".", "").isdigit():
                continue
            name = _base(word)
            if name in data["askers"]:
                asked = True
                continue
            if name in data["wrappers"]:
                continue
            yield name, asked
            break
