"""Settings of a project: ``[tool.neuronport]`` in pyproject.toml, or neuronport.toml."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_LISTS = ("target", "select", "ignore", "exclude", "extend-exclude", "fail-roles")
_WORDS = ("fail-on", "baseline")
_NUMBERS = ("jobs",)
_SWITCHES = ("include-ignored",)
_TABLES = ("contract",)
"""Checked by who reads them."""


class ConfigError(ValueError):
    """A configuration that cannot be used; names the file, the key and the remedy."""


@dataclass(frozen=True)
class Config:
    file: str = ""
    """Where the settings came from; empty: there are none."""
    values: Mapping[str, Any] = field(default_factory=dict)

    def get(self, key: str, default: Any = None) -> Any:
        return self.values.get(key, default)


def find(start: str) -> Config:
    """The nearest configuration in ``start`` or a folder above it, up to a repository's root."""
    folder = os.path.abspath(start if os.path.isdir(start) else os.path.dirname(start) or ".")
    while True:
        own = os.path.join(folder, "neuronport.toml")
        if os.path.isfile(own):
            return read(own)
        project = os.path.join(folder, "pyproject.toml")
        if os.path.isfile(project):
            found = read(project)
            if found.values:
                return found
        parent = os.path.dirname(folder)
        if parent == folder or os.path.isdir(os.path.join(folder, ".git")):
            return Config()
        folder = parent


def read(path: str) -> Config:
    """The settings in one file.

    Raises ConfigError: it cannot be read or parsed, a key is unknown or of the wrong type.
    """
    try:
        with open(path, "rb") as file:
            document = tomllib.load(file)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        if os.path.basename(path) == "pyproject.toml":
            # Somebody else's file: what it says about us cannot be known, so say so.
            raise ConfigError(
                f"{path}: not valid TOML ({error}); mend it or pass --no-config"
            ) from None
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    if os.path.basename(path) == "pyproject.toml":
        tool = document.get("tool")
        values = tool.get("neuronport", {}) if isinstance(tool, dict) else {}
    else:
        values = document
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: [tool.neuronport] is to be a table")
    return Config(path, {key: _checked(path, key, value) for key, value in values.items()})


def _checked(path: str, key: str, value: Any) -> Any:
    if key in _LISTS:
        if isinstance(value, list) and all(isinstance(v, str) for v in value):
            return value
        raise ConfigError(f"{path}: {key} is to be a list of strings")
    expected: tuple[tuple[str, ...], type, str]
    for expected in (
        (_WORDS, str, "a string"),
        (_NUMBERS, int, "a number"),
        (_SWITCHES, bool, "true or false"),
        (_TABLES, dict, "a table"),
    ):
        keys, kind, words = expected
        if key in keys:
            if key == "jobs" and type(value) is int and value < 1:
                raise ConfigError(f"{path}: jobs is to be 1 or more")
            if type(value) is kind:
                return value
            raise ConfigError(f"{path}: {key} is to be {words}")
    known = ", ".join(sorted((*_LISTS, *_WORDS, *_NUMBERS, *_SWITCHES, *_TABLES)))
    raise ConfigError(f"{path}: unknown key {key!r}; known: {known}")
