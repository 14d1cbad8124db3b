"""`flex_attention`: its functions of scores and masks become operators, recorded and from an exported program."""

import re
import warnings

import pytest
import torch
from tests.harness import LATEST, operators
from torch.nn.attention.flex_attention import (
    AuxRequest,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    or_masks,
)

import onnxport

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")

D = torch.export.Dim.DYNAMIC
SLOPES, NEAR = torch.tensor([0.5, 0.25, 0.125, 0.0625]), torch.linspace(-2, 2, 4 * 63).reshape(4, 63)


def causal(b, h, i, j):
    return i >= j


def masked(q, k, v, mask, **options):
    blocks = create_block_mask(mask, q.shape[0], None, q.shape[2], k.shape[2], device="cpu")
    return flex_attention(q, k, v, block_mask=blocks, **options)


def scored(q, k, v, score):
    return flex_attention(q, k, v, score_mod=score)


TABLE = {
    "plain": flex_attention,
    "scale": lambda q, k, v: flex_attention(q, k, v, scale=0.3),
    "alibi": lambda q, k, v: scored(q, k, v, lambda s, b, h, i, j: s + SLOPES[h] * (j - i)),
    "relative": lambda q, k, v: scored(q, k, v, lambda s, b, h, i, j: s + NEAR[h, i - j + 31]),
    "soft_cap": lambda q, k, v: scored(q, k, v, lambda s, b, h, i, j: 2 * torch.tanh(s / 2)),
    "by_batch": lambda q, k, v: scored(q, k, v, lambda s, b, h, i, j: s * (b + 1)),
    "causal_score": lambda q, k, v: scored(q, k, v, lambda s, b, h, i, j: torch.where(i > j, s, -float("inf"))),
    "causal": lambda q, k, v: masked(q, k, v, causal),
    "window": lambda q, k, v: masked(q, k, v, and_masks(causal, lambda b, h, i, j: i - j < 3)),
    "prefix": lambda q, k, v: masked(q, k, v, or_masks(causal, lambda b, h, i, j: j < 4)),
    "rows_that_see_nothing": lambda q, k, v: masked(q, k, v, lambda b, h, i, j: (i > j + 2) | (h == 1)),
    "fewer_queries": lambda q, k, v: masked(q[:, :, 3:], k, v, lambda b, h, i, j: i + 3 >= j),
    "shared_heads": lambda q, k, v: masked(q, k[:, :2], v[:, :2], causal, enable_gqa=True),
    "one_head": lambda q, k, v: flex_attention(q, k[:, :1], v[:, :1], enable_gqa=True),
    "sums": lambda q, k, v: masked(q, k, v, lambda b, h, i, j: i > j, return_aux=AuxRequest(lse=True)),
    "both": lambda q, k, v: masked(q, k, v, causal, return_lse=True, scale=0.2),
    # Lookups of rows, which torch.vmap takes apart: recorded by torch.export.
    "rows_of_rows": lambda q, k, v: scored(q, k, v, lambda s, b, h, i, j: s + NEAR[h][i] * NEAR[h][j]),
    "vectors": lambda q, k, v: scored(q, k, v, lambda s, b, h, i, j: s + (q[b, h, i] * k[b, h, j]).sum()),
    "mask": lambda q, k, v: create_mask(causal, 1, 2, q.shape[2], k.shape[2], device="cpu"),
    "blocks": lambda q, k, v: create_block_mask(
        causal, 1, 1, q.shape[2], k.shape[2], device="cpu", BLOCK_SIZE=8
    ).to_dense(),
}  # fmt: skip


class Call(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, q, k, v):
        return self.function(q, k, v)


class Documents(torch.nn.Module):
    """Attention within documents, with weights of its own among the scores."""

    def __init__(self):
        super().__init__()
        self.heads = torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0, 4.0]))

    def forward(self, q, k, v, document, prefix):
        def mask(b, h, i, j):
            return (document[b, i] == document[b, j]) & ((i >= j) | (j < prefix[b]))

        blocks = create_block_mask(mask, q.shape[0], None, q.shape[2], k.shape[2], device="cpu")
        return flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s * self.heads[h], block_mask=blocks)


def tensors(batch, length, dtype=torch.float32):
    generator = torch.Generator().manual_seed(length)
    return tuple(torch.randn(batch, 4, length, 8, generator=generator).to(dtype) for _ in range(3))


def export(model, args, front_end, opset, dynamic=None):
    if front_end == "exported":
        return onnxport.export(torch.export.export(model, args, dynamic_shapes=dynamic), opset_version=opset)
    with warnings.catch_warnings():
        warnings.simplefilter("error", onnxport.errors.OnnxExporterWarning)
        return onnxport.export(model, args, opset_version=opset, dynamic_shapes=dynamic)


def compare(result, model, args, tolerance=1e-4):
    with torch.no_grad():
        leaves = torch.utils._pytree.tree_leaves(model(*args))
    expected = [leaf for leaf in leaves if leaf is not None]
    actual = result(*args)
    actual = actual if isinstance(actual, (list, tuple)) else [actual]
    for a, e in zip(actual, expected, strict=True):
        torch.testing.assert_close(a, e, rtol=tolerance, atol=tolerance)


EXPORTED = (
    "plain",
    "alibi",
    "relative",
    "by_batch",
    "causal",
    "one_head",
    "sums",
    "rows_of_rows",
)  # takes seconds each


@pytest.mark.parametrize(
    ("name", "front_end"), [*((name, "trace") for name in TABLE), *((name, "exported") for name in EXPORTED)]
)
def test_at_several_sizes(name, front_end):
    model = Call(TABLE[name])
    result = export(model, tensors(2, 16), front_end, LATEST, ({0: D, 2: D},) * 3)
    for sizes in ((2, 16), (3, 21), (2, 9)):
        compare(result, model, tensors(*sizes))


@pytest.mark.parametrize("opset", [9, 14, 20])
@pytest.mark.parametrize("name", ["relative", "soft_cap", "causal", "shared_heads", "sums"])
def test_older_opsets(name, opset):
    model = Call(TABLE[name])
    compare(export(model, tensors(2, 16), "trace", opset), model, tensors(2, 16))


@pytest.mark.parametrize("front_end", ["trace", "exported"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
@pytest.mark.parametrize("name", ["plain", "alibi", "rows_that_see_nothing", "sums"])
def test_types(name, dtype, front_end):
    model, args = Call(TABLE[name]), tensors(2, 16, dtype)
    compare(export(model, args, front_end, LATEST), model, args, 2e-3 if dtype == torch.float16 else 1e-7)


def test_lookups_of_inputs_and_parameters():
    def args(batch, length):
        document = torch.arange(length).div(5, rounding_mode="floor").expand(batch, length).contiguous()
        return *tensors(batch, length), document, torch.arange(batch) + 2

    model = Documents()
    dynamic = (*({0: D, 2: D},) * 3, {0: D, 1: D}, {0: D})
    result = export(model, args(2, 16), "trace", LATEST, dynamic)
    for sizes in ((2, 16), (3, 21)):
        compare(result, model, args(*sizes))
    compare(export(model, args(2, 16), "exported", LATEST), model, args(2, 16))


def test_a_mask_of_fixed_sizes_from_outside():
    blocks = create_block_mask(causal, None, None, 16, 16, device="cpu")
    model = Call(lambda q, k, v: flex_attention(q, k, v, block_mask=blocks))
    result = export(model, tensors(2, 16), "trace", LATEST, ({0: D},) * 3)
    for batch in (2, 5):
        compare(result, model, tensors(batch, 16))


def test_nothing_is_looked_for_where_nothing_is_masked():
    result = onnxport.export(Call(TABLE["plain"]), tensors(2, 16))
    assert operators(result.model_proto) == ["Transpose", "MatMul", "Mul", "Softmax", "MatMul"]


def test_functions_that_only_torch_export_can_record_say_so_where_it_cannot():
    def function(q, k, v):
        return scored(q, k, v, lambda s, b, h, i, j: s + (q[b, h, i] * k[b, h, j]).sum())

    given = tensors(2, 16)
    torch.testing.assert_close(onnxport.export(function, given)(*given), function(*given), rtol=1e-4, atol=1e-5)
    with pytest.raises(onnxport.errors.OnnxExporterError, match=re.escape("more than elementwise operators")):
        onnxport.export(
            lambda given: function(*given), (list(given),), input_names=["q"], dynamic_axes={"q": {2: "length"}}
        )
