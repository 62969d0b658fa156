"""The language of conditions: what it says, what it does not know, what it refuses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuronport.operators import NOTHING_KNOWN, Argument, CallFacts, ConditionError, parse

CALL = CallFacts(
    {
        "self": Argument(dtype="float32", shape=(2, 3, None, 8), contiguous=True),
        "index": Argument(dtype="int64", shape=(4,)),
        "dilation": Argument(value=[1, 2]),
        "stride": Argument(value=1),
        "reduce": Argument(value="mean"),
        "dtype": Argument(value=None),
    },
    complete=True,
    defaults={"beta": 1, "alpha": 1, "size": None},
    chips=("trn1", "trn2"),
)


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("beta != 1", False),
        ("beta == 1 and alpha == 1", True),
        ("dtype(self) == float32", True),
        ("dtype(self) in [int64, int32]", False),
        ("dtype(self) not in [int64, int32]", True),
        ("rank(self) == 4", True),
        ("size(self, -1) % 8 == 0", True),
        ("size(self, 2) > 1", None),
        ("size(self, 2) % 1 == 0", True),
        ("size(self, 9) == 1", None),
        ("size(self, stride) == 3", True),
        ("size(self, dilation) == 3", None),
        ("size(self, weight) == 3", None),
        ("stride * -1 > size(self, stride)", False),
        ("size(self, 0) * size(self, 1) <= 6", True),
        ("numel(self) > 0", None),
        ("numel(index) == 4", True),
        ("every(dilation, 1)", False),
        ("not every(dilation, 1)", True),
        ("every(stride, 1)", True),
        ("item(dilation, 1) == 2", True),
        ("len(dilation) == 2", True),
        ("reduce == mean", True),
        ('reduce == "mean"', True),
        ("given(dtype)", False),
        ("given(index)", True),
        ("given(weight)", False),
        ("contiguous(self)", True),
        ("contiguous(index)", None),
        ("floating(self)", True),
        ("integral(index) and not complex(self)", True),
        ("chip == trn2", True),
        ("chip == trn3", False),
        ("chip == trn2 and beta != 1", False),
        ("weight == 1", None),
        ("weight == 1 or beta == 1", True),
        ("weight == 1 and beta != 1", False),
        ("?", None),
        ("? or true", True),
        ("? == 1 and false", False),
        ("not (beta == 1 or alpha == 2)", False),
    ],
)
def test_truth(text: str, truth: bool | None) -> None:
    assert parse(text).holds(CALL) is truth


def test_input_is_self() -> None:
    call = CallFacts({"input": Argument(dtype="int8")})
    assert parse("dtype(self) == int8").holds(call) is True


def test_nothing_known_decides_nothing() -> None:
    assert parse("beta != 1").holds(NOTHING_KNOWN) is None
    assert parse("beta != 1 or not beta != 1").holds(NOTHING_KNOWN) is None


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("", 1),
        ("beta !=", 8),
        ("beta", 5),
        ("beta = 1", 6),
        ("(beta == 1", 11),
        ("beta == 1)", 10),
        ("size(self) == 1", 10),
        ("item(self, x) == 1", 12),
        ("size(self, in) == 1", 12),
        ("dtype(self) in int64", 16),
        ("beta == 1 and", 14),
        ("beta == 1 beta == 2", 11),
        ("every(dilation) == 1", 15),
        ("beta == [1, 2", 14),
        ("beta == $", 9),
    ],
)
def test_refuses(text: str, column: int) -> None:
    with pytest.raises(ConditionError, match=rf"^column {column}: "):
        parse(text)


@pytest.mark.parametrize(
    ("text", "passed", "seen"),
    [
        ("beta != 1", {"beta": "^beta"}, "beta != 1"),
        ("beta != 1", {"beta": 2}, "2 != 1"),
        ("beta != 1", {}, "? != 1"),
        ("dtype(mat1) == int8", {"mat1": "^input"}, "dtype(input) == int8"),
        ("dtype(mat1) == int8", {"mat1": "d^input"}, "dtype(input) == int8"),
        ("size(mat1, 0) == 8", {"mat1": "d^input"}, "? == 8"),
        ("size(x, dim) == 8", {"x": "^self", "dim": "^axis"}, "size(self, axis) == 8"),
        ("size(x, dim) == 8", {"x": "^self", "dim": 1}, "size(self, 1) == 8"),
        ("size(x, dim) == 8", {"x": "^self"}, "? == 8"),
        ("not every(dilation, 1)", {"dilation": [1, 1]}, "not true"),
        ("given(generator)", {"generator": None}, "false"),
    ],
)
def test_seen_by_the_caller(text: str, passed: dict[str, object], seen: str) -> None:
    assert str(parse(text).bound(passed)) == seen


@pytest.mark.parametrize("value", ["none", "true", "nearest-exact", "dtype", "or", "mean", "", "2"])
def test_words_stay_words(value: str) -> None:
    condition = parse(f'mode == "{value}"')
    call = CallFacts({"mode": Argument(value=value)})
    assert condition.holds(call) is True
    assert parse(str(condition)).holds(call) is True
    assert parse(str(condition)).holds(CallFacts({"mode": Argument(value=None)})) is False


_names = st.sampled_from(["self", "index", "beta", "weight", "stride"])
_leaves = st.one_of(
    st.builds("{} == {}".format, _names, st.integers(-3, 3)),
    st.builds("dtype({}) in [int64, int8]".format, _names),
    st.builds("size({}, {}) % 2 == 0".format, _names, st.integers(-2, 2)),
    st.builds("given({})".format, _names),
    st.builds("every({}, 1)".format, _names),
    st.just("?"),
)
_texts = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.builds("({} and {})".format, inner, inner),
        st.builds("({} or {})".format, inner, inner),
        st.builds("not {}".format, inner),
    ),
    max_leaves=6,
)


@given(_texts)
def test_written_and_read_again(text: str) -> None:
    condition = parse(text)
    again = parse(str(condition))
    assert str(again) == str(condition)
    assert again.holds(CALL) is condition.holds(CALL)


@given(_texts)
def test_knowing_more_never_overturns(text: str) -> None:
    condition = parse(text)
    before = condition.holds(NOTHING_KNOWN)
    if before is not None:
        assert condition.holds(CALL) is before
