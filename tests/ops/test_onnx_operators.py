"""Operators of ONNX that models call by `torch.onnx.ops`."""

from __future__ import annotations

import itertools

import onnx
import pytest
import torch
import torch.onnx.ops
from torch import nn

import onnxport
from onnxport.errors import CheckerError, LoweringError, OpsetError

Q, K, V = torch.randn(1, 2, 4, 8), torch.randn(1, 2, 6, 8), torch.randn(1, 2, 6, 8)
PAST = torch.randn(1, 2, 3, 8), torch.randn(1, 2, 3, 8)


class Attention(nn.Module):
    def __init__(self, **options) -> None:
        super().__init__()
        self.options = options

    def forward(self, q, k, v, mask=None, past_key=None, past_value=None):
        return torch.onnx.ops.attention(q, k, v, mask, past_key, past_value, **self.options)


ATTENTION = [
    ((Q, K, V), {}),
    ((Q, K, V), {"scale": 0.3, "softcap": 2.0}),
    ((Q, K, V), {"is_causal": True}),
    ((Q, K, V), {"softmax_precision": 1}),
    ((Q, K, V, torch.randn(4, 6)), {}),
    ((Q, K, V, torch.rand(4, 6) > 0.3), {}),
    ((Q, K, V, torch.randn(4, 9), *PAST), {}),
    ((torch.randn(1, 4, 4, 8), K, V), {}),
    ((torch.randn(1, 4, 16), torch.randn(1, 6, 8), torch.randn(1, 6, 8)), {"q_num_heads": 2, "kv_num_heads": 1}),
    *(((Q, K, V), {"qk_matmul_output_mode": mode, "softcap": cap}) for mode, cap in [(1, 0.0), (2, 2.0), (3, 2.0)]),
]


@pytest.mark.parametrize("opset", [None, 24])
@pytest.mark.parametrize("args, options", ATTENTION)
def test_attention(args, options, opset):
    result = onnxport.export(Attention(**options), args, opset_version=opset)
    assert [node.op_type for node in result.model.graph] == ["Attention"]
    assert result.opset_version == (opset or 23)
    result.verify()


def test_attention_at_other_sizes():
    axes = {"q": {0: "b", 2: "t"}, "k": {0: "b", 2: "s"}, "v": {0: "b", 2: "s"}}
    result = onnxport.export(Attention(), (Q, K, V), dynamic_axes=axes)
    assert result.model.graph.outputs[3].shape == ["b", 2, "t", "s"]
    result.verify()


REFUSED = [
    ((Q, K, V, torch.randn(4, 6)), {"softcap": 2.0}, "masks the scores before softcap"),
    ((Q, K, V), {"softcap": 2.0, "is_causal": True}, "masks the scores before softcap"),
    ((Q, K, V, None, *PAST), {"is_causal": True}, "doesn't count past_key"),
    ((Q, K, V, torch.randn(4, 6)), {"qk_matmul_output_mode": 1}, "qk_matmul_output_mode=1"),
    ((Q, K, V), {"qk_matmul_output_mode": 2, "is_causal": True}, "qk_matmul_output_mode=2"),
]


@pytest.mark.parametrize("args, options, text", REFUSED)
def test_attention_that_is_another_one_in_pytorch_is_refused(args, options, text):
    with pytest.raises(LoweringError, match=text):
        onnxport.export(Attention(**options), args)


class Rotary(nn.Module):
    def __init__(self, **options) -> None:
        super().__init__()
        self.options = options

    def forward(self, x, cos, sin, ids=None):
        return torch.onnx.ops.rotary_embedding(x, cos, sin, ids, **self.options)


@pytest.mark.parametrize("interleaved, part", itertools.product([False, True], [0, 4]))
def test_rotary_embedding(interleaved, part):
    cos, sin = torch.randn(10, (part or 8) // 2), torch.randn(10, (part or 8) // 2)
    x, ids = torch.randn(2, 3, 4, 8), torch.randint(10, (2, 4))
    options = {"interleaved": interleaved, "rotary_embedding_dim": part, "num_heads": 3 if part else 0}
    axes = {"x": {0: "b", 2: "t"}, "ids": {0: "b", 1: "t"}}
    onnxport.export(Rotary(**options), (x, cos, sin, ids), dynamic_axes=axes).verify()


def test_a_packed_rotary_embedding_without_positions():
    x, cos, sin = torch.randn(2, 4, 24), torch.randn(2, 4, 4), torch.randn(2, 4, 4)
    onnxport.export(Rotary(num_heads=3), (x, cos, sin)).verify()


@pytest.mark.parametrize(
    "model, args", [(Attention(), (Q, K, V)), (Rotary(num_heads=2), (Q, *torch.randn(2, 1, 4, 4)))]
)
def test_older_opsets_are_refused(model, args):
    with pytest.raises(OpsetError, match="needs opset 23"):
        onnxport.export(model, args, opset_version=22)


class Symbolic(nn.Module):
    def __init__(self, name, dtype=torch.float32, **more) -> None:
        super().__init__()
        self.name, self.dtype, self.more = name, dtype, more

    def forward(self, x):
        made = torch.onnx.ops.symbolic(self.name, (x, None, x), dtype=self.dtype, shape=(x.shape[0], 3), **self.more)
        return made + 1


ATTRIBUTES = {"i": 1, "f": 2.5, "s": "text", "b": True, "is": [1, 2], "fs": [1.0, 2.0], "ss": ["a", "b"]}


@pytest.mark.parametrize("front_end", ["trace", "exported"])
def test_an_operator_of_another_domain(front_end):
    model, x = Symbolic("custom::Foo", attrs=ATTRIBUTES, version=3, metadata_props={"key": "value"}), torch.randn(2, 3)
    shapes = {"x": {0: torch.export.Dim("n")}}
    if front_end == "exported":
        model = torch.export.export(model, (x,), dynamic_shapes=shapes)
    proto = onnxport.export(model, (x,), dynamic_shapes=shapes).model_proto
    node = proto.graph.node[0]
    assert (node.domain, node.op_type, list(node.input)) == ("custom", "Foo", ["x", "", "x"])
    found = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    assert found == {**ATTRIBUTES, "s": b"text", "ss": [b"a", b"b"], "b": 1}
    assert {d.domain: d.version for d in proto.opset_import} == {"": 14, "custom": 3}
    assert [(p.key, p.value) for p in node.metadata_props] == [("key", "value")]
    assert [d.dim_param or d.dim_value for d in proto.graph.output[0].type.tensor_type.shape.dim] == ["n", 3]


class Splits(nn.Module):
    def forward(self, x):
        parts = torch.onnx.ops.symbolic_multi_out(
            "Split", (x * 2,), {"axis": 1}, dtypes=(1, torch.float32), shapes=[(x.shape[0], 2)] * 2, version=13
        )
        return parts[0] + parts[1]


def test_an_operator_of_onnx_with_several_results():
    result = onnxport.export(Splits(), torch.ones(2, 4), dynamic_axes={"x": {0: "n"}})
    torch.testing.assert_close(result(torch.ones(5, 4)), torch.full((5, 2), 4.0))


def test_operators_that_do_not_fit_are_refused():
    x = torch.randn(2, 3)
    with pytest.raises(OpsetError, match="Foo of version 20"):
        onnxport.export(Symbolic("Foo", version=20), x, opset_version=19)
    both = nn.Sequential(Symbolic("custom::Foo", version=1), Symbolic("custom::Bar", version=2))
    with pytest.raises(LoweringError, match="one version of a domain"):
        onnxport.export(both, x)
    with pytest.raises(CheckerError):
        onnxport.export(Symbolic("Foo"), x)
