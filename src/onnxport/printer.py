"""A model as text, in the form of the classic exporter:

    graph(%x : Float(2, 3),
          %weight : Float(4, 3)):
      %1 : Float(2, 4) = onnx::Gemm[transB=1](%x, %weight), scope: Net/Linear[fc] # model.py:12
      return (%1)

Constants that aren't weights are statements; sizes known only at run time are shown by their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import onnx_ir as ir

_TYPES = {
    ir.DataType.FLOAT: "Float", ir.DataType.DOUBLE: "Double", ir.DataType.FLOAT16: "Half",
    ir.DataType.BFLOAT16: "BFloat16", ir.DataType.INT64: "Long", ir.DataType.INT32: "Int", ir.DataType.INT16: "Short",
    ir.DataType.INT8: "Char", ir.DataType.UINT8: "Byte", ir.DataType.BOOL: "Bool", ir.DataType.STRING: "String",
    ir.DataType.COMPLEX64: "ComplexFloat", ir.DataType.COMPLEX128: "ComplexDouble",
}  # fmt: skip
# Elements of a constant that are written out.
SHOWN = 8


class Printer:
    """Prints graphs.

    `origins` gives the program node of an ONNX node, `modules` the class name of the module at a path.
    """

    def __init__(
        self,
        origins: Mapping[ir.Node, Any],
        modules: Mapping[str, str],
        weights: Iterable[str] = (),
        *,
        node_names: bool = False,
    ) -> None:
        self.node_names = node_names
        self.origins = origins
        self.modules = modules
        self.weights = set(weights)

    def graph(self, graph: ir.Graph) -> str:
        listed = [*graph.inputs]
        constants: list[ir.Value] = []
        for name, value in graph.initializers.items():
            if value in listed:
                continue
            (listed if name in self.weights else constants).append(value)
        header = "graph(" + ",\n      ".join(map(self.typed, listed)) + "):"
        lines = [header, *map(self.constant, constants)]
        for node in graph:
            lines += self.node(node, "  ")
        lines.append(f"  return ({', '.join(f'%{v.name}' for v in graph.outputs)})")
        return "\n".join(lines) + "\n"

    def typed(self, value: ir.Value) -> str:
        return f"%{value.name} : {type_text(value)}"

    def constant(self, value: ir.Value) -> str:
        return f"  {self.typed(value)} = onnx::Constant[value={_tensor(value.const_value)}]()"

    def node(self, node: ir.Node, indent: str) -> list[str]:
        outputs = ", ".join(self.typed(v) for v in node.outputs if v.name)
        bodies = [(n, a.as_graph()) for n, a in node.attributes.items() if a.type == ir.AttributeType.GRAPH]
        plain = [f"{n}={_attribute(a)}" for n, a in node.attributes.items() if a.type != ir.AttributeType.GRAPH]
        attributes = f"[{', '.join(plain)}]" if plain else ""
        inputs = ", ".join("" if v is None else f"%{v.name}" for v in node.inputs)
        domain = node.domain or "onnx"
        name = f", name: {node.name}" if self.node_names and node.name else ""
        lines = [f"{indent}{outputs} = {domain}::{node.op_type}{attributes}({inputs}){name}{self.place(node)}"]
        for i, (_, body) in enumerate(bodies):
            lines.append(f"{indent}  block{i}({', '.join(map(self.typed, body.inputs))}):")
            for inner in body:
                lines += self.node(inner, indent + "    ")
            lines.append(f"{indent}    -> ({', '.join(f'%{v.name}' for v in body.outputs)})")
        return lines

    def place(self, node: ir.Node) -> str:
        origin = self.origins.get(node)
        if origin is None:
            return ""
        source = origin.location.source
        return f", scope: {self.scope(origin.scope)}" + (f" # {source}" if source else "")

    def scope(self, path: str) -> str:
        """`features.0` as `AlexNet/Sequential[features]/Conv2d[0]`."""
        parts = [self.modules.get("", "")]
        names = path.split(".") if path else []
        start = 0
        for i in range(len(names)):
            module = self.modules.get(".".join(names[: i + 1]))
            if module is not None:
                parts.append(f"{module}[{'.'.join(names[start : i + 1])}]")
                start = i + 1
        return "/".join(parts)


def type_text(value: ir.Value) -> str:
    """`Float(2, 3)`, `Long()`, `Float(batch, *)`; a type without known rank is `Dynamic`."""
    if isinstance(value.type, ir.SequenceType):
        return f"{_TYPES.get(value.type.dtype, str(value.type.dtype))}[]"
    if value.type is None or value.shape is None:
        return "Dynamic"
    name = _TYPES.get(value.type.dtype, str(value.type.dtype))
    sizes = [str(d) if isinstance(d, int) else (d.value or "*") for d in value.shape]
    return f"{name}({', '.join(sizes)})"


def _tensor(tensor: Any) -> str:
    if tensor is None or tensor.size > SHOWN:
        return "<Tensor>"
    return "{" + ", ".join(str(x) for x in tensor.numpy().reshape(-1).tolist()) + "}"


def _attribute(attribute: ir.Attr) -> str:
    value = attribute.value
    if attribute.type == ir.AttributeType.TENSOR:
        return _tensor(value)
    if attribute.type == ir.AttributeType.STRING:
        return f'"{value}"'
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_number(v) for v in value)}]"
    return _number(value)


def _number(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else (f"{value:g}." if _whole(value) else str(value))


def _whole(value: Any) -> bool:
    return isinstance(value, float) and value.is_integer() and abs(value) < 1e5
