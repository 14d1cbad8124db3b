"""Operators of packages that are made of torch's own are recorded as these."""

import pytest
import torch

import onnxport

AXES = {"x": {0: "n"}}


@pytest.fixture(scope="module")
def scaled():
    """An operator that its package registers as a composition, called with a list of sizes."""
    library = torch.library.Library("torchao", "FRAGMENT")
    library.define("onnxport_scaled(Tensor x, int[] block, float by) -> Tensor")
    library.impl("onnxport_scaled", lambda x, block, by: x.reshape(block) * by, "CompositeImplicitAutograd")
    yield torch.ops.torchao.onnxport_scaled
    library._destroy()


def test_a_composed_operator_takes_traced_sizes(scaled):
    result = onnxport.export(
        lambda x: scaled(x, [x.shape[0], -1], 0.5), (torch.randn(3, 4),), input_names=["x"], dynamic_axes=AXES
    )
    for n in (3, 7):
        x = torch.randn(n, 4)
        torch.testing.assert_close(result(x), x * 0.5)
    assert [node.op_type for node in result.model.graph if node.op_type != "Reshape"] == ["Mul"]
