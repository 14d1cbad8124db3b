"""Sizes that are sums of others."""

import pytest

from onnxport.program.labels import keeping_sum


@pytest.mark.parametrize(
    ("example", "sizes", "expected"),
    [
        ({"batch": 2, "new": 3, "past": 5, "total": 8}, {"batch": 3, "new": 4, "past": 9, "total": 9}, 13),
        ({"new": 3, "total": 8}, {"new": 4, "total": 9}, 9),
        ({"a": 1, "b": 7, "c": 2, "d": 6, "total": 8}, {"a": 1, "b": 1, "c": 1, "d": 1, "total": 9}, 9),
        ({"a": 0, "b": 8, "total": 8}, {"a": 1, "b": 1, "total": 9}, 9),
    ],
    ids=["sum", "no_sum", "ambiguous", "same"],
)
def test_keeping_sum(example, sizes, expected):
    assert keeping_sum(example, sizes) == {**sizes, "total": expected}


def test_no_sizes():
    assert keeping_sum({}, {}) == {}
