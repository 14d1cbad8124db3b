"""Whether `reshape`, `flatten` and `contiguous` give a view or a copy decides what a write to the result does."""

import pytest
import torch
from tests.mutation.test_random_programs import Traced
from tests.script.harness import check_script

from onnxport.errors import LoweringError


def copy_of_transposed(x, y):
    v = x.t().reshape(-1)
    v.add_(1)
    return x, v


def view_of_rows(x, y):
    v = x[1:].reshape(-1)
    v.add_(1)
    return x, v


def contiguous_rows(x, y):
    v = x[1:].contiguous()
    v.add_(1)
    return x, v


def contiguous_columns(x, y):
    v = x[:, 1:].contiguous()
    v.add_(1)
    return x, v


def permuted_result(x, y):
    a = x.t() + 1
    v = a.flatten()
    v.mul_(2)
    return a, v


def same_shape(x, y):
    v = x.t().reshape(4, 3)
    v.mul_(2)
    return x, v


PROGRAMS = [copy_of_transposed, view_of_rows, contiguous_rows, contiguous_columns, permuted_result, same_shape]
ARGUMENTS = [(torch.arange(12.0).reshape(3, 4), torch.ones(3, 4))]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_traced(function):
    check_script(Traced(function), *ARGUMENTS)


UNCLEAR = [f for f in PROGRAMS if f is not same_shape]


@pytest.mark.parametrize("function", UNCLEAR, ids=lambda f: f.__name__)
def test_scripted(function):
    """Strides aren't known: what may be a view or a copy is refused, where a write makes that matter."""
    with pytest.raises(LoweringError, match="shares its memory"):
        check_script(function, *ARGUMENTS)


def test_scripted_same_shape():
    check_script(same_shape, *ARGUMENTS)
