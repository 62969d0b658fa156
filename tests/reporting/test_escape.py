from __future__ import annotations

import json
import re
import unicodedata
from html.parser import HTMLParser
from urllib.parse import unquote_to_bytes
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuronport.reporting import escape

# Surrogates too: names of files that are no text hold them.
ANY = st.text(
    st.one_of(
        st.characters(exclude_categories=()),
        st.sampled_from(
            "\x1b\x07\x9b\u202e\u2066\u200b\u2028\udc80\x00\r\n\t`|@#<>&\"'[](){}%:,\\"
        ),
    )
)
HIDDEN = {"Cc", "Cs", "Zl", "Zp"}
BIDI = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def assert_visible(text: str, but: str = "") -> None:
    for character in text:
        if character not in but:
            assert unicodedata.category(character) not in HIDDEN, repr(character)
            assert character not in BIDI, repr(character)


@given(ANY)
def test_nothing_reaches_a_terminal_as_control(text: str) -> None:
    shown = escape.terminal(text)
    assert_visible(shown)
    shown.encode("utf-8")


@given(ANY)
def test_lines_keep_only_line_breaks(text: str) -> None:
    shown = escape.lines(text)
    assert_visible(shown, "\n")
    assert shown.count("\n") == text.count("\n")


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_plain_text_is_left_alone(text: str) -> None:
    assert escape.terminal(text) == text
    assert escape.lines(text) == text
    assert escape.visible(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\u202eb", "a\\u202eb"),
        ("caf\udce9", "caf\\xe9"),
        ("a\tb", "a    b"),
        ("a\nb", "a\\x0ab"),
        ("\ud83d", "\\ud83d"),
        ("\U000e0041", "\\U000e0041"),
        ("größe 模型 é", "größe 模型 é"),
    ],
)
def test_how_the_unseen_is_shown(text: str, shown: str) -> None:
    assert escape.terminal(text) == shown


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.text += data


@given(ANY)
def test_html_stays_text(text: str) -> None:
    shown = escape.html(text)
    reader = _Reader()
    reader.feed(f'<p title="{shown}">{shown}</p>')
    reader.close()
    assert len(reader.tags) == 1
    assert len(reader.tags[0][1]) == 1
    assert_visible(reader.text, "\n")


@given(ANY)
def test_xml_is_well_formed(text: str) -> None:
    shown = escape.xml(text)
    parsed = ElementTree.fromstring(f"<p t='{shown}'>{shown}</p>".encode())
    assert len(parsed) == 0
    assert list(parsed.attrib) == ["t"]


@given(ANY)
def test_json_keeps_the_value(text: str) -> None:
    encoded = escape.json_text(json.dumps(text, ensure_ascii=False))
    encoded.encode("utf-8")
    assert_visible(encoded)
    # Python joins a high and a low surrogate that stood beside each other; so does every reader.
    again = json.loads(encoded)
    assert again.encode("utf-16-le", "surrogatepass") == text.encode("utf-16-le", "surrogatepass")


@given(ANY)
def test_markdown_has_no_markup(text: str) -> None:
    shown = escape.markdown(text)
    assert "\n" not in shown
    assert_visible(shown)
    bare = re.sub(r"\\[\\`*_{}\[\]()<>#!|~$]", "", shown)
    assert not re.search(r"[\\`*_\[\]<>#!|~$]", bare.replace("\\", "")), shown
    assert not re.search(r"[@#]\w", shown)
    assert not re.search(r"://|www\.", shown)


@given(ANY)
def test_markdown_code_is_one_span(text: str) -> None:
    shown = escape.markdown_code(text, cell=True)
    assert "\n" not in shown
    assert_visible(shown)
    assert not re.search(r"(?<!\\)\|", shown)
    fence = re.match("`+", shown)
    assert fence
    # CommonMark: the span ends at the next run of exactly as many backticks.
    runs = re.findall("`+", shown)
    assert [len(r) for r in runs].count(len(fence.group())) == 2
    assert shown.endswith(fence.group())


def test_a_code_span_outside_a_table_keeps_its_bars() -> None:
    assert escape.markdown_code("a|b") == "`a|b`"
    assert escape.markdown_code("a|b", cell=True) == "`a\\|b`"


@given(ANY)
def test_workflow_commands_stay_one_command(text: str) -> None:
    shown = escape.workflow_property(text)
    assert not re.search(r"[\r\n:,]", shown)
    assert not re.search(r"[\r\n]", escape.workflow_data(text))


@given(ANY)
def test_a_log_line_is_no_command(text: str) -> None:
    shown = escape.workflow_line(text)
    assert not shown.lstrip().startswith("::")
    assert "##[" not in shown
    assert "\n" not in shown


@given(ANY)
def test_uris_are_relative_ascii_and_hold_the_path(text: str) -> None:
    shown = escape.uri(text)
    assert re.fullmatch(r"[A-Za-z0-9_.~/%-]*", shown)
    raw = all(0xDC80 <= ord(c) <= 0xDCFF for c in text if 0xD800 <= ord(c) <= 0xDFFF)
    held = text.encode("utf-8", "surrogateescape" if raw else "surrogatepass")
    assert unquote_to_bytes(shown) == held


def test_a_name_that_is_no_text_keeps_its_bytes_in_a_uri() -> None:
    assert escape.uri(b"caf\xe9.py".decode("utf-8", "surrogateescape")) == "caf%E9.py"
