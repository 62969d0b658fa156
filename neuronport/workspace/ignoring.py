"""Ignore patterns as git means them.

Patterns are translated by ``pathspec``. They are matched here, one entry of a folder at a time,
as git does on its way down: a folder that is ignored is not entered, so a pattern need never
match what is below one. That is what makes negation come out right, and it is linear.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

from pathspec import GitIgnoreSpec

from neuronport.workspace.files import Unreadable, read_regular

_MAX_SMALL = 1_000_000
_NEVER = "(?!)"
_FOLDER_MARK = re.compile(r"\(\?P<\w+>/\)")
"""Where pathspec's expression goes on to what is below a matching folder."""


@dataclass(frozen=True, slots=True)
class _Rule:
    expression: re.Pattern[str]
    ignores: bool
    """False: a ``!`` pattern."""
    only_folders: bool
    only_name: bool
    """Matches the entry's name wherever it is; else its path from the file with the patterns."""
    pattern: str


class Ignores:
    """The patterns of one file."""

    __slots__ = ("_any_name", "_any_path", "_names", "_rules")

    def __init__(self, lines: Iterable[str]) -> None:
        # Git lets the last match win: look from the end, stop at the first.
        self._rules = [rule for line in lines if (rule := _rule(line)) is not None][::-1]
        self._any_name = _any(rule for rule in self._rules if rule.only_name)
        self._any_path = _any(rule for rule in self._rules if not rule.only_name)
        self._names: dict[tuple[str, bool], str | None] = {}

    def __bool__(self) -> bool:
        return bool(self._rules)

    def match(self, name: str, path: str, is_folder: bool) -> str | None:
        """The pattern that decides about an entry, ``!`` first when it brings it back.

        ``path`` is relative to the folder that holds the patterns.
        """
        if self._any_path is not None and self._any_path.match(path):
            return self._decide(name, path, is_folder)
        # What depends on the name alone is decided once: names repeat all over a tree.
        key = (name, is_folder)
        try:
            return self._names[key]
        except KeyError:
            found = None
            if self._any_name is not None and self._any_name.match(name):
                found = self._decide(name, None, is_folder)
            self._names[key] = found
            return found

    def _decide(self, name: str, path: str | None, is_folder: bool) -> str | None:
        for rule in self._rules:
            if rule.only_folders and not is_folder:
                continue
            subject = name if rule.only_name else path
            if subject is not None and rule.expression.match(subject):
                return rule.pattern
        return None


def _any(rules: Iterable[_Rule]) -> re.Pattern[str] | None:
    together = "|".join(f"(?:{rule.expression.pattern})" for rule in rules)
    return re.compile(together, re.DOTALL) if together else None


def _rule(line: str) -> _Rule | None:
    pattern = re.sub(r"(?<!\\) +$", "", line)
    if not pattern or pattern.startswith("#"):
        return None
    body = pattern[1:] if pattern.startswith("!") else pattern
    only_folders = body.endswith("/")
    body = body[:-1] if only_folders else body
    only_name = "/" not in body
    if not body.strip("/"):
        return None
    try:
        # With a slash in front every pattern is anchored and means itself: no ``#``, no ``!``.
        (translated,) = GitIgnoreSpec.from_lines([f"/{body.removeprefix('/')}"]).patterns
        expression = getattr(translated, "regex", None)
        if expression is None:
            return None
        compiled = re.compile(_tamed(_FOLDER_MARK.sub(_NEVER, expression.pattern)), re.DOTALL)
    except (ValueError, re.error):  # git never matches a pattern it cannot make sense of
        return None
    return _Rule(compiled, not pattern.startswith("!"), only_folders, only_name, pattern)


def _tamed(expression: str) -> str:
    """The same expression, in which many stars in one name do not try every way to share it out.

    What stands between two stars matches a fixed number of characters, so the first place it is
    found is as good as any: ``*a*b*`` becomes ``(?>[^/]*?a)(?>[^/]*?b)[^/]*``.
    """
    done: list[str] = []
    star: int | None = None
    for token in _TOKEN.findall(expression):
        if token == "[^/]*":
            if star is not None:
                between = "".join(done[star + 1 :])
                done[star:] = [f"(?>[^/]*?{between})"]
            star = len(done)
        elif token in ("/", "(", ")", "|", "?", "+", "*", "$", "^"):
            star = None  # another name, or the expression's own structure
        elif len(token) > 1 and token[0] == "[" and token != "[^/]":
            token = f"(?!/){token}"  # a bracket never matches the slash between names
        done.append(token)
    return "".join(done)


_TOKEN = re.compile(r"\\.|\[\^/\]\*|\[\^?\]?[^\]]*\]|.", re.DOTALL)


def read_ignores(path: str) -> Ignores | None:
    """The patterns of the file at ``path``; ``None``: there are none that can be read."""
    text = read_small(path)
    if not text:
        return None
    found = Ignores(line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n"))
    return found or None


def read_small(path: str) -> str:
    """The text of a small configuration file; empty when it is not there or is not a file."""
    try:
        return read_regular(path, _MAX_SMALL).decode("utf-8", "surrogateescape")
    except Unreadable:
        return ""


@dataclass(frozen=True, slots=True)
class Chain:
    """The pattern files that hold in a folder, the nearest first."""

    ignores: Ignores
    base: int
    """How many characters of a path the folder of the patterns takes, its ``/`` included."""
    outer: Chain | None

    def match(self, name: str, path: str, is_folder: bool) -> str | None:
        """The pattern by which the entry is ignored."""
        link: Chain | None = self
        while link is not None:
            found = link.ignores.match(name, path[link.base :], is_folder)
            if found is not None:
                return None if found.startswith("!") else found
            link = link.outer
        return None


def repository_root(folder: str) -> str | None:
    """The work tree of git that ``folder`` is in."""
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def git_folder(root: str) -> str:
    """Where a work tree's own git data is: in ``.git``, or where the file ``.git`` points."""
    dot_git = os.path.join(root, ".git")
    text = read_small(dot_git)
    if text.startswith("gitdir:"):
        return os.path.join(root, text.removeprefix("gitdir:").strip())
    return dot_git


def exclude_file(root: str) -> str:
    """The work tree's ``info/exclude``; a linked work tree has it in common with its main one."""
    folder = git_folder(root)
    common = read_small(os.path.join(folder, "commondir")).strip()
    return os.path.join(folder, common, "info", "exclude")
