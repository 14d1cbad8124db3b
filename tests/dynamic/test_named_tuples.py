"""`dynamic_shapes` nested as the arguments are, where these are named tuples."""

from typing import NamedTuple

import torch

import onnxport


class Pair(NamedTuple):
    first: object
    second: object


class Sum(torch.nn.Module):
    def forward(self, pair):
        return pair.first + pair.second.sum(0) * pair.second.shape[0]


def test_sizes_of_named_tuples():
    pair = Pair(torch.randn(5, 4), torch.randn(3, 4))
    shapes = {"pair": Pair({0: "n"}, {0: "m"})}
    exported = onnxport.export(Sum(), (pair,), dynamic_shapes=shapes, strict=True)
    for n, m in ((1, 1), (2, 5), (7, 3), (9, 12)):
        other = Pair(torch.randn(n, 4), torch.randn(m, 4))
        torch.testing.assert_close(exported(other), Sum()(other))
