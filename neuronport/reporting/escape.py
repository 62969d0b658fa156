"""Making text from audited files harmless where it is shown.

Names and lines of an audited tree are anyone's: they may hold terminal escape sequences,
bidirectional controls that show code in another order than it runs, markup, mentions, or bytes
that no encoding has. Nothing here drops such a character in silence: it is shown as an escape.
"""

from __future__ import annotations

import re
from html import escape as _html_escape
from urllib.parse import quote

# Fixed ranges, not unicodedata's: the same text must look the same under every Python.
_INVISIBLE = (
    "\x00-\x1f\x7f-\x9f"  # C0, DEL, C1
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
)
_UNSAFE = re.compile(f"[{_INVISIBLE}]")
_UNSAFE_EXCEPT_NEWLINE = re.compile(f"(?!\n)[{_INVISIBLE}]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#!|~$])")
# What begins a list, a heading or a rule when it begins a line.
_BLOCK = re.compile(r"^(\s*)([-+=]|\d+(?=[.)]))")
_AUTOLINK = re.compile(r"(?i)(:)(?=//)|(www)(?=\.)|(mailto|xmpp)(?=:)")
_BACKTICKS = re.compile("`+")
# Where GitHub and GitLab look for people, issues and commands.
_REFERENCE = re.compile(r"[@#&%/:](?=\w)")
_GITHUB_REFERENCE = re.compile(r"(?i)\bgh(?=-\d)")
_ZERO_WIDTH = "\u200b"


def _shown(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x100:
        return f"\\x{code:02x}"
    # A byte that was no text, kept by Python as a lone surrogate.
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def terminal(text: str) -> str:
    """One line for a terminal: what cannot be seen is shown as ``\\x1b``, ``\\u202e`` …

    A tab becomes four spaces; a line break is shown, not obeyed. ``##[`` is what a build server
    takes for a command wherever it stands.
    """
    return _UNSAFE.sub(_shown, text.replace("\t", "    ").replace("##[", "#\\x23["))


def lines(text: str) -> str:
    """As :func:`terminal`, for text whose line breaks are meant."""
    return _UNSAFE_EXCEPT_NEWLINE.sub(_shown, text.replace("\r\n", "\n").replace("\t", "    "))


def markdown(text: str) -> str:
    """Text in Markdown that stays text: no markup, no HTML, no link, no mention, no table break."""
    shown = _UNSAFE.sub(_shown, text.replace("\n", " ").replace("\r", " ").replace("\t", " "))
    shown = _AUTOLINK.sub(lambda m: m.group() + _ZERO_WIDTH, shown)
    shown = _REFERENCE.sub(lambda m: m.group() + _ZERO_WIDTH, shown)
    shown = _GITHUB_REFERENCE.sub(lambda m: m.group() + _ZERO_WIDTH, shown)
    shown = _MARKDOWN.sub(r"\\\1", shown.replace("&", "&amp;"))
    return _BLOCK.sub(lambda m: f"{m[1]}{_ZERO_WIDTH}{m[2]}", shown)


def markdown_code(text: str, cell: bool = False) -> str:
    """A code span that holds ``text`` whatever backticks it has; ``cell``: inside a table."""
    shown = _UNSAFE.sub(_shown, text.replace("\t", "    "))
    if cell:
        shown = shown.replace("|", "\\|")
    if not shown.strip():
        return "` `"
    fence = "`" * (max((len(m) for m in _BACKTICKS.findall(shown)), default=0) + 1)
    pad = " " if shown.startswith(("`", " ")) or shown.endswith(("`", " ")) else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def html(text: str) -> str:
    """Text for HTML content and quoted attributes."""
    return _html_escape(_UNSAFE_EXCEPT_NEWLINE.sub(_shown, text), quote=True)


def xml(text: str) -> str:
    """Text for XML 1.0 content and quoted attributes: what XML cannot hold is shown escaped."""
    return html(text).replace("&#x27;", "&apos;")


def visible(text: str) -> str:
    """Text for a field that another program shows: unseen characters as escapes, lines kept."""
    return _UNSAFE_EXCEPT_NEWLINE.sub(_shown, text.replace("\r\n", "\n"))


def json_text(encoded: str) -> str:
    """Encoded JSON in which unseen characters and lone surrogates are ``\\uXXXX`` escapes.

    The value stays the same; the bytes are valid UTF-8 and safe to print.
    """
    if encoded.isascii() and "\x7f" not in encoded:  # JSON itself escapes all that is below a space
        return encoded
    return _UNSAFE.sub(_json_escape, encoded)


def _json_escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code == 0x0A:
        return "\n"
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def uri(path: str) -> str:
    """A relative URI for a path with ``/``: percent-encoded UTF-8, or the bytes it came from."""
    # quote() encodes colons too, so that no first segment reads as a scheme.
    errors = "surrogateescape" if _raw_bytes(path) else "surrogatepass"
    return quote(path.encode("utf-8", errors))


def _raw_bytes(path: str) -> bool:
    return all("\udc80" <= c <= "\udcff" for c in _SURROGATES.findall(path))


def workflow_data(text: str) -> str:
    """The message of a GitHub workflow command."""
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def workflow_property(text: str) -> str:
    """The value of a property of a GitHub workflow command."""
    return workflow_data(text).replace(":", "%3A").replace(",", "%2C")


def workflow_line(text: str) -> str:
    """A plain line of a GitHub workflow log that the runner takes for no command.

    The runner knows two forms: ``::name`` at the start of a line and ``##[name]`` anywhere.
    """
    shown = terminal(text).replace("##[", "# #[")
    return f". {shown}" if shown.lstrip().startswith("::") else shown
