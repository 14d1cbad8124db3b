"""Sizes that are long expressions, each of which would be twice in the next: what is done with them takes no time."""

import torch
import torch.nn.functional as F

import onnxport

from .harness import check, f, program, programs


def causal(x):
    """Convolutions in time that repeat the first frame, and what is skipped beside them; there may be no frame."""
    for _ in range(12):
        y = torch.cat([x[:, :, :1], x[:, :, :1], x], 2)
        x = x + F.avg_pool1d(y, 3, 1)
    return x


@programs([program("causal", causal, f("b", 4, "n"), b=2, n=5)])
def test_live(p, opset):
    check(p, opset)


def test_sizes_are_named():
    result = onnxport.export(
        causal, (torch.randn(2, 4, 5),), input_names=["x"], dynamic_axes={"x": {2: "n"}}, optimize=False, strict=True
    )
    values = [*result.model_proto.graph.value_info, *result.model_proto.graph.output]
    names = [d.dim_param for value in values for d in value.type.tensor_type.shape.dim]
    assert 100 < max(map(len, names)) < 1000
