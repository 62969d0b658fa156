"""Bytes to text and back, losing nothing: byte order mark, encoding and newlines are kept."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from io import BytesIO
from tokenize import detect_encoding

from neuronport.workspace.files import WorkspaceError


class Undecodable(WorkspaceError):  # noqa: N818 - the words are those of the rows
    """Not text. Reasons: ``not-text`` (NUL bytes), ``unknown-encoding``, ``undecodable``."""


@dataclass(frozen=True, slots=True)
class Decoded:
    text: str
    """Without the byte order mark, newlines as they are."""
    encoding: str
    """A codec's name that ``str.encode`` takes."""
    bom: bool
    exact: bool = True
    """``encode`` gives the same bytes. False for a few stateful encodings: do not rewrite."""

    @property
    def newline(self) -> str:
        """``\\n``, ``\\r\\n``, ``\\r`` or ``mixed``; ``\\n`` when there is none."""
        both = self.text.count("\r\n")
        counts = {
            "\r\n": both,
            "\r": self.text.count("\r") - both,
            "\n": self.text.count("\n") - both,
        }
        there = [newline for newline, count in counts.items() if count]
        if len(there) > 1:
            return "mixed"
        return there[0] if there else "\n"


_BOMS = (  # the longer first: UTF-32's begins with UTF-16's
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BOM_OF = {encoding: bom for bom, encoding in _BOMS}
_EXACT = frozenset({"utf-8", "ascii", "iso8859-1"})
"""Encodings in which every text has one form only; for the others it is tried."""
_NEWLINE = re.compile(r"\r\n|\r|\n")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def decode_python(data: bytes) -> Decoded:
    """The text of a Python file, in the encoding Python itself would read it in (PEP 263)."""
    for bom, encoding in _BOMS[1:]:
        if data.startswith(bom):
            raise Undecodable("not-text", f"{encoding[:6].upper()}: Python does not read it")
    if b"\0" in data:
        raise Undecodable("not-text", "holds NUL bytes")
    # The declaration stands in the first two lines, and a lone \r ends a line too.
    head = _first_two_lines(data)
    try:
        declared, _ = detect_encoding(BytesIO(head).readline)
    except SyntaxError as error:
        # Python looks for a declaration only in lines that are UTF-8.
        reason = "unknown-encoding" if _is_utf8(head) else "undecodable"
        raise Undecodable(reason, str(error)) from None
    bom_there = declared == "utf-8-sig"
    encoding = "utf-8" if bom_there else declared
    if not getattr(codecs.lookup(encoding), "_is_text_encoding", True):
        raise Undecodable("unknown-encoding", f"{encoding} is not an encoding of text")
    return _decode(data[3:] if bom_there else data, encoding, bom_there)


def decode_text(data: bytes) -> Decoded:
    """The text of any other file: by its byte order mark, else UTF-8, else Latin-1.

    Latin-1 takes every byte and gives it back, on every machine alike: what matters in such a
    file is ASCII.
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return _decode(data[len(bom) :], encoding, True)
    if b"\0" in data:
        raise Undecodable("not-text", "holds NUL bytes")
    return _decode(data, "utf-8" if _is_utf8(data) else "iso8859-1", False)


def encode(decoded: Decoded) -> bytes:
    """The bytes of a text; of an unchanged one, the bytes it was decoded from.

    Raises Undecodable with reason ``not-exact``: that cannot be promised; ``unencodable``: the
    text now has a character its encoding has not.
    """
    if not decoded.exact:
        raise Undecodable("not-exact", f"{decoded.encoding} would not give the same bytes back")
    try:
        data = decoded.text.encode(decoded.encoding)
    except UnicodeError as error:
        raise Undecodable("unencodable", str(error)) from error
    return _BOM_OF[decoded.encoding] + data if decoded.bom else data


def split_lines(text: str) -> list[str]:
    """Lines with their ends, as Python counts them: a form feed or U+2028 ends no line."""
    if "\r" in text:
        return _LINE.findall(text)
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _decode(data: bytes, encoding: str, bom: bool) -> Decoded:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = len(_NEWLINE.findall(data[: error.start].decode("latin-1"))) + 1
        detail = f"line {line}: not {encoding}: {error.reason}"
        raise Undecodable("undecodable", detail) from None
    except (UnicodeError, LookupError, ValueError) as error:
        raise Undecodable("undecodable", f"not {encoding}: {error}") from None
    if not isinstance(text, str):
        raise Undecodable("unknown-encoding", f"{encoding} is not an encoding of text")
    exact = codecs.lookup(encoding).name in _EXACT
    if not exact:
        try:
            exact = text.encode(encoding) == data
        except UnicodeError:
            exact = False
    return Decoded(text, encoding, bom, exact)


def _first_two_lines(data: bytes) -> bytes:
    lines, start = [], 0
    for _ in range(2):
        ends = [at for at in (data.find(b"\n", start), data.find(b"\r", start)) if at >= 0]
        if not ends:
            lines.append(data[start:])
            break
        end = min(ends)
        lines.append(data[start:end] + b"\n")
        start = end + (2 if data.startswith(b"\r\n", end) else 1)
    return b"".join(lines)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
