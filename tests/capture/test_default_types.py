"""A trace doesn't say which type floats had by default."""

import pytest
import torch

import onnxport
from onnxport.errors import LoweringError


def double(x):
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        return x + torch.zeros(3) + x.long() / 3
    finally:
        torch.set_default_dtype(before)


def same(x):
    torch.set_default_dtype(torch.get_default_dtype())
    return x + torch.zeros(3) + x.long() / 3


def test_another_one_is_refused():
    with pytest.raises(LoweringError, match=rf"{__file__}:12\n.*default type of floats, torch.float32.*dtype="):
        onnxport.export(double, (torch.randn(2, 3),))
    assert torch.get_default_dtype() == torch.float32


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_same_is_no_matter(dtype):
    torch.set_default_dtype(dtype)
    try:
        x = torch.randn(2, 3)
        found = onnxport.export(same, (x,))(x)
        torch.testing.assert_close(found, same(x))
    finally:
        torch.set_default_dtype(torch.float32)
