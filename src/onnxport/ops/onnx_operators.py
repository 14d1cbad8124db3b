"""Operators of ONNX that models call by name: those of `torch.onnx.ops`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dims import Size
from ..dtypes import from_onnx
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.registry import lowering
from ..lower.values import Tensor


@lowering("onnx::RotaryEmbedding.opset23")
def rotary_embedding(
    g: Builder,
    x: Tensor,
    cos_cache: Tensor,
    sin_cache: Tensor,
    position_ids: Tensor | None = None,
    interleaved: bool = False,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
) -> Tensor:
    """RotaryEmbedding.opset23(Tensor x, Tensor cos_cache, Tensor sin_cache, Tensor? position_ids=None, *,
    bool interleaved=False, SymInt num_heads=0, SymInt rotary_embedding_dim=0) -> Tensor"""
    g.require(23, "RotaryEmbedding")
    return g.op(
        "RotaryEmbedding",
        x,
        cos_cache,
        sin_cache,
        position_ids,
        interleaved=int(interleaved),
        num_heads=num_heads,
        rotary_embedding_dim=rotary_embedding_dim,
    )


@lowering("onnx::Attention.opset23")
def attention(
    g: Builder,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    past_key: Tensor | None = None,
    past_value: Tensor | None = None,
    is_causal: bool = False,
    kv_num_heads: int = 0,
    q_num_heads: int = 0,
    qk_matmul_output_mode: int = 0,
    scale: float | None = None,
    softcap: float = 0.0,
    softmax_precision: int | None = None,
) -> Any:
    """Attention.opset23(Tensor Q, Tensor K, Tensor V, Tensor? attn_mask=None, Tensor? past_key=None,
    Tensor? past_value=None, *, bool is_causal=False, SymInt kv_num_heads=0, SymInt q_num_heads=0,
    SymInt qk_matmul_output_mode=0, float? scale=None, float softcap=0., SymInt? softmax_precision=None)
    -> (Tensor, Tensor, Tensor, Tensor)"""
    g.require(23, "Attention")
    masked = attn_mask is not None or is_causal
    for differs, what in (
        (softcap and masked, "PyTorch masks the scores before softcap"),
        (is_causal and past_key is not None, "is_causal of PyTorch doesn't count past_key"),
        (qk_matmul_output_mode == 1 and (softcap or masked), "qk_matmul_output_mode=1 is what PyTorch gives otherwise"),
        (qk_matmul_output_mode == 2 and is_causal, "qk_matmul_output_mode=2 has other numbers where is_causal masks"),
    ):
        if differs:
            raise LoweringError(
                f"torch.onnx.ops.attention isn't the ONNX operator Attention with these arguments: {what}; "
                'torch.onnx.ops.symbolic_multi_out("Attention", ...) exports that as it is, or spell it out'
            )
    return g.op(
        "Attention",
        query,
        key,
        value,
        attn_mask,
        past_key,
        past_value,
        outputs=4,
        is_causal=int(is_causal),
        kv_num_heads=kv_num_heads or None,
        q_num_heads=q_num_heads or None,
        qk_matmul_output_mode=qk_matmul_output_mode,
        scale=scale,
        softcap=float(softcap),
        softmax_precision=softmax_precision,
    )


@lowering("onnx_symbolic::_symbolic")
def symbolic(
    g: Builder, inputs: list[Tensor | None], op_type: str, onnx_dtype: int, shape: list[Size], *rest: Any
) -> Tensor:
    """_symbolic(Tensor?[] inputs, str op_type, int onnx_dtype, *, SymInt[] shape, str[] attr_keys, str[] attr_types,
    int[][] attr_pos, int[] attr_ints, float[] attr_floats, str[] attr_strs, str[] metadata_props_keys,
    str[] metadata_props_values, str domain="", int? version=None) -> Tensor"""
    return symbolic_multi_out(g, inputs, op_type, [onnx_dtype], [shape], *rest)[0]


@lowering("onnx_symbolic::_symbolic_multi_out")
def symbolic_multi_out(
    g: Builder,
    inputs: list[Tensor | None],
    op_type: str,
    onnx_dtypes: list[int],
    shapes: list[list[Size]],
    attr_keys: list[str],
    attr_types: list[str],
    attr_pos: list[list[int]],
    attr_ints: list[int],
    attr_floats: list[float],
    attr_strs: list[str],
    metadata_props_keys: list[str],
    metadata_props_values: list[str],
    domain: str = "",
    version: int | None = None,
) -> list[Tensor]:
    """_symbolic_multi_out(Tensor?[] inputs, str op_type, int[] onnx_dtypes, *, SymInt[][] shapes, str[] attr_keys,
    str[] attr_types, int[][] attr_pos, int[] attr_ints, float[] attr_floats, str[] attr_strs,
    str[] metadata_props_keys, str[] metadata_props_values, str domain="", int? version=None) -> Tensor[]

    Types and sizes are those that the model says."""
    _import(g, "" if domain == "ai.onnx" else domain, op_type, version)
    lists: dict[str, Sequence[Any]] = {"i": attr_ints, "f": attr_floats, "s": attr_strs}
    attributes: dict[str, Any] = {}
    for key, kind, (start, end) in zip(attr_keys, attr_types, attr_pos):
        found = list(lists[kind[0]][start:end])
        attributes[key] = found if len(kind) > 1 else found[0]
    values = [None if x is None else g.value(x) for x in inputs]
    node = g.append(op_type, values, attributes, len(shapes), "" if domain == "ai.onnx" else domain)
    node.metadata_props.update(zip(metadata_props_keys, metadata_props_values))
    g.by_symbolics.add(g.origin)
    results = [
        Tensor(from_onnx(dtype), tuple(shape), value) for dtype, shape, value in zip(onnx_dtypes, shapes, node.outputs)
    ]
    g.made.extend(results)
    for result in results:
        g.declare(result)
    return results


def _import(g: Builder, domain: str, op_type: str, version: int | None) -> None:
    """Import the version of a domain that an operator asks for."""
    if not domain:
        if version is not None:
            g.require(version, f"{op_type} of version {version}")
    elif g.domains.setdefault(domain, version or 1) != (version or g.domains[domain]):
        raise LoweringError(
            f"{domain}::{op_type} is asked for in version {version}, another operator of this domain in version "
            f"{g.domains[domain]}; a model has one version of a domain"
        )
