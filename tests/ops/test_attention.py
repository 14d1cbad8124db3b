"""Attention and the fused transformer layers."""

import pytest
import torch
import torch.nn.functional as F
from tests.harness import LATEST, b8, case, cases, check, f16, f32, f64, operators
from torch import nn

import onnxport
from onnxport.errors import OnnxExporterWarning

attend = F.scaled_dot_product_attention
QKV = (f32(2, 3, 4, 8), f32(2, 3, 5, 8), f32(2, 3, 5, 6))
SIZES = {0: {0: "n", 2: "l"}, 1: {0: "n", 2: "s"}, 2: {0: "n", 2: "s"}}
DEAD_ROW = torch.tensor([[True, False, True, False, True], [False] * 5, [True] * 5, [False, True, False, False, True]])

ATTENTION = [
    case("plain", attend, *QKV, dynamic=SIZES),
    case("scale", lambda q, k, v: attend(q, k, v, scale=0.3), *QKV),
    case("causal", lambda q, k, v: attend(q, k, v, is_causal=True), *QKV, dynamic=SIZES),
    case("causal_tall", lambda q, k, v: attend(k, q, v[:, :, :4], is_causal=True), *QKV),
    case("bool_mask", lambda q, k, v, m: attend(q, k, v, m), *QKV, DEAD_ROW),
    case("bool_mask_batch", lambda q, k, v, m: attend(q, k, v, m), *QKV, b8(2, 1, 4, 5),
         dynamic={**SIZES, 3: {0: "n", 2: "l", 3: "s"}}),
    case("bool_mask_constant", lambda q, k, v: attend(q, k, v, DEAD_ROW), *QKV),
    case("float_mask", lambda q, k, v, m: attend(q, k, v, m), *QKV, f32(4, 5)),
    case("float_mask_dead", lambda q, k, v, m: attend(q, k, v, m), *QKV,
         torch.zeros(4, 5).masked_fill(~DEAD_ROW, float("-inf"))),
    case("row_mask", lambda q, k, v, m: attend(q, k, v, m), *QKV, b8(2, 1, 1, 5)),
    case("3d", attend, f32(2, 4, 8), f32(2, 5, 8), f32(2, 5, 8)),
    case("2d", attend, f32(4, 8), f32(5, 8), f32(5, 8)),
    case("grouped", lambda q, k, v: attend(q, k, v, enable_gqa=True), f32(2, 6, 4, 8), f32(2, 2, 5, 8), f32(2, 2, 5, 6),
         dynamic=SIZES),
    case("grouped_mask", lambda q, k, v, m: attend(q, k, v, m, enable_gqa=True), f32(2, 6, 4, 8), f32(2, 2, 5, 8),
         f32(2, 2, 5, 6), b8(2, 6, 4, 5)),
    case("grouped_causal", lambda q, k, v: attend(q, k, v, is_causal=True, enable_gqa=True), f32(2, 6, 4, 8),
         f32(2, 2, 4, 8), f32(2, 2, 4, 6)),
    case("double", attend, f64(2, 3, 4, 8), f64(2, 3, 5, 8), f64(2, 3, 5, 8)),
    case("half", attend, f16(2, 3, 4, 8), f16(2, 3, 5, 8), f16(2, 3, 5, 8)),
    case("dynamic_head", attend, f32(2, 3, 4, 8), f32(2, 3, 5, 8), f32(2, 3, 5, 8),
         dynamic={0: {3: "d"}, 1: {3: "d"}}),
]  # fmt: skip


@cases(ATTENTION, opsets=(8, 9, 13, LATEST))
def test_attention(case, frontend, opset):
    check(case, frontend, opset)


def _attention(**options):
    torch.manual_seed(0)
    return nn.MultiheadAttention(8, 2, batch_first=True, **options).eval()


class WithMasks(nn.Module):
    """A layer called with masks by name."""

    def __init__(self, layer, *names, **more):
        super().__init__()
        self.layer, self.names, self.more = layer, names, more

    def forward(self, x, *masks):
        given = dict(zip(self.names, masks), **self.more)
        if isinstance(self.layer, nn.MultiheadAttention):
            return self.layer(x, x, x, **given)
        return self.layer(x, **given)


def _encoder(**options):
    torch.manual_seed(0)
    return nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, **options).eval()


PADDING = torch.tensor([[False, False, False, True], [False, True, False, False]])
AHEAD = torch.triu(torch.ones(4, 4, dtype=torch.bool), 1)

LAYERS = [
    case("attention", WithMasks(_attention()), f32(2, 4, 8), dynamic={0: "n", 1: "t"}),
    case("attention_no_weights", WithMasks(_attention(), need_weights=False), f32(2, 4, 8)),
    case("attention_all_weights", WithMasks(_attention(), average_attn_weights=False), f32(2, 4, 8)),
    case("attention_padding", WithMasks(_attention(), "key_padding_mask"), f32(2, 4, 8), PADDING),
    case("attention_mask", WithMasks(_attention(), "attn_mask"), f32(2, 4, 8), AHEAD),
    case("attention_both", WithMasks(_attention(), "attn_mask", "key_padding_mask"), f32(2, 4, 8), AHEAD, PADDING),
    case("encoder", _encoder(), f32(2, 4, 8), dynamic={0: "n", 1: "t"}),
    case("encoder_norm_first", _encoder(norm_first=True), f32(2, 4, 8)),
    case("encoder_gelu", _encoder(activation="gelu"), f32(2, 4, 8)),
    case("encoder_padding", WithMasks(_encoder(), "src_key_padding_mask"), f32(2, 4, 8), PADDING),
    case("encoder_mask", WithMasks(_encoder(), "src_mask"), f32(2, 4, 8), AHEAD),
    case("decoder", nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), f32(2, 4, 8), f32(2, 5, 8)),
    case(
        "transformer", nn.Transformer(8, 2, 1, 1, 16, batch_first=True), f32(2, 3, 8), f32(2, 4, 8),
        dynamic={0: {0: "n", 1: "s"}, 1: {0: "n", 1: "t"}},
    ),
    case("sequence_first", nn.MultiheadAttention(8, 2), f32(3, 2, 8), f32(5, 2, 8), f32(5, 2, 8)),
    case("other_sizes", _attention(kdim=6, vdim=4), f32(2, 3, 8), f32(2, 5, 6), f32(2, 5, 4)),
    case("extra_keys", _attention(add_bias_kv=True, add_zero_attn=True), f32(2, 3, 8), f32(2, 5, 8), f32(2, 5, 8)),
    case("encoders_padding", WithMasks(nn.TransformerEncoder(_encoder(), 2), "src_key_padding_mask"), f32(2, 4, 8), PADDING),
    case("encoders", nn.TransformerEncoder(_encoder(), 2), f32(2, 4, 8), dynamic={0: "n"}),
]  # fmt: skip


@pytest.mark.parametrize("grad", [False, True], ids=["fused", "spelled_out"])
@cases(LAYERS, opsets=(13, LATEST))
def test_layers(case, frontend, opset, grad):
    with torch.set_grad_enabled(grad):  # PyTorch runs fused layers only without gradients
        check(case, frontend, opset)


def _encoders(mask_check=True, norm=None, **options):
    return nn.TransformerEncoder(_encoder(**options), 2, norm, mask_check=mask_check).eval()


def _padded(*lengths):
    return torch.arange(5)[None] >= torch.tensor(lengths)[:, None]


X = torch.randn(2, 5, 8)
PADDED_ANYHOW = torch.tensor([[False] * 5, [False, True, False, False, True]])
# PyTorch packs sequences that are padded at the end, and fills the rest with zeros.
PACKED = [
    case(name, WithMasks(encoders, "src_key_padding_mask"), X, _padded(5, 2), dynamic={0: {0: "n"}, 1: {0: "n"}},
         others=[(X, _padded(4, 5)), (X, PADDED_ANYHOW), (torch.cat([X, X]), _padded(1, 5, 3, 5))])
    for name, encoders in (
        ("zeros", _encoders()), ("norm", _encoders(norm=nn.LayerNorm(8))), ("gelu", _encoders(activation="gelu")),
        ("not_packed", _encoders(norm_first=True)),
    )
]  # fmt: skip


UNCHECKED = case(
    "unchecked", WithMasks(_encoders(mask_check=False), "src_key_padding_mask"), X, _padded(5, 2),
    others=[(X, _padded(4, 5)), (X, _padded(1, 5))],
)  # fmt: skip


@cases([*PACKED, UNCHECKED], opsets=(13, LATEST))
@pytest.mark.filterwarnings("ignore:.*nested:UserWarning")
def test_packed_sequences(case, frontend, opset):
    with torch.no_grad():
        check(case, frontend, opset)


def test_form():
    assert operators(check(ATTENTION[0])) == ["Mul", "Transpose", "MatMul", "Softmax", "MatMul"]


def test_scripted_encoders_say_that_they_do_not_pack():
    encoders = _encoders()
    with pytest.warns(OnnxExporterWarning, match="packs sequences by their padding mask"):
        result = onnxport.export(torch.jit.script(encoders), (X,), None, kwargs={"src_key_padding_mask": _padded(5, 2)})
    with torch.no_grad():
        kept, expected = ~_padded(4, 5), encoders(X, src_key_padding_mask=_padded(4, 5))
    torch.testing.assert_close(result(X, src_key_padding_mask=~kept)[kept], expected[kept], rtol=1e-4, atol=1e-5)


def test_causal_rows_are_never_dead():
    """Each looks at the first column, so that nothing has to be set to 0 where the length is known only at run time."""

    def attend(q, k):
        return torch.nn.functional.scaled_dot_product_attention(q, k, k, is_causal=True)

    args = (torch.randn(1, 2, 6, 4), torch.randn(1, 2, 5, 4))
    axes = {"q": {0: "batch", 2: "rows"}, "k": {0: "batch", 2: "columns"}}
    result = onnxport.export(attend, args, input_names=["q", "k"], dynamic_axes=axes)
    assert not any(node.op_type == "ReduceMax" for node in result.model_proto.graph.node)
    for rows, columns in ((3, 7), (7, 3), (4, 1)):
        other = (torch.randn(2, 2, rows, 4), torch.randn(2, 2, columns, 4))
        torch.testing.assert_close(result(*other), attend(*other), rtol=1e-4, atol=1e-5)
