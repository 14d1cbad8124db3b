"""`compare`: what counts as equal."""

from __future__ import annotations

import pytest
import torch

from onnxport.verify.compare import compare

NAN, INF = float("nan"), float("inf")
BIG = 2**53


def t(*values: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype)


@pytest.mark.parametrize(
    ("actual", "expected", "ok"),
    [
        (t(1.0, 2.0), t(1.0, 2.0), True),
        (t(1.0, 2.0001), t(1.0, 2.0), True),
        (t(1.0, 2.01), t(1.0, 2.0), False),
        (t(1e-5, 100.0), t(0.0, 100.0), True),  # rounding of large terms that cancel
        (t(1e-5, 1e-5), t(2e-5, 1e-5), False),  # small outputs are compared at their own scale
        (t(0.5, 3e38), t(0.0, 3e38), False),  # a huge value hides nothing
        (t(NAN, 1.0), t(NAN, 1.0), True),
        (t(NAN), t(1.0), False),
        (t(1.0), t(NAN), False),
        (t(INF), t(INF), True),
        (t(-INF), t(INF), False),
        (t(1e30), t(INF), False),
        (t(1.0), t(1.0, 1.0), False),
        (t(1.0), t(1.0, dtype=torch.float64), False),
        (t(3, dtype=torch.int64), t(4, dtype=torch.int64), False),
        (torch.tensor([BIG]), torch.tensor([BIG + 1]), False),
        (t(1, dtype=torch.bool), t(0, dtype=torch.bool), False),
        (t(1, dtype=torch.bool), t(1, dtype=torch.bool), True),
        (t(1.01, dtype=torch.bfloat16), t(1.0, dtype=torch.bfloat16), True),
        (t(1.5, dtype=torch.bfloat16), t(1.0, dtype=torch.bfloat16), False),
        (torch.zeros(0, 3), torch.zeros(0, 3), True),
        (torch.zeros(0, 3), torch.zeros(0, 4), False),
        (torch.tensor([[1.0, 2.0]]), torch.tensor([1 + 2j]), True),
        (None, t(1.0), False),
        ([t(1.0)], t(1.0), False),
    ],
)
def test_compare(actual: object, expected: torch.Tensor, ok: bool) -> None:
    found = compare("y", actual, expected)
    assert found.ok is ok, found


def test_tolerances_given_are_taken_as_they_are() -> None:
    assert compare("y", t(1.5), t(1.0), atol=0.6).ok
    assert not compare("y", t(1.0000001), t(1.0), atol=0.0, rtol=0.0).ok
    assert compare("y", t(5, dtype=torch.uint8), t(4, dtype=torch.uint8), atol=1).ok


def test_problem_names_the_first_value() -> None:
    problem = compare("y", t(1.0, 5.0, 2.0), t(1.0, 2.0, 7.0)).problem
    assert problem == "2 of 3 values differ, by up to 5; the first at [1]: 5.0, expected 2.0"
