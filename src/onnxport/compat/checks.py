"""Whether a node that a symbolic function asks for is one that ONNX has, told where it is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx

from ..errors import CheckerError
from ..lower.values import Tensor
from ..program import Node


def check_call(
    op_type: str,
    inputs: Sequence[Tensor | None],
    attributes: Mapping[str, Any],
    opset: int,
    node: Node | None,
) -> None:
    """CheckerError, with the place in the model, for an ONNX operator with attributes or inputs that it doesn't have."""
    try:
        schema = onnx.defs.get_schema(op_type, opset, "")
    except onnx.defs.SchemaError:
        return  # an operator that doesn't exist is the builder's to refuse, which may spell it out
    known = schema.attributes
    problem = ""
    unknown = [name for name in attributes if name not in known]
    lacking = [name for name, spec in known.items() if spec.required and name not in attributes]
    if unknown:
        has = f"it has {', '.join(known)}" if known else "it has none"
        problem = f"has no attribute {', '.join(map(repr, unknown))}; {has}"
    elif lacking:
        problem = f"needs the attribute {', '.join(map(repr, lacking))}"
    elif mistyped := [name for name, value in attributes.items() if _kind(value) not in (None, known[name].type)]:
        kinds = ", ".join(f"{name!r} is {str(known[name].type).rpartition('.')[2]}" for name in mistyped)
        problem = f"has attributes of other types: {kinds}"
    elif not schema.min_input <= len(inputs) <= schema.max_input:
        takes = str(schema.min_input)
        if schema.max_input != schema.min_input:
            takes += f" to {schema.max_input}" if schema.max_input < 1 << 30 else " or more"
        names = ", ".join(spec.name for spec in schema.inputs)
        problem = f"takes {takes} input(s) ({names}), {len(inputs)} are given"
    if problem:
        raise refusal(op_type, node, f"the ONNX operator {op_type} of opset {opset} {problem}")


def refusal(op_type: str, node: Node | None, reason: str) -> CheckerError:
    """The error for an ONNX node that the symbolic function for a node of the program asked for."""
    place = "" if node is None else f", asked for by the symbolic function for {_name(node)} at {node.location}"
    return CheckerError(f"{op_type}{place}\n  {reason}")


def _kind(value: Any) -> Any:
    """The type of attribute that a value makes, None where it may be of several."""
    first = value[0] if isinstance(value, list) and value else value
    name = next((name for kind, name in _KINDS.items() if isinstance(first, kind)), None)
    return getattr(onnx.defs.OpSchema.AttrType, f"{name}S" if isinstance(value, list) else name) if name else None


_KINDS: dict[type, str] = {int: "INT", float: "FLOAT", str: "STRING"}


def _name(node: Node) -> str:
    return str(node.attributes.get("name", node.op)) if node.op == "prim::PythonOp" else node.op
