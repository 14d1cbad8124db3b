"""`onnxport.dims`: a table of normal forms, and properties of random expressions against Python's ints."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from onnxport import dims
from onnxport.dims import (
    Dim,
    Size,
    broadcast,
    evaluate,
    exact_div,
    free_symbols,
    known_eq,
    known_ge,
    known_le,
    known_lt,
    lower_bound,
    maximum,
    minimum,
    parse,
    product,
    substitute,
    upper_bound,
)

b, h, n, m, w = (Dim.symbol(name) for name in "bhnmw")
one, two = Dim.symbol("one", minimum=1), Dim.symbol("two", minimum=2)

NORMAL_FORMS: list[tuple[Size, str]] = [
    (n - n, "0"),
    (n * 0, "0"),
    (3 - n + n, "3"),
    (2 * n + 1, "2*n + 1"),
    (w * h, "h*w"),
    (h * h - 1, "h*h - 1"),
    (1 - n, "-n + 1"),
    (m - n, "m - n"),
    ((h + w) * (h - w), "h*h - w*w"),
    ((4 * h) // 4, "h"),
    ((4 * h + 2 * w) // 2, "2*h + w"),
    ((4 * h + 3) // 4, "h"),
    ((4 * h + 3) % 4, "3"),
    ((4 * h + w + 5) // 4, "(w + 1)//4 + h + 1"),
    ((4 * h + w + 5) % 4, "(w + 1)%4"),
    ((5 * h) // 4, "h + h//4"),
    ((6 * h + 3) // 4, "(h + 1)//2 + h"),
    ((2 * h + 1) % 4, "2*(h%2) + 1"),
    ((h - 3) // 2 + 1, "(h + 1)//2 - 1"),
    ((h + 1) // 2, "(h + 1)//2"),
    (((h + 1) // 2 + 1) // 2, "(h + 3)//4"),
    ((-(h // 4) % 8 + h // 4) // 8, "(h + 28)//32"),
    ((h // 3 % 2 + h // 3 + 1) // 2, "(h + 3)//6"),
    ((-(h // 2 * 3) % 4 + h // 2 * 3 + 9) // 4, "(3*(h//2) + 3)//4 + 2"),
    ((h // 2 % 4 + h // 2) // 4, "((h//2)%4 + h//2)//4"),
    ((h // 2) // 3, "h//6"),
    ((h // n) // 3, "h//(3*n)"),
    ((h // 3) // n, "h//(3*n)"),
    (-(-h // 4), "(h + 3)//4"),
    (-(-(4 * h) // 4), "h"),
    (-(h // 2), "-(h//2)"),
    (-2 * (h // 2), "-2*(h//2)"),
    (h - h // 2, "h - h//2"),
    ((h // 2) * w, "(h//2)*w"),
    (h // -2, "-((h + 1)//2)"),
    ((h % 6) % 3, "h%3"),
    ((h % 3) % 6, "h%3"),
    ((h % 3) // 3, "0"),
    ((h % n) % n, "h%n"),
    ((h + h % n) % n, "(2*h)%n"),
    ((b * h * w) // w, "b*h"),
    ((b * h * w) // (h * w), "b"),
    ((b * h + b * w) // (h + w), "b"),
    ((b * h + h) // (b + 1), "h"),
    ((b * h + 3) // b, "3//b + h"),
    ((b * h + 3) % b, "3%b"),
    ((b * h + b + 3) // (h + 1), "3//(h + 1) + b"),
    (h // (h + 1), "0"),
    (h % (h + 1), "h"),
    ((b * h) // (b * w), "h//w"),
    ((b * h) % (b * w), "b*(h%w)"),
    (h // (-w), "(-h)//w"),
    (h % (-w), "-((-h)%w)"),
    (n // n, "1"),
    (n % n, "0"),
    (5 // n, "5//n"),
    (-5 // n, "(-5)//n"),
    (minimum(n, n), "n"),
    (minimum(m, n, m), "min(m, n)"),
    (minimum(n + 1, n), "n"),
    (maximum(n + 1, n), "n + 1"),
    (maximum(n, 0), "n"),
    (maximum(n, 1), "max(1, n)"),
    (maximum(one, 1), "one"),
    (maximum(one * two, two), "one*two"),
    (maximum(n, maximum(m, 3)), "max(3, m, n)"),
    (maximum(n, minimum(m, n)), "n"),
    (minimum(n, maximum(m, n)), "n"),
    (minimum(n, n // 2), "n//2"),
    (minimum(n % 4, 3), "n%4"),
    (minimum(n, n % m), "n%m"),
    (minimum(2, 7, 5), "2"),
    (broadcast(n, n), "n"),
    (broadcast(1, n), "n"),
    (broadcast(n, 1), "n"),
    (broadcast(n, 4), "4"),
    (broadcast(4, n), "4"),
    (broadcast(0, n), "0"),
    (broadcast(two, n), "two"),
    (broadcast(n, m), "broadcast(m, n)"),
    (broadcast(broadcast(n, m), n), "broadcast(m, n)"),
    (broadcast(n, broadcast(b, m)), "broadcast(b, m, n)"),
    (broadcast(1, 1), "1"),
    (product([]), "1"),
    (product([n, 2, n // 2]), "2*n*(n//2)"),
    (Dim.symbol("batch size") * 2, "2*`batch size`"),
    (Dim.symbol("input.1") + 1, "input.1 + 1"),
]


@pytest.mark.parametrize(("size", "text"), NORMAL_FORMS, ids=[text for _, text in NORMAL_FORMS])
def test_normal_form(size: Size, text: str) -> None:
    assert str(size) == text
    assert parse(text) == size
    assert isinstance(size, int) == text.lstrip("-").isdecimal()


EXACT: list[tuple[Size, Size, Size | None]] = [
    (12, 4, 3),
    (12, 5, None),
    (0, n, 0),
    (n, 0, None),
    (12 * n, 4, 3 * n),
    (12 * n + 2, 4, None),
    (b * n * 768, b * n, 768),
    (b * n * 768, 64 * b, 12 * n),
    (b * (n + 1) * (h // 2), (n + 1) * b, h // 2),
    (b * (n + 1) * (h // 2), b * n + b, h // 2),
    (b * n, h, None),
    (b * n, n + 1, None),
    (n - n % 4, 4, n // 4),
    (n + 3 - (n + 3) % 4, 4, (n + 3) // 4),
    ((h + w) * (h - w) * (n + 2), (h - w) * (n + 2), h + w),
]


@pytest.mark.parametrize(("a", "divisor", "quotient"), EXACT, ids=str)
def test_exact_div(a: Size, divisor: Size, quotient: Size | None) -> None:
    assert exact_div(a, divisor) == quotient


KNOWN: list[tuple[Callable[[Size, Size], bool | None], Size, Size, bool | None]] = [
    (known_eq, n, n, True),
    (known_eq, n + 1, n, False),
    (known_eq, n, m, None),
    (known_eq, 2 * n, 2 * m + 1, False),
    (known_eq, n + 1, 0, False),
    (known_eq, one, 0, False),
    (known_eq, n, 0, None),
    (known_eq, 4 * (n // 4) + n % 4, n, True),
    (known_eq, n - n // 2, (n + 1) // 2, True),
    (known_eq, n + (-n) % 4, 4 * ((n + 3) // 4), True),
    (known_le, n // 2, n, True),
    (known_le, n + 1, n, False),
    (known_le, n, m, None),
    (known_lt, n % 4, 4, True),
    (known_lt, n, n, False),
    (known_ge, n * one, n, True),
    (known_ge, n, 0, True),
    (known_ge, n, 1, None),
    (known_ge, (n + 1) // 2, n // 2, True),
]


@pytest.mark.parametrize(("known", "left", "right", "answer"), KNOWN)
def test_known(known: Callable[[Size, Size], bool | None], left: Size, right: Size, answer: bool | None) -> None:
    assert known(left, right) is answer


@pytest.mark.parametrize(
    ("size", "low", "high"),
    [
        (7, 7, 7),
        (n, 0, None),
        (two * 3 - 1, 5, None),
        (-n, None, 0),
        (n - m, None, None),
        (n % 4, 0, 3),
        ((n % 4) // 2, 0, 1),
        (minimum(n, 5), 0, 5),
        (maximum(n, 5), 5, None),
        (broadcast(one, n), 0, None),
        (n - n // 2, 0, None),
    ],
    ids=str,
)
def test_bounds(size: Size, low: int | None, high: int | None) -> None:
    assert (lower_bound(size), upper_bound(size)) == (low, high)


@pytest.mark.parametrize(
    "use",
    [
        bool,
        int,
        float,
        operator.index,
        range,
        lambda d: d < 3,
        lambda d: d >= 3,
        lambda d: d > 3,
        lambda d: max(d, 3),
        lambda d: [1, 2][d],
        lambda d: d / 2,
        lambda d: 1 if d else 2,
        lambda d: d + 1.5,
        lambda d: d * "a",
    ],
)
def test_a_dim_is_not_a_number(use: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError):
        use(n)


def test_messages_name_the_size() -> None:
    with pytest.raises(TypeError, match=r"the size '2\*n \+ 1' is not known"):
        int(2 * n + 1)
    with pytest.raises(TypeError, match="known_lt"):
        n < 3  # noqa: B015


def test_equality_and_hash() -> None:
    assert n != 1
    assert n != "n"
    assert n + 0 is n
    assert n == Dim.symbol("n") == Dim.symbol("n", minimum=3)
    assert hash((h + w) * 2) == hash(2 * w + 2 * h)
    assert {h + w: "sum"}[w + h] == "sum"


def test_copies_are_equal() -> None:
    size = maximum(n, 3) * (h // 2) + 1
    assert copy.deepcopy(size) is size
    thawed = pickle.loads(pickle.dumps(size))
    assert thawed == size
    assert hash(thawed) == hash(size)
    assert lower_bound(thawed) == 1


@pytest.mark.parametrize(
    "text",
    ["", " ", "2n", "n m", "n +", "n / 2", "(n", "n)", "floor(n)", "min()", "max(n,)", "n // 0", "n % 0",
     "?", "n.", "``", "1.5", "n**2", "-", "min(n"],
)  # fmt: skip
def test_parse_refuses(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text)


def test_parse_reads_what_people_write() -> None:
    assert parse(" past_sequence+sequence ") == Dim.symbol("past_sequence") + Dim.symbol("sequence")
    assert parse("-n//2 + min * 3") == -n // 2 + Dim.symbol("min") * 3
    assert parse("max(one, 1)", {"one": one}) == one
    assert parse("n + 1", {"n": 4}) == 5


def test_division_by_zero() -> None:
    for divide in (operator.floordiv, operator.mod):
        with pytest.raises(ZeroDivisionError):
            divide(n, 0)
    with pytest.raises(ZeroDivisionError):
        evaluate(5 // n, {"n": 0})


def test_broadcast_refuses() -> None:
    with pytest.raises(ValueError, match="2 and 3"):
        broadcast(2, 3)
    with pytest.raises(ValueError, match="can't be broadcast"):
        evaluate(broadcast(n, m), {"n": 2, "m": 3})


def test_unusable_names() -> None:
    for name in ("", "a`b"):
        with pytest.raises(ValueError, match="can't name a size"):
            Dim.symbol(name)


def test_terms_in_printed_order() -> None:
    assert dims.terms(3) == [(3, [])]
    assert dims.terms(0) == []
    size = 1 + 2 * h * h - (n // 2) * w
    assert dims.terms(size) == [(2, [("h", 2)]), (-1, [("n//2", 1), ("w", 1)]), (1, [])]
    quotient = dims.terms(size)[1][1][0][0]
    assert (quotient.kind, quotient.args) == ("floordiv", (n, 2))
    symbol = dims.terms(Dim.symbol("a b"))[0][1][0][0]
    assert (symbol.kind, symbol.name, str(symbol)) == ("symbol", "a b", "`a b`")


def test_symbols_and_substitution() -> None:
    size = maximum(n, m // 2) + b * 0 + h
    assert free_symbols(size) == {"n", "m", "h"}
    assert free_symbols(3) == frozenset()
    assert substitute(size, {"m": 2 * n, "h": 1}) == n + 1
    assert substitute(n * m, {"n": m, "m": n}) == n * m
    with pytest.raises(KeyError):
        evaluate(size, {"n": 1})


# -- random expressions -------------------------------------------------------------------------------

MINIMA = {"a": 0, "b": 0, "c": 1, "d": 2}
SYMBOLS = {name: Dim.symbol(name, minimum) for name, minimum in MINIMA.items()}
Tree = Any  # int | str | (operator, Tree, Tree)


def broadcast_ints(x: int, y: int) -> int:
    if x != y and 1 not in (x, y):
        raise ValueError("invalid")
    return y if x == 1 else x


ON_SIZES: dict[str, Callable[..., Size]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "min": minimum, "max": maximum, "broadcast": broadcast,
}  # fmt: skip
ON_INTS: dict[str, Callable[..., Any]] = {**ON_SIZES, "min": min, "max": max, "broadcast": broadcast_ints}

leaves = st.sampled_from([*MINIMA, *MINIMA, 1, 2, 3, 4, 6, -1, -2, 0])
trees = st.recursive(
    leaves, lambda inner: st.tuples(st.sampled_from([*ON_SIZES, "//", "%"]), inner, inner), max_leaves=7
)
small = st.recursive(
    leaves, lambda inner: st.tuples(st.sampled_from([*ON_SIZES, "//", "%"]), inner, inner), max_leaves=4
)
values = st.fixed_dictionaries({name: st.integers(low, 9) for name, low in MINIMA.items()})


def compute(tree: Tree, leaf: Callable[[str], Any], functions: dict[str, Callable[..., Any]]) -> Any:
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return leaf(tree)
    return functions[tree[0]](compute(tree[1], leaf, functions), compute(tree[2], leaf, functions))


def build(tree: Tree) -> Size:
    """The size, where it has one: no provable zero division, no provably wrong broadcast."""
    try:
        return compute(tree, SYMBOLS.__getitem__, ON_SIZES)  # type: ignore[no-any-return]
    except (ZeroDivisionError, ValueError):
        assume(False)
        raise


def results(tree: Tree, samples: list[dict[str, int]]) -> list[tuple[dict[str, int], int]]:
    """What Python computes, for the samples where that is defined."""
    found = []
    for sample in samples:
        try:
            found.append((sample, compute(tree, sample.__getitem__, ON_INTS)))
        except (ZeroDivisionError, ValueError):
            continue
    return found


samples = st.lists(values, min_size=8, max_size=8)
patient = settings(deadline=None)  # a busy machine is no failure


@patient
@given(trees, samples)
def test_evaluates_as_python(tree: Tree, samples: list[dict[str, int]]) -> None:
    expected = results(tree, samples)
    assume(expected)
    size = build(tree)
    low, high = lower_bound(size), upper_bound(size)
    for sample, value in expected:
        assert evaluate(size, sample) == value
        assert substitute(size, sample) == value
        assert low is None or low <= value
        assert high is None or value <= high


@patient
@given(trees)
@example(("//", "a", ("%", "a", ("%", "a", 2))))  # a divisor that is 0 whatever a is
@example(("-", 0, ("//", "a", 2)))
def test_text_round_trip(tree: Tree) -> None:
    size = build(tree)
    assert parse(str(size)) == size
    assert parse(str(size), SYMBOLS) == size
    assert str(parse(str(size))) == str(size)
    assert substitute(size, {}) == size
    assert isinstance(size, int) or size._terms.get((), 1) != 0


@patient
@given(trees, trees, samples)
def test_ring_laws(left: Tree, right: Tree, samples: list[dict[str, int]]) -> None:
    x, y = build(left), build(right)
    assert x + y == y + x
    assert x * y == y * x
    assert x - y == -(y - x)
    assert (x + y) * x == x * x + y * x
    assert (x + y) - y == x
    assert minimum(x, y) == minimum(y, x)
    assert maximum(x, y) == maximum(y, x)
    for one_way, other_way in ((x, y), (y, x)):
        try:
            size = broadcast(one_way, other_way)
        except ValueError:
            continue
        for sample, value in results(("broadcast", left, right), samples):
            assert evaluate(size, sample) == value


@given(small, small, samples)
@settings(max_examples=300, deadline=None)
def test_known_never_contradicts(left: Tree, right: Tree, samples: list[dict[str, int]]) -> None:
    x, y = build(left), build(right)
    pairs = list(zip_results(left, right, samples))
    for known, holds in ((known_eq, operator.eq), (known_lt, operator.lt), (known_le, operator.le),
                         (known_ge, operator.ge)):  # fmt: skip
        answer = known(x, y)
        for u, v in pairs:
            assert answer is None or holds(u, v) is answer


def zip_results(left: Tree, right: Tree, samples: list[dict[str, int]]) -> list[tuple[int, int]]:
    pairs = results(("pair", left, right), [])
    for sample in samples:
        both = results(left, [sample]), results(right, [sample])
        if both[0] and both[1]:
            pairs.append((both[0][0][1], both[1][0][1]))  # type: ignore[arg-type]
    return pairs  # type: ignore[return-value]


@patient
@given(small, small)
def test_exact_div_inverts_product(left: Tree, right: Tree) -> None:
    x, y = build(left), build(right)
    quotient = exact_div(x, y)
    if quotient is not None:
        assert known_eq(quotient * y, x) is True
    if y != 0:
        assert exact_div(x * y, y) == x
        assert x * y // y == x
        assert x * y % y == 0


@patient
@given(small, small, samples)
def test_division_laws(left: Tree, right: Tree, samples: list[dict[str, int]]) -> None:
    x, y = build(left), build(right)
    assume(y != 0)
    for sample, value in results(("-", 0, ("//", ("-", 0, left), right)), samples):
        assert evaluate(-(-x // y), sample) == value
    rebuilt = x // y * y + x % y
    for sample, value in results(("+", left, ("*", 0, ("//", left, right))), samples):
        assert evaluate(rebuilt, sample) == value


def test_broadcast_with_a_cut_of_the_same_size() -> None:
    """`positions[:n] + x` with a table of 64 rows runs only where n fits, and then has n rows."""
    n = Dim.symbol("n")
    assert dims.broadcast(dims.minimum(64, n), n) == n
    assert dims.broadcast(n, dims.minimum(64, n), 1) == n
    assert str(dims.broadcast(dims.minimum(1, n), n)) != "n"
