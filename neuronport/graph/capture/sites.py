"""Which line of the user's, and which of a library, an operator comes from."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from types import FrameType
from typing import Any
from unittest import mock

import torch

Frame = tuple[str, int, str]
"""File, line, function; of a stack the outermost comes first."""

_OWN = os.path.dirname(os.path.abspath(__file__))
_TORCH = os.path.dirname(os.path.abspath(torch.__file__))


def _folders(*keys: str) -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return tuple({os.path.abspath(paths[key]) + os.sep for key in keys})


_PACKAGES, _STANDARD = _folders("purelib", "platlib"), _folders("stdlib", "platstdlib")
_INSTALLED = re.compile(r"[/\\](?:site|dist)-packages[/\\]")
_FRAME = re.compile(r'^\s*File "([^"]+)", line (\d+), in (.+)$', re.MULTILINE)


@cache
def kind(file: str) -> str:
    """``user``, ``library``, or empty for torch, Python's own library, this tool and code without a
    file."""
    if file.startswith("<"):
        return ""
    path = os.path.abspath(file)
    if path.startswith((_TORCH + os.sep, _OWN + os.sep)):
        return ""
    if path.startswith(_PACKAGES) or _INSTALLED.search(path):
        return "library"
    return "" if path.startswith(_STANDARD) else "user"


def of_text(stack: str | None) -> list[Frame]:
    """The frames of a stack as torch writes it."""
    return [(file, int(line), name) for file, line, name in _FRAME.findall(stack or "")]


def of_exception(error: BaseException) -> list[Frame]:
    """Where an exception was raised: the frames of its traceback and of what caused it."""
    frames: list[Frame] = []
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        trace = current.__traceback__
        own: list[Frame] = []
        while trace is not None:
            code = trace.tb_frame.f_code
            own.append((code.co_filename, trace.tb_lineno, code.co_name))
            trace = trace.tb_next
        frames = own + frames if not frames else frames + own
        current = current.__cause__ or current.__context__
    return frames


def here(frame: FrameType | None = None) -> list[Frame]:
    """The frames of the running code, without torch's."""
    frames: list[Frame] = []
    current: FrameType | None = frame if frame is not None else sys._getframe(1)
    while current is not None:
        code = current.f_code
        if kind(code.co_filename):
            frames.append((code.co_filename, current.f_lineno, code.co_name))
        current = current.f_back
    frames.reverse()
    return frames


class Frames:
    """Stands in for torch's own recording of stacks, which keeps only functions called ``forward``:
    a line of a helper would be lost. Cheaper, too: torch's own frames are not looked at."""

    def __init__(self, frames: list[Frame]) -> None:
        self.frames = frames

    @classmethod
    def extract(cls, **_: Any) -> Frames:
        return cls(here(sys._getframe(1)))

    def summary(self) -> Frames:
        return self

    def __len__(self) -> int:
        return len(self.frames)

    def format(self) -> list[str]:
        """As ``traceback`` would, without looking up lines."""
        return [f'  File "{file}", line {line}, in {name}\n' for file, line, name in self.frames]


@contextlib.contextmanager
def whole_stacks() -> Iterator[None]:
    """Nodes made within keep every frame outside torch."""
    with contextlib.ExitStack() as stack:
        if hasattr(torch.fx.proxy, "CapturedTraceback"):
            stack.enter_context(mock.patch.object(torch.fx.proxy, "CapturedTraceback", Frames))
        tracer = torch.fx.proxy.TracerBase
        if hasattr(tracer, "_filter_traceback_frames"):
            keep = mock.patch.object(tracer, "_filter_traceback_frames", lambda self, found: found)
            stack.enter_context(keep)
        yield


def split(frames: Sequence[Frame]) -> tuple[Frame | None, Frame | None]:
    """The deepest frame of the user, and the deepest of a library below it."""
    user: Frame | None = None
    library: Frame | None = None
    for frame in frames:
        which = kind(frame[0])
        if which == "user":
            user, library = frame, None
        elif which == "library":
            library = frame
    return user, library


class Sites:
    """Frames by number, so that thousands of nodes can name them."""

    def __init__(self) -> None:
        self._numbers: dict[Frame, int] = {}

    def number(self, frame: Frame | None) -> int | None:
        if frame is None:
            return None
        return self._numbers.setdefault(frame, len(self._numbers))

    def of(self, frames: Iterable[Frame]) -> dict[str, Any]:
        """``{"user": 3, "library": 7}``, what is not known left out."""
        user, library = split(list(frames))
        found = {"user": self.number(user), "library": self.number(library)}
        return {key: value for key, value in found.items() if value is not None}

    def as_json(self) -> list[dict[str, Any]]:
        return [
            {"file": os.path.abspath(file), "line": line, "function": function, "kind": kind(file)}
            for file, line, function in self._numbers
        ]
