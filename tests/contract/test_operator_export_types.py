"""ONNX, ONNX_FALLTHROUGH, ONNX_ATEN and ONNX_ATEN_FALLBACK."""

from __future__ import annotations

import onnx
import pytest
import torch

from onnxport import OperatorExportTypes
from onnxport.errors import UnsupportedOperatorError
from tests.contract.harness import OPSETS, X, exported, shape

LIBRARY = torch.library.Library("contract_kinds", "DEF")
LIBRARY.define("opaque(Tensor a, int k, float[] f, str mode, Tensor? w=None) -> (Tensor, Tensor)")
LIBRARY.impl("opaque", lambda a, k, f, mode, w=None: (a + k, a.sum(1)), "CPU")

ONNX, FALLTHROUGH = OperatorExportTypes.ONNX, OperatorExportTypes.ONNX_FALLTHROUGH
ATEN, FALLBACK = OperatorExportTypes.ONNX_ATEN, OperatorExportTypes.ONNX_ATEN_FALLBACK


class Custom(torch.nn.Module):
    def forward(self, x):
        a, b = torch.ops.contract_kinds.opaque(x * 2, 3, [0.5, 1.5], "m")
        return a.relu(), b


class Unconverted(torch.nn.Module):
    """An ATen operator that has no conversion, and needs none: PyTorch tests itself with it."""

    def forward(self, x):
        return torch.ops.aten._test_warn_in_autograd(x).mul(x)


def nodes(proto):
    return [(n.domain, n.op_type) for n in proto.graph.node]


def attributes(node):
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def domains(proto):
    return {o.domain: o.version for o in proto.opset_import}


@pytest.mark.parametrize(
    "model, name", [(Custom(), "contract_kinds::opaque"), (Unconverted(), "aten::_test_warn_in_autograd")]
)
def test_onnx_refuses_what_has_no_conversion(model, name):
    with pytest.raises(UnsupportedOperatorError, match=name):
        exported(model, X, operator_export_type=ONNX)


@pytest.mark.parametrize("opset", OPSETS)
def test_fallthrough_leaves_custom_and_aten_operators_in_their_own_domain(opset):
    proto = exported(Custom(), X, operator_export_type=FALLTHROUGH, opset_version=opset)
    assert nodes(proto) == [("", "Mul"), ("contract_kinds", "opaque"), ("", "Relu")]
    assert domains(proto) == {"": opset, "contract_kinds": 1}
    constants = {i.name: onnx.numpy_helper.to_array(i).tolist() for i in proto.graph.initializer}
    assert [constants[n] for n in proto.graph.node[1].input[1:]] == [3, [0.5, 1.5]]
    assert attributes(proto.graph.node[1]) == {"mode": b"m"}
    assert [shape(o) for o in proto.graph.output] == [[2, 3], [2]]
    proto = exported(Unconverted(), X, operator_export_type=FALLTHROUGH, opset_version=opset)
    assert nodes(proto) == [("aten", "_test_warn_in_autograd"), ("", "Mul")]
    assert domains(proto) == {"": opset, "aten": 1}


@pytest.mark.parametrize("opset", OPSETS)
def test_aten_writes_every_aten_operator_as_aten(opset):
    proto = exported(Unconverted(), X, operator_export_type=ATEN, opset_version=opset)
    assert nodes(proto) == [("org.pytorch.aten", "ATen")] * 2
    assert attributes(proto.graph.node[0]) == {"operator": b"_test_warn_in_autograd", "overload_name": b""}
    assert attributes(proto.graph.node[1]) == {"operator": b"mul", "overload_name": b"Tensor"}
    assert domains(proto) == {"": opset, "org.pytorch.aten": 1}


@pytest.mark.parametrize("opset", OPSETS)
def test_aten_fallback_writes_only_what_cannot_be_converted(opset):
    proto = exported(Unconverted(), X, operator_export_type=FALLBACK, opset_version=opset)
    assert nodes(proto) == [("org.pytorch.aten", "ATen"), ("", "Mul")]
    assert attributes(proto.graph.node[0])["operator"] == b"_test_warn_in_autograd"


def test_aten_fallback_where_the_conversion_refuses():
    class Model(torch.nn.Module):
        def forward(self, x, grid):
            return torch.nn.functional.grid_sample(x, grid, mode="bicubic", align_corners=False)

    args = (torch.randn(1, 1, 4, 4), torch.rand(1, 2, 2, 2))
    proto = exported(Model(), args, operator_export_type=FALLBACK, opset_version=7)
    assert proto.graph.node


def test_aten_fallback_still_refuses_custom_operators():
    with pytest.raises(UnsupportedOperatorError, match="contract_kinds::opaque"):
        exported(Custom(), X, operator_export_type=FALLBACK)


def test_torchs_own_members_are_accepted():
    proto = exported(Unconverted(), X, operator_export_type=torch.onnx.OperatorExportTypes.ONNX_ATEN_FALLBACK)
    assert nodes(proto) == [("org.pytorch.aten", "ATen"), ("", "Mul")]


def test_in_place_operators_fall_back_without_writing():
    class Model(torch.nn.Module):
        def forward(self, x):
            y = x + 1
            torch.ops.aten.relu_(y)
            return y

    proto = exported(Model(), X, operator_export_type=ATEN)
    assert [attributes(n)["operator"] for n in proto.graph.node] == [b"add", b"relu"]
