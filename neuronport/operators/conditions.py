"""Conditions on the arguments of a call: the small language of the ``when`` column.

``beta != 1 or alpha != 1`` · ``dtype(self) in [int64, int32]`` · ``not every(dilation, 1)`` ·
``size(query, -2) % 512 == 0 and rank(query) == 4``. The whole of it is in
``docs/operator-conditions.md``. A condition is true, false or unknown: what a source file does not
tell (a shape, a dtype) is unknown, and stays so unless the rest decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final


class ConditionError(ValueError):
    """A condition that does not parse."""


class _Unknown:
    """The value of what is not known; equal to nothing, not even itself."""

    def __repr__(self) -> str:
        return "?"


UNKNOWN: Final = _Unknown()


@dataclass(frozen=True, slots=True)
class Argument:
    """What is known of one argument of a call."""

    value: Any = UNKNOWN
    """The value of what is no tensor; ``UNKNOWN``, or ``None`` for a given ``None``."""
    dtype: str = ""
    """``float32``; empty: unknown, or no tensor."""
    shape: tuple[int | None, ...] | None = None
    """Sizes, ``None`` where unknown; ``None`` as a whole: not even the rank is known."""
    contiguous: bool | None = None
    given: bool | None = True
    """Whether the call passes it; ``None``: it cannot be known (``*args``)."""


_SAME: Final[Mapping[str, str]] = {"self": "input", "input": "self"}


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What is known of a call: the same for a source line and for a graph node."""

    arguments: Mapping[str, Argument] = field(default_factory=dict)
    complete: bool = False
    """Every argument the call passes is listed, so that the others have their defaults."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """The schema's defaults, by argument."""
    chips: tuple[str, ...] = ()
    """The chips of the target; a condition on ``chip`` holds if it holds on one of them."""

    def argument(self, name: str) -> Argument:
        found = self.arguments.get(name)
        if found is None and name in _SAME:  # functions say `input` where methods say `self`
            found = self.arguments.get(_SAME[name])
        if found is not None:
            return found
        if not self.complete:
            return Argument(given=None)
        return Argument(value=self.defaults.get(name, UNKNOWN), given=False)


NOTHING_KNOWN: Final = CallFacts()
Truth = bool | None


class Condition:
    """A parsed condition."""

    __slots__ = ()

    def holds(self, call: CallFacts) -> Truth:
        """True, false, or ``None`` when what is known of the call does not decide."""
        if "chip" in self.names() and call.chips:
            truths = [self._truth(call, chip) for chip in call.chips]
            return True if True in truths else None if None in truths else False
        return self._truth(call, "")

    def names(self) -> frozenset[str]:
        """The arguments it looks at, and ``chip``."""
        raise NotImplementedError

    def only_dtypes(self) -> bool:
        """Whether nothing but dtypes (and the chip) decides."""
        return all(
            isinstance(part, (_Compare, _Flag, _Constant)) and part.of_dtype()
            for part in self.leaves()
        )

    def leaves(self) -> tuple[Condition, ...]:
        return (self,)

    def bound(self, given: Mapping[str, Any]) -> Condition:
        """The condition as the caller sees it that passes ``given`` (see ``Callee`` in tables)."""
        raise NotImplementedError

    def _truth(self, call: CallFacts, chip: str) -> Truth:
        raise NotImplementedError


# -- terms ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Literal:
    value: Any

    def __str__(self) -> str:
        if isinstance(self.value, list):
            return f"[{', '.join(str(_Literal(v)) for v in self.value)}]"
        if isinstance(self.value, bool) or self.value is None:
            return {True: "true", False: "false", None: "none"}[self.value]
        if isinstance(self.value, str) and (
            not self.value.isidentifier() or self.value in _RESERVED
        ):
            return f'"{self.value}"'
        return str(self.value)

    def evaluate(self, call: CallFacts, chip: str) -> Any:
        return self.value

    def names(self) -> frozenset[str]:
        return frozenset()

    def bound(self, given: Mapping[str, Any]) -> _Term:
        return self


@dataclass(frozen=True, slots=True)
class _Name:
    """An argument's value; a bare word that is no argument of the operator is a word."""

    name: str

    def __str__(self) -> str:
        return self.name

    def evaluate(self, call: CallFacts, chip: str) -> Any:
        if self.name == "chip":
            return chip or UNKNOWN
        return call.argument(self.name).value

    def names(self) -> frozenset[str]:
        return frozenset((self.name,))

    def bound(self, given: Mapping[str, Any]) -> _Term:
        if self.name == "chip":
            return self
        return _bind(self.name, given, lambda name: _Name(name))


@dataclass(frozen=True, slots=True)
class _Lost:
    """``?``: a term that a caller cannot know."""

    def __str__(self) -> str:
        return "?"

    def evaluate(self, call: CallFacts, chip: str) -> Any:
        return UNKNOWN

    def names(self) -> frozenset[str]:
        return frozenset()

    def bound(self, given: Mapping[str, Any]) -> _Term:
        return self


def _bind(name: str, given: Mapping[str, Any], keep: Callable[[str], _Term]) -> _Term:
    value = given.get(name, UNKNOWN)
    if passed := _passed(value):
        return keep(passed)
    if value is UNKNOWN or (isinstance(value, str) and value.startswith("d^")):
        return _Lost()
    return _Literal(value)


def _passed(value: Any, *, of_dtype: bool = False) -> str:
    """The caller's argument that is passed on; with ``of_dtype`` one of the same dtype will do."""
    if not isinstance(value, str):
        return ""
    if value.startswith("^"):
        return value[1:]
    return value[2:] if of_dtype and value.startswith("d^") else ""


@dataclass(frozen=True, slots=True)
class _Of:
    """``dtype(self)``, ``rank(self)``, ``size(self, -1)``, ``numel(self)``, ``len(dim)``,
    ``item(output_size, 0)``."""

    function: str
    name: str
    index: int | str = 0
    """A number, or the argument that holds it."""

    def __str__(self) -> str:
        index = f", {self.index}" if self.function in _INDEXED else ""
        return f"{self.function}({self.name}{index})"

    def evaluate(self, call: CallFacts, chip: str) -> Any:
        argument = call.argument(self.name)
        if self.function == "dtype":
            return argument.dtype or UNKNOWN
        if self.function in ("len", "item"):
            return self._of_list(argument.value)
        shape = argument.shape
        if shape is None:
            return UNKNOWN
        if self.function == "rank":
            return len(shape)
        if self.function == "numel":
            total = 1
            for size in shape:
                if size is None:
                    return UNKNOWN
                total *= size
            return total
        index = self.index if isinstance(self.index, int) else call.argument(self.index).value
        if not isinstance(index, int) or not -len(shape) <= index < len(shape):
            return UNKNOWN
        size = shape[index]
        return UNKNOWN if size is None else size

    def _of_list(self, value: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            return UNKNOWN
        if self.function == "len":
            return len(value)
        if not isinstance(self.index, int) or not -len(value) <= self.index < len(value):
            return UNKNOWN
        return value[self.index]

    def names(self) -> frozenset[str]:
        return frozenset((self.name, self.index) if isinstance(self.index, str) else (self.name,))

    def bound(self, given: Mapping[str, Any]) -> _Term:
        value = given.get(self.name, UNKNOWN)
        passed = _passed(value, of_dtype=self.function == "dtype")
        if passed:
            index = self.index
            if isinstance(index, str):
                number = given.get(index, UNKNOWN)
                index = number if isinstance(number, int) else _passed(number)
            return _Lost() if index == "" else _Of(self.function, passed, index)
        if self.function in ("len", "item") and isinstance(value, list):
            found = self._of_list(value)
            return _Lost() if found is UNKNOWN else _Literal(found)
        return _Lost()


@dataclass(frozen=True, slots=True)
class _Arithmetic:
    sign: str
    left: _Term
    right: _Term

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right}"

    def evaluate(self, call: CallFacts, chip: str) -> Any:
        left, right = self.left.evaluate(call, chip), self.right.evaluate(call, chip)
        if self.sign == "%" and right == 1:  # whatever the size
            return 0
        if not (isinstance(left, (int, float)) and isinstance(right, (int, float))):
            return UNKNOWN
        if self.sign == "*":
            return left * right
        return left % right if right else UNKNOWN

    def names(self) -> frozenset[str]:
        return self.left.names() | self.right.names()

    def bound(self, given: Mapping[str, Any]) -> _Term:
        return _Arithmetic(self.sign, self.left.bound(given), self.right.bound(given))


_Term = _Literal | _Name | _Lost | _Of | _Arithmetic


# -- conditions -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Compare(Condition):
    left: _Term
    sign: str
    right: _Term

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right}"

    def names(self) -> frozenset[str]:
        return self.left.names() | self.right.names()

    def bound(self, given: Mapping[str, Any]) -> Condition:
        return _Compare(self.left.bound(given), self.sign, self.right.bound(given))

    def of_dtype(self) -> bool:
        terms = (self.left, self.right)
        return all(
            isinstance(t, _Literal)
            or (isinstance(t, _Of) and t.function == "dtype")
            or (isinstance(t, _Name) and t.name in ("chip", "dtype"))
            for t in terms
        )

    def _truth(self, call: CallFacts, chip: str) -> Truth:
        left, right = self.left.evaluate(call, chip), self.right.evaluate(call, chip)
        if left is UNKNOWN or right is UNKNOWN:
            return None
        if isinstance(left, tuple):
            left = list(left)
        if isinstance(right, tuple):
            right = list(right)
        if self.sign in ("in", "not in"):
            return (left in right) == (self.sign == "in")
        if self.sign in ("==", "!="):
            return bool(left == right) == (self.sign == "==")
        if not (isinstance(left, (int, float)) and isinstance(right, (int, float))):
            return None
        return {
            "<": left < right,
            "<=": left <= right,
            ">": left > right,
            ">=": left >= right,
        }[self.sign]


_KINDS: Final[Mapping[str, Callable[[str], bool]]] = {
    "floating": lambda d: d.startswith(("float", "bfloat")),
    "integral": lambda d: d.startswith(("int", "uint")) or d == "bool",
    "complex": lambda d: d.startswith("complex"),
}


@dataclass(frozen=True, slots=True)
class _Flag(Condition):
    """``given(x)``, ``contiguous(x)``, ``floating(x)``, ``integral(x)``, ``complex(x)``."""

    flag: str
    name: str

    def __str__(self) -> str:
        return f"{self.flag}({self.name})"

    def names(self) -> frozenset[str]:
        return frozenset((self.name,))

    def bound(self, given: Mapping[str, Any]) -> Condition:
        value = given.get(self.name, UNKNOWN)
        passed = _passed(value, of_dtype=self.flag in _KINDS)
        if passed:
            return _Flag(self.flag, passed)
        if self.flag == "given" and value is not UNKNOWN:
            return _Constant(value is not None)
        return _Constant(None)

    def of_dtype(self) -> bool:
        return self.flag in _KINDS

    def _truth(self, call: CallFacts, chip: str) -> Truth:
        argument = call.argument(self.name)
        if self.flag == "given":
            # None is how an optional argument is left out, and a default may be something
            if argument.value is None:
                return False
            if argument.given is False:
                return argument.value is not UNKNOWN
            return argument.given
        if self.flag == "contiguous":
            return argument.contiguous
        return _KINDS[self.flag](argument.dtype) if argument.dtype else None


@dataclass(frozen=True, slots=True)
class _Every(Condition):
    """``every(dilation, 1)``: a number, or each of a list of numbers, is 1."""

    name: str
    value: Any

    def __str__(self) -> str:
        return f"every({self.name}, {_Literal(self.value)})"

    def names(self) -> frozenset[str]:
        return frozenset((self.name,))

    def bound(self, given: Mapping[str, Any]) -> Condition:
        value = given.get(self.name, UNKNOWN)
        if passed := _passed(value):
            return _Every(passed, self.value)
        if value is UNKNOWN:
            return _Constant(None)
        return _Constant(self._test(value))

    def _test(self, value: Any) -> Truth:
        if value is UNKNOWN or value is None:
            return None
        values = value if isinstance(value, (list, tuple)) else [value]
        if any(v is UNKNOWN for v in values):
            return None
        return all(v == self.value for v in values)

    def _truth(self, call: CallFacts, chip: str) -> Truth:
        return self._test(call.argument(self.name).value)


@dataclass(frozen=True, slots=True)
class _Constant(Condition):
    """``true``, ``false``, ``?``."""

    truth: Truth

    def __str__(self) -> str:
        return "?" if self.truth is None else str(self.truth).lower()

    def names(self) -> frozenset[str]:
        return frozenset()

    def bound(self, given: Mapping[str, Any]) -> Condition:
        return self

    def of_dtype(self) -> bool:
        return True

    def _truth(self, call: CallFacts, chip: str) -> Truth:
        return self.truth


@dataclass(frozen=True, slots=True)
class _Not(Condition):
    of: Condition

    def __str__(self) -> str:
        return f"not ({self.of})" if isinstance(self.of, _Join) else f"not {self.of}"

    def names(self) -> frozenset[str]:
        return self.of.names()

    def leaves(self) -> tuple[Condition, ...]:
        return self.of.leaves()

    def bound(self, given: Mapping[str, Any]) -> Condition:
        return _Not(self.of.bound(given))

    def _truth(self, call: CallFacts, chip: str) -> Truth:
        truth = self.of._truth(call, chip)
        return None if truth is None else not truth


@dataclass(frozen=True, slots=True)
class _Join(Condition):
    """``and``, ``or``: decided as soon as one part decides."""

    word: str
    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return f" {self.word} ".join(
            f"({p})" if isinstance(p, _Join) and p.word != self.word else str(p) for p in self.parts
        )

    def names(self) -> frozenset[str]:
        return frozenset().union(*(p.names() for p in self.parts))

    def leaves(self) -> tuple[Condition, ...]:
        return tuple(leaf for part in self.parts for leaf in part.leaves())

    def bound(self, given: Mapping[str, Any]) -> Condition:
        return _Join(self.word, tuple(p.bound(given) for p in self.parts))

    def _truth(self, call: CallFacts, chip: str) -> Truth:
        deciding = self.word == "or"
        truths = [part._truth(call, chip) for part in self.parts]
        if deciding in truths:
            return deciding
        return None if None in truths else not deciding


# -- parsing ----------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"\s*(?:(?P<number>-?\d+(?:\.\d+)?)|(?P<string>\"[^\"]*\")|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<sign>==|!=|<=|>=|<|>|%|\*|\?|\(|\)|\[|\]|,))"
)
_SIGNS: Final = ("==", "!=", "<", "<=", ">", ">=")
_TERMS: Final = ("dtype", "rank", "size", "numel", "len", "item")
_INDEXED: Final = ("size", "item")
_FLAGS: Final = ("given", "contiguous", "floating", "integral", "complex")
_WORDS: Final[Mapping[str, Any]] = {"true": True, "false": False, "none": None}
_RESERVED: Final = frozenset((*_WORDS, *_TERMS, *_FLAGS, "and", "or", "not", "in", "every"))


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        position = 0
        while text[position:].strip():
            match = _TOKEN.match(text, position)
            if match is None:
                rest = text[position:].lstrip()
                column = len(text) - len(rest) + 1
                raise ConditionError(f"column {column}: cannot read {rest!r}")
            kind = match.lastgroup or ""
            self.tokens.append((kind, match[kind], match.start(kind)))
            position = match.end()
        self.at = 0

    def fail(self, wanted: str) -> ConditionError:
        if self.at < len(self.tokens):
            _, token, column = self.tokens[self.at]
            return ConditionError(f"column {column + 1}: {wanted} expected, found {token!r}")
        return ConditionError(f"column {len(self.text) + 1}: {wanted} expected, found the end")

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self, token: str) -> bool:
        if self.peek() == token and self.tokens[self.at][0] != "string":
            self.at += 1
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise self.fail(repr(token))

    def word(self, wanted: str) -> str:
        if self.at >= len(self.tokens) or self.tokens[self.at][0] != "word":
            raise self.fail(wanted)
        self.at += 1
        return self.tokens[self.at - 1][1]

    def whole(self) -> Condition:
        condition = self.any_of()
        if self.at < len(self.tokens):
            raise self.fail("the end")
        return condition

    def any_of(self) -> Condition:
        parts = [self.all_of()]
        while self.take("or"):
            parts.append(self.all_of())
        return parts[0] if len(parts) == 1 else _Join("or", tuple(parts))

    def all_of(self) -> Condition:
        parts = [self.inverted()]
        while self.take("and"):
            parts.append(self.inverted())
        return parts[0] if len(parts) == 1 else _Join("and", tuple(parts))

    def inverted(self) -> Condition:
        if self.take("not"):
            return _Not(self.inverted())
        if self.take("("):
            inner = self.any_of()
            self.expect(")")
            return inner
        if self.peek() in _FLAGS or self.peek() == "every":
            return self.flag()
        left = self.term()
        if self.peek() in ("", ")", "and", "or"):
            if isinstance(left, _Lost):
                return _Constant(None)
            if isinstance(left, _Literal) and isinstance(left.value, bool):
                return _Constant(left.value)
        if self.take("in"):
            return _Compare(left, "in", self.words_list())
        if self.peek() == "not":
            self.at += 1
            self.expect("in")
            return _Compare(left, "not in", self.words_list())
        for sign in _SIGNS:
            if self.take(sign):
                return _Compare(left, sign, self.term(right=True))
        raise self.fail("a comparison")

    def flag(self) -> Condition:
        flag = self.word("a test")
        self.expect("(")
        name = self.word("an argument")
        if flag == "every":
            self.expect(",")
            value = self.literal()
            self.expect(")")
            return _Every(name, value)
        self.expect(")")
        return _Flag(flag, name)

    def words_list(self) -> _Term:
        if self.peek() != "[":
            raise self.fail("a list")
        return _Literal(self.literal())

    def term(self, *, right: bool = False) -> _Term:
        left = self.simple(right=right)
        while self.peek() in ("%", "*"):
            sign = self.peek()
            self.at += 1
            left = _Arithmetic(sign, left, self.simple(right=right))
        return left

    def simple(self, *, right: bool) -> _Term:
        if self.at >= len(self.tokens):
            raise self.fail("a value")
        if self.take("?"):
            return _Lost()
        kind, token, _ = self.tokens[self.at]
        if kind != "word" or token in _WORDS:
            return _Literal(self.literal())
        self.at += 1
        if token in _TERMS and self.take("("):
            name = self.word("an argument")
            index: int | str = 0
            if token in _INDEXED:
                self.expect(",")
                index = self.index(token)
            self.expect(")")
            return _Of(token, name, index)
        # on the right a bare word is a word, as in `dtype(self) == int64`, `reduce == mean`
        return _Literal(token) if right else _Name(token)

    def index(self, function: str) -> int | str:
        kind, token, _ = self.tokens[self.at] if self.at < len(self.tokens) else ("", "", 0)
        if function == "size" and kind == "word" and token not in _RESERVED:
            self.at += 1
            return token
        return self.integer()

    def integer(self) -> int:
        if self.at < len(self.tokens) and self.tokens[self.at][0] == "number":
            token = self.tokens[self.at][1]
            if "." not in token:
                self.at += 1
                return int(token)
        raise self.fail("a whole number")

    def literal(self) -> Any:
        if self.at >= len(self.tokens):
            raise self.fail("a value")
        kind, token, _ = self.tokens[self.at]
        if kind == "sign" and token == "[":
            self.at += 1
            values = []
            while not self.take("]"):
                values.append(self.literal())
                if not self.take(","):
                    self.expect("]")
                    break
            return values
        if kind == "sign" or token in ("and", "or", "not", "in"):
            raise self.fail("a value")
        self.at += 1
        if kind == "number":
            return float(token) if "." in token else int(token)
        if kind == "string":
            return token[1:-1]
        return _WORDS.get(token, token)


@lru_cache(maxsize=4096)
def parse(text: str) -> Condition:
    """The condition that ``text`` says.

    Raises ConditionError: it does not parse; the message names the column.
    """
    if not text.strip():
        raise ConditionError("column 1: a condition expected, found nothing")
    return _Parser(text).whole()
