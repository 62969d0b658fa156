"""Inputs as written on the command line: ``randint(0,32000,(1,2048))``, ``mask=ones((1,16))``.

A small language, read with ``ast`` and never evaluated as Python: calls of a few functions that
make tensors, their literals, and names of dtypes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import torch

_MAKERS: dict[str, Callable[..., Any]] = {
    "rand": torch.rand,
    "randn": torch.randn,
    "randint": torch.randint,
    "zeros": torch.zeros,
    "ones": torch.ones,
    "empty": torch.empty,
    "full": torch.full,
    "arange": torch.arange,
    "tensor": torch.tensor,
}


_LONGEST = 1000
_WIDE = 120


class InputError(ValueError):
    """An input that is not written in the language."""


def _shown(text: str) -> str:
    return repr(text) if len(text) <= _WIDE else f"{text[:_WIDE]!r}…"


def parse(text: str) -> tuple[str, Any]:
    """The name (empty: by position) and the value that ``NAME=EXPRESSION`` or ``EXPRESSION`` says.

    Raises InputError: it is not written so.
    """
    name, separator, rest = text.partition("=")
    named = bool(separator) and name.strip().isidentifier()
    expression = rest if named else text
    if len(expression) > _LONGEST:
        raise InputError(f"{_shown(text)}: longer than {_LONGEST} characters: write inputs()")
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except SyntaxError as error:
        raise InputError(f"{_shown(text)}: {error.msg}") from None
    except (RecursionError, MemoryError, ValueError) as error:
        raise InputError(f"{_shown(text)}: {type(error).__name__}") from None
    return (name.strip() if named else ""), _value(tree.body, text)


def _value(node: ast.expr, text: str) -> Any:
    if isinstance(node, ast.Call):
        return _made(node, text)
    if isinstance(node, (ast.Tuple, ast.List)):
        values = [_value(item, text) for item in node.elts]
        return tuple(values) if isinstance(node, ast.Tuple) else values
    if isinstance(node, ast.Dict):
        return {
            _value(k, text): _value(v, text)
            for k, v in zip(node.keys, node.values, strict=True)
            if k is not None
        }
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise InputError(f"{_shown(text)}: {ast.unparse(node)!r} is no literal") from None


def _made(node: ast.Call, text: str) -> Any:
    name = ast.unparse(node.func).removeprefix("torch.")
    maker = _MAKERS.get(name)
    if maker is None:
        raise InputError(f"{_shown(text)}: {name!r} is none of {', '.join(_MAKERS)}")
    args = [_value(a, text) for a in node.args]
    keywords: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg == "dtype":
            word = ast.unparse(keyword.value).strip("'\"").removeprefix("torch.")
            keywords["dtype"] = getattr(torch, word, None)
            if not isinstance(keywords["dtype"], torch.dtype):
                raise InputError(f"{_shown(text)}: {word!r} is no dtype")
        elif keyword.arg is not None:
            keywords[keyword.arg] = _value(keyword.value, text)
    try:
        return maker(*args, **keywords)
    except (TypeError, RuntimeError, ValueError) as error:
        said = str(error).splitlines()[0].partition(" If so, please file")[0]
        raise InputError(f"{_shown(text)}: {said}") from None
