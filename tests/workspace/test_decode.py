"""Bytes to text and back."""

from __future__ import annotations

import ast
import codecs
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuronport.workspace import (
    Decoded,
    Undecodable,
    decode_python,
    decode_text,
    encode,
    split_lines,
)


@pytest.mark.parametrize(
    ("data", "encoding", "bom", "newline", "text"),
    [
        (b"", "utf-8", False, "\n", ""),
        (b"x = 1\n", "utf-8", False, "\n", "x = 1\n"),
        (b"x = 1", "utf-8", False, "\n", "x = 1"),
        (b"a\r\nb\r\n", "utf-8", False, "\r\n", "a\r\nb\r\n"),
        (b"a\rb\r", "utf-8", False, "\r", "a\rb\r"),
        (b"a\r\nb\n", "utf-8", False, "mixed", "a\r\nb\n"),
        (b"\xef\xbb\xbfx\n", "utf-8", True, "\n", "x\n"),
        (b"\xef\xbb\xbf# coding: utf-8\n", "utf-8", True, "\n", "# coding: utf-8\n"),
        (b"# -*- coding: latin-1 -*-\n#\xe9\n", "iso-8859-1", False, "\n", None),
        (b"#!/x\n# vim: set fileencoding=cp1252 :\n#\x80\n", "cp1252", False, "\n", None),
        (b"#!/x\r# coding: cp1252\r#\x80\r", "cp1252", False, "\r", None),
        (b"x = 1\n\n# coding: latin-1\n", "utf-8", False, "\n", None),
        (b"# coding: euc-jp\n# \xa4\xa2\n", "euc-jp", False, "\n", "# coding: euc-jp\n# あ\n"),
    ],
)
def test_python(data: bytes, encoding: str, bom: bool, newline: str, text: str | None) -> None:
    decoded = decode_python(data)
    assert (decoded.encoding, decoded.bom, decoded.newline) == (encoding, bom, newline)
    assert text is None or decoded.text == text
    assert encode(decoded) == data


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"x\0y", "not-text"),
        (b"\x7fELF\x02\x01\x01\0\0", "not-text"),
        ("x = 1\n".encode("utf-16"), "not-text"),
        (codecs.BOM_UTF32_BE + "x".encode("utf-32-be"), "not-text"),
        (b"# coding: no-such\n", "unknown-encoding"),
        (b"# coding: rot13\n", "unknown-encoding"),
        (b"# coding: hex\n", "unknown-encoding"),
        (b"\xef\xbb\xbf# coding: latin-1\n", "unknown-encoding"),
        (b"x = '\xe9'\n", "undecodable"),
        (b"#\n#\nx = '\xe9'\n", "undecodable"),
        (b"# coding: ascii\nx = '\xe9'\n", "undecodable"),
        (b"# coding: idna\nx = '\xe9'\n", "undecodable"),
    ],
)
def test_python_that_cannot_be_read(data: bytes, reason: str) -> None:
    with pytest.raises(Undecodable) as caught:
        decode_python(data)
    assert caught.value.reason == reason
    assert caught.value.detail


def test_the_line_that_is_wrong_is_told() -> None:
    with pytest.raises(Undecodable, match="line 3"):
        decode_python(b"#\r\n\rx = '\xe9'\n")


@pytest.mark.parametrize(
    ("data", "encoding", "bom", "text"),
    [
        (b"torch==2.9\n", "utf-8", False, "torch==2.9\n"),
        ("torch==2.9\r\n".encode("utf-16"), "utf-16-le", True, "torch==2.9\r\n"),
        (codecs.BOM_UTF16_BE + "a\n".encode("utf-16-be"), "utf-16-be", True, "a\n"),
        ("a\n".encode("utf-32"), "utf-32-le", True, "a\n"),
        ("ä\n".encode("utf-8-sig"), "utf-8", True, "ä\n"),
        (b"# \xe4\n", "iso8859-1", False, "# ä\n"),
    ],
)
def test_other_text(data: bytes, encoding: str, bom: bool, text: str) -> None:
    decoded = decode_text(data)
    assert (decoded.encoding, decoded.bom, decoded.text) == (encoding, bom, text)
    assert encode(decoded) == data


@pytest.mark.parametrize("data", [b"\0", b"PK\x03\x04\0\0", b"\xff\xfea", b"\xff\xfe\0\xd8"])
def test_other_bytes_that_are_no_text(data: bytes) -> None:
    with pytest.raises(Undecodable):
        decode_text(data)


_COOKIES = st.sampled_from(
    [
        *(
            b"",
            b"\xef\xbb\xbf",
            b"# coding: latin-1\n",
            b"# coding: utf-8\r\n",
            b"#!x\r# coding=ascii\r",
        ),
        *(
            b"# coding: cp1252\n",
            b"# coding: shift_jis\n",
            b"# coding: utf-7\n",
            b"# coding: big5\n",
        ),
        *(b"# coding: iso-2022-jp\n", b"# coding: unicode_escape\n", b"# coding: utf-16\n"),
    ]
)


@given(
    _COOKIES, st.one_of(st.binary(), st.text().map(lambda t: t.encode("utf-8", "surrogatepass")))
)
def test_what_is_decoded_encodes_to_the_same_bytes(cookie: bytes, rest: bytes) -> None:
    for decode in (decode_python, decode_text):
        data = cookie + rest
        try:
            decoded = decode(data)
        except Undecodable:
            continue
        if decoded.exact:
            assert encode(decoded) == data
        else:
            with pytest.raises(Undecodable, match="not-exact"):
                encode(decoded)


@pytest.mark.parametrize(
    ("start", "encoding"),
    [
        (b"", "utf-8"),
        (b"\xef\xbb\xbf", "utf-8"),
        (b"# coding: latin-1\n", "latin-1"),
        (b"#!/x\r\n# vim:fileencoding=cp1252\r\n", "cp1252"),
        (b"# -*- coding: shift_jis -*-\n", "shift_jis"),
        (b"# coding=big5\n", "big5"),
    ],
)
@given(text=st.text(st.characters(exclude_characters="'\\¥", exclude_categories=["C", "Z"])))
def test_python_reads_the_same_program(start: bytes, encoding: str, text: str) -> None:
    # Some of these encodings write the yen sign as a backslash.
    data = start + f"x = '{text}'  # {text}\n".encode(encoding, "ignore")
    assert ast.dump(ast.parse(decode_python(data).text)) == ast.dump(ast.parse(data))


@given(st.text(alphabet=st.sampled_from("ab\r\n\f\v\x1c\x85\u2028é")))
def test_lines_are_those_of_python(text: str) -> None:
    lines = split_lines(text)
    assert "".join(lines) == text
    expected = io.StringIO(text, newline="").readlines()
    assert lines == expected


def test_a_change_the_encoding_cannot_hold_is_refused() -> None:
    with pytest.raises(Undecodable) as caught:
        encode(Decoded("あ", "iso8859-1", False))
    assert caught.value.reason == "unencodable"


def test_a_long_line_is_no_trouble() -> None:
    data = b"x = '" + b"a" * 5_000_000 + b"'"
    assert encode(decode_python(data)) == data
