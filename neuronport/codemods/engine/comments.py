"""Where the comments of a program are."""

from __future__ import annotations

import io
import re
import sys
import tokenize

from neuronport.workspace import split_lines

_TOKENS = re.compile(
    r"""
    (\#[^\r\n]*)
    | \"\"\"(?:\\.|[^\\])*?\"\"\"
    | '''(?:\\.|[^\\])*?'''
    | "(?:\\.|[^"\\])*"
    | '(?:\\.|[^'\\])*'
    """,
    re.VERBOSE | re.DOTALL,
)


def comments(text: str) -> list[tuple[int, str]] | None:
    """The comments of a text that parses, and at which character each begins; None: the text has
    no tokens that Python knows."""
    if "#" not in text:
        return []
    if sys.version_info >= (3, 12):
        return tokenized(text)
    # ``tokenize`` is slow here. Before 3.12 a string ends where its quotes come again, in an
    # f-string too, so that strings and comments can be told apart without it.
    return [(m.start(), m[1]) for m in _TOKENS.finditer(text) if m[1] is not None]


def tokenized(text: str) -> list[tuple[int, str]] | None:
    """The same by Python's own tokenizer."""
    starts = [0]
    for line in split_lines(text):
        starts.append(starts[-1] + len(line))
    try:
        return [
            (starts[token.start[0] - 1] + token.start[1], token.string)
            for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline)
            if token.type == tokenize.COMMENT
        ]
    except (tokenize.TokenError, SyntaxError, IndexError):
        return None
