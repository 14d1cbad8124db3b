"""What is computed at export, and is no node of the model."""

from __future__ import annotations

import pytest
import torch

import onnxport


@pytest.mark.parametrize("opset", [9, 13, 20])
def test_weights_that_are_a_softmax_are_constants(opset):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.kernel = torch.nn.Parameter(torch.randn(4, 3, 9))

        def forward(self, x):
            return torch.nn.functional.conv2d(x, self.kernel.softmax(-1).view(4, 3, 3, 3))

    net, x = Net(), torch.rand(1, 3, 8, 8)
    result = onnxport.export(net, (x,), opset_version=opset)
    assert [node.op_type for node in result.model_proto.graph.node] == ["Conv"]
    torch.testing.assert_close(result(x), net(x), rtol=1e-4, atol=1e-5)
