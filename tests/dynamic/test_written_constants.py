"""Tensors that a model makes of numbers and writes to have their first values, also where the recording is tried out."""

from __future__ import annotations

import pytest
import torch

import onnxport


def by_batch(x):
    """The branch gives the same results, which is seen by running the recording."""
    scale = torch.tensor([1.0, 2.0, 3.0, 4.0]).reshape(2, 2)
    scale.transpose(0, 1).div_(torch.tensor([0.5 * x.shape[1], 2.0]))
    if x.shape[0] > 1:
        return x[..., :2] @ scale.expand(x.shape[0], -1, -1)
    return x[..., :2] @ scale[None]


def by_number(x):
    """The numbers that decide are computed with what is written."""
    count = torch.tensor([1, 2])
    count.add_(x.shape[1])
    return x + count.sum() if int(count[1]) > 4 else x + count.sum() * 1


@pytest.mark.parametrize("model", [by_batch, by_number])
def test_what_is_written_is_not_written_at_export(model):
    x = torch.rand(2, 3, 5)
    result = onnxport.export(model, (x,), dynamic_axes={"x": {0: "batch", 1: "rows"}})
    for size in ((2, 3, 5), (1, 4, 5), (3, 7, 5)):
        x = torch.rand(size)
        torch.testing.assert_close(result(x), model(x), rtol=1e-5, atol=1e-5)
