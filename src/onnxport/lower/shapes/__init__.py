"""Types of the outputs of ONNX ops: element type and dims, before the node exists.

The rules are in the files beside this one; ops without one go through `onnx`'s own inference, which is some ten
times slower and drops expressions in dims. A size that depends on the content of tensors becomes a fresh
`Dim`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from ...dims import Dim, Size
from ...dtypes import from_onnx, to_onnx
from ..values import Tensor
from . import elementwise, indexing, layout, matmul, spatial  # noqa: F401  (they fill the registry)
from .call import RULES, Call, Type

if TYPE_CHECKING:
    import onnx


def infer(
    op_type: str,
    inputs: Sequence[Tensor | None],
    attributes: Mapping[str, Any],
    opset: int,
    outputs: int,
    fresh: Callable[[str], Dim],
    domain: str = "",
) -> list[tuple[torch.dtype, tuple[Size, ...] | None]]:
    """The types of the first `outputs` outputs of an op.

    `fresh(hint)` makes the Dim of a size known only at run time. LoweringError if there is no such op, or if
    the inputs can't be right.
    """
    call = Call(op_type, inputs, attributes, opset, outputs, fresh)
    rule = RULES.get(op_type) if domain in ("", "ai.onnx") else None
    types = _infer_by_schema(call, domain) if rule is None else rule(call)
    if len(types) < outputs:
        raise call.error(f"{outputs} outputs are asked for, it has {len(types)}")
    return types if len(types) == outputs else types[:outputs]


# -- ops without a rule -----------------------------------------------------------------------------


def _infer_by_schema(call: Call, domain: str) -> list[Type]:
    import onnx
    from onnx.shape_inference import InferenceError, infer_node_outputs

    try:
        schema = onnx.defs.get_schema(call.op_type, call.opset, domain)
    except onnx.defs.SchemaError as error:
        raise call.error(f"there is no such op in '{domain or 'ai.onnx'}' at opset {call.opset}") from error
    given = [(f"i{i}", tensor) for i, tensor in enumerate(call.inputs) if tensor is not None]
    names = [f"i{i}" if tensor is not None else "" for i, tensor in enumerate(call.inputs)]
    node = onnx.helper.make_node(
        call.op_type, names, [f"o{i}" for i in range(call.outputs)], domain=domain, **_attributes(call)
    )
    symbols: dict[str, Size] = {str(size): size for _, tensor in given for size in tensor.dims or ()}
    types = {name: _type_proto(tensor) for name, tensor in given}
    data = {name: onnx.numpy_helper.from_array(t.data) for name, t in given if t.is_constant and t.data is not None}
    try:
        found = infer_node_outputs(
            schema, node, types, data, opset_imports=[onnx.helper.make_opsetid(domain, call.opset)]
        )
    except (InferenceError, onnx.checker.ValidationError) as error:
        raise call.error(f"onnx's inference fails: {error}") from error
    return [_type_of(call, schema, i, found.get(f"o{i}"), symbols) for i in range(call.outputs)]


def _attributes(call: Call) -> dict[str, Any]:
    import numpy as np
    import onnx

    return {
        name: onnx.numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value
        for name, value in call.attributes.items()
    }


def _type_proto(tensor: Tensor) -> onnx.TypeProto:
    import onnx

    dims = None if tensor.dims is None else [s if isinstance(s, int) else str(s) for s in tensor.dims]
    proto: onnx.TypeProto = onnx.helper.make_tensor_type_proto(to_onnx(tensor.dtype), dims)
    return proto


def _type_of(
    call: Call,
    schema: onnx.defs.OpSchema,
    index: int,
    found: onnx.TypeProto | None,
    symbols: Mapping[str, Size],
) -> Type:
    tensor = None if found is None else found.tensor_type
    if tensor is None or not tensor.elem_type:
        return _declared_dtype(call, schema, index), None
    try:
        dtype = from_onnx(tensor.elem_type)
    except ValueError as error:
        raise call.error(str(error)) from error
    if not tensor.HasField("shape"):
        return dtype, None
    dims: list[Size] = []
    for dim in tensor.shape.dim:
        known = dim.dim_value if dim.HasField("dim_value") else symbols.get(dim.dim_param)
        dims.append(call.unknown() if known is None else known)
    return dtype, tuple(dims)


def _declared_dtype(call: Call, schema: onnx.defs.OpSchema, index: int) -> torch.dtype:
    """The element type by the schema alone: the one it names, or that of an input declared to be the same."""
    import onnx

    declared = schema.outputs[min(index, len(schema.outputs) - 1)].type_str
    for formal, tensor in zip(schema.inputs, call.inputs):
        if formal.type_str == declared and tensor is not None:
            return tensor.dtype
    name = declared.removeprefix("tensor(").removesuffix(")").upper()
    if name not in onnx.TensorProto.DataType.keys():  # noqa: SIM118  an enum of protobuf, not a dict
        raise call.error(f"the element type of output {index} can't be inferred")
    try:
        return from_onnx(onnx.TensorProto.DataType.Value(name))
    except ValueError as error:
        raise call.error(str(error)) from error
