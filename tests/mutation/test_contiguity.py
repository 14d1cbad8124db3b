"""Whether `reshape`, `flatten` and `contiguous` give a view or a copy decides what a write to the result does."""

import pytest
import torch
from tests.mutation.test_random_programs import Traced
from tests.script.harness import check_script

import onnxport
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


def strided_columns(x):
    return x.t().as_strided((3, 2), (1, 4), 2), (x.permute(1, 0) * 2).as_strided((2, 3), (4, 1))


@pytest.mark.parametrize("decomposed", [False, True])
def test_as_strided_sees_memory_in_exported_programs(decomposed):
    class Model(torch.nn.Module):
        def forward(self, x):
            return strided_columns(x)

    x = torch.randn(6, 4)
    program = torch.export.export(Model(), (x,))
    result = onnxport.export(program.run_decompositions() if decomposed else program, (x,))
    for actual, expected in zip(result(x), strided_columns(x)):
        assert torch.equal(actual, expected)


def test_as_strided_of_memory_that_isnt_known_is_refused():
    with pytest.raises(LoweringError, match="isn't known how it lies in memory"):
        onnxport.export(torch.jit.script(strided_columns), (torch.randn(6, 4),))
