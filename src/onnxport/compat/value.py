"""Values, nodes and types as symbolic functions know them, over what a lowering works with.

A `Value` wraps one evaluated operand: a tensor of the graph, a size, a Python constant or a list of these. What
a symbolic function may ask is answered from that, when it asks. All three classes pass `isinstance` as the
classes of `torch._C` that they stand for, so that functions written for torch.onnx take them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir
import torch

from ..capture import types
from ..dims import Dim, Size
from ..lower.promotion import number_dtype
from ..lower.values import Scalar, Tensor, describe

if TYPE_CHECKING:
    from .graph import Graph


class Value:
    """An argument or result of a symbolic function.

    `content` is what a lowering would be given: a `Tensor`, `Dim`, `Scalar`, Python constant, or a list or tuple.
    """

    __slots__ = ("content", "given_type", "graph", "name")

    def __init__(self, content: Any, graph: Graph) -> None:
        self.content = content
        self.graph = graph
        self.given_type: Any = None
        self.name: str | None = None

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return types.VALUE

    # -- what it is ---------------------------------------------------------------------------------

    @property
    def tensor(self) -> Tensor | None:
        """As a tensor, if it is one or can be one: sizes and numbers known only at run time are 0-d tensors."""
        if isinstance(self.content, Tensor):
            return self.content
        if isinstance(self.content, Scalar):
            return self.content.tensor
        return self.graph.builder.size(self.content) if isinstance(self.content, Dim) else None

    @property
    def is_constant(self) -> bool:
        """Whether the content is known: a Python constant, or a tensor that isn't a parameter."""
        content = self.content
        if isinstance(content, Tensor):
            return content.is_constant and not is_parameter(content)
        if isinstance(content, (list, tuple)):
            return False
        return not isinstance(content, (Dim, Scalar))

    def toIValue(self) -> Any:
        """The Python constant or torch tensor that this is, None if it isn't constant."""
        content = self.content
        if isinstance(content, (list, tuple)):
            return type(content)(Value(v, self.graph).toIValue() for v in content)
        if not self.is_constant:
            return None
        return torch_tensor(content) if isinstance(content, Tensor) else content

    # -- questions ----------------------------------------------------------------------------------

    def type(self) -> Any:
        if self.given_type is not None:
            return self.given_type
        content, tensor = self.content, self.tensor
        if tensor is not None:
            return TensorType(tensor.dtype, tensor.dims)
        if isinstance(content, tuple):
            return types.tuple_type([torch_type(Value(v, self.graph).type()) for v in content])
        if isinstance(content, list):
            element = Value(content[0], self.graph) if content else None
            if element is None or (element.tensor is not None and not isinstance(content[0], (Dim, Scalar))):
                return types.list_type(types.plain_type("Tensor"))
            first = content[0]
            kind = "int" if isinstance(first, Dim) else first.kind.__name__ if isinstance(first, Scalar) else None
            return types.list_type(types.plain_type(kind or _kind(first)))
        if isinstance(content, (bool, int, float)):
            return TensorType(number_dtype(content), ())
        return types.plain_type(_kind(content))

    def setType(self, type: Any) -> Value:
        """Say what this is. Sizes that the type doesn't know stay as they are, or become sizes of their own."""
        if isinstance(type, types.TENSOR_TYPE) and isinstance(self.content, Tensor):
            tensor = self.content
            dims = type.dims if isinstance(type, TensorType) else type.sizes()
            if type.dtype() is not None:
                tensor.dtype = type.dtype()
            if dims is not None:
                builder = self.graph.builder
                known = tensor.dims if tensor.dims is not None and len(tensor.dims) == len(dims) else None
                tensor.dims = tuple(
                    (builder.fresh("size") if known is None else known[i]) if d is None else d
                    for i, d in enumerate(dims)
                )
                builder.declare(tensor)
            self.graph.typed(tensor)
        else:
            self.given_type = type
        return self

    def setTypeAs(self, other: Value) -> Value:
        return self.setType(other.type())

    def inferTypeFrom(self, other: torch.Tensor) -> None:
        self.setType(TensorType(other.dtype, tuple(other.shape)))

    def copyMetadata(self, other: Value) -> Value:
        return self.setTypeAs(other)

    def node(self) -> Node:
        return Node(self)

    def debugName(self) -> str:
        tensor = self.content if isinstance(self.content, Tensor) else None
        if tensor is not None and tensor.value is not None and tensor.value.name:
            return tensor.value.name
        if self.name is None:
            self.name = str(next(self.graph.numbers))
        return self.name

    def setDebugName(self, name: str) -> Value:
        self.name = name
        if isinstance(self.content, Tensor) and self.content.value is not None:
            self.content.value.name = name
        return self

    def unique(self) -> int:
        return id(self.content)

    def offset(self) -> int:
        return next((i for i, v in enumerate(self.node().outputs()) if v == self), 0)

    def isCompleteTensor(self) -> bool:
        tensor = self.tensor
        return tensor is not None and tensor.dims is not None and all(isinstance(d, int) for d in tensor.dims)

    def requires_grad(self) -> bool:
        content = self.content
        return isinstance(content, Tensor) and content.source is not None and content.source.requires_grad

    requiresGrad = requires_grad

    def uses(self) -> list[Any]:
        """The nodes made so far that take this value."""
        tensor = self.content if isinstance(self.content, Tensor) else None
        return [] if tensor is None or tensor.value is None else list(tensor.value.uses())

    def __eq__(self, other: object) -> bool:
        return type(other) is Value and (
            self.content is other.content or (self.is_constant and other.is_constant and _same(self, other))
        )

    def __hash__(self) -> int:
        return hash(self.debugName())

    def __repr__(self) -> str:
        return f"%{self.debugName()} : {describe(self.content)}"


class Node:
    """What made a value: an ONNX node, `onnx::Constant`, `prim::Param`, `prim::ListConstruct`, or `prim::Constant` for None."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return types.NODE

    @property
    def made(self) -> ir.Node | None:
        """The ONNX node, if it was one."""
        if self.value.is_constant:
            return None
        tensor = self.value.tensor
        return None if tensor is None or is_parameter(tensor) else self.value.graph.builder.value(tensor).producer()

    def kind(self) -> str:
        content = self.value.content
        if content is None or (not isinstance(content, (str, bool, int, float, list, tuple)) and self._is_opaque()):
            return "prim::Constant"
        if isinstance(content, (list, tuple)):
            return "prim::ListConstruct" if isinstance(content, list) else "prim::TupleConstruct"
        if self.value.is_constant:
            return "onnx::Constant"
        made = self.made
        return "prim::Param" if made is None else f"{made.domain or 'onnx'}::{made.op_type}"

    def _is_opaque(self) -> bool:
        return self.value.is_constant and not isinstance(self.value.content, Tensor)

    def mustBeNone(self) -> bool:
        return self.value.content is None

    def inputs(self) -> Iterator[Value]:
        graph = self.value.graph
        if isinstance(self.value.content, (list, tuple)):
            return iter([Value(v, graph) for v in self.value.content])
        made = self.made
        return iter([] if made is None else [graph.wrap_value(v) for v in made.inputs])

    def outputs(self) -> Iterator[Value]:
        made = self.made
        return iter([self.value] if made is None else [self.value.graph.wrap_value(v) for v in made.outputs])

    def input(self, name: str | None = None) -> Value:
        found = list(self.inputs())
        if len(found) != 1:
            raise RuntimeError(f"{self.kind()} has {len(found)} inputs, not one")
        return found[0]

    def output(self) -> Value:
        return self.value

    def inputsAt(self, index: int) -> Value:
        return list(self.inputs())[index]

    def outputsAt(self, index: int) -> Value:
        return list(self.outputs())[index]

    def inputsSize(self) -> int:
        return len(list(self.inputs()))

    def outputsSize(self) -> int:
        return len(list(self.outputs()))

    def hasMultipleOutputs(self) -> bool:
        return self.outputsSize() > 1

    def scopeName(self) -> str:
        made = self.made
        origin = self.value.graph.builder.origins.get(made) if made is not None else None
        return "" if origin is None else str(origin.scope)

    def sourceRange(self) -> str:
        made = self.made
        origin = self.value.graph.builder.origins.get(made) if made is not None else None
        return "" if origin is None else str(origin.location.source)

    # -- attributes ---------------------------------------------------------------------------------

    def _attributes(self) -> dict[str, Any]:
        if self.value.is_constant and self.value.content is not None:
            return {"value": self.value.toIValue()}
        made = self.made
        return {} if made is None else {n: a.value for n, a in made.attributes.items()}

    def attributeNames(self) -> list[str]:
        return list(self._attributes())

    def hasAttribute(self, name: str) -> bool:
        return name in self._attributes()

    def hasAttributes(self) -> bool:
        return bool(self._attributes())

    def kindOf(self, name: str) -> str:
        """The letter of an attribute: `i`, `f`, `s`, `t`, `g` or the same with an s for lists."""
        value = self._attributes()[name]
        made = self.made
        if made is not None:
            kinds = {"INT": "i", "FLOAT": "f", "STRING": "s", "TENSOR": "t", "GRAPH": "g"}
            kind = made.attributes[name].type.name
            return kinds[kind] if kind in kinds else kinds[kind.removesuffix("S")] + "s"
        return "s" if isinstance(value, str) else "t" if isinstance(value, (bool, int, float, torch.Tensor)) else "ival"

    def _get(self, name: str) -> Any:
        attributes = self._attributes()
        if name not in attributes:
            raise RuntimeError(f"{self.kind()} has no attribute {name!r}; it has {', '.join(attributes) or 'none'}")
        return attributes[name]

    def t(self, name: str) -> torch.Tensor:
        value = self._get(name)
        if isinstance(value, torch.Tensor):
            return value
        return torch.tensor(value.numpy() if hasattr(value, "numpy") else value)

    z = t

    def i(self, name: str) -> int:
        return int(self._get(name))

    def f(self, name: str) -> float:
        return float(self._get(name))

    def s(self, name: str) -> str:
        return str(self._get(name))

    def is_(self, name: str) -> list[int]:
        return [int(v) for v in _elements(self._get(name))]

    def fs(self, name: str) -> list[float]:
        return [float(v) for v in _elements(self._get(name))]

    def ss(self, name: str) -> list[str]:
        return [str(v) for v in self._get(name)]

    def g(self, name: str) -> Any:
        return self._get(name)

    ival = ts = gs = g

    def __getattr__(self, name: str) -> Any:
        if name == "is":  # a keyword of Python: only getattr can ask for it
            return self.is_
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __getitem__(self, name: str) -> Any:
        return getattr(self, self.kindOf(name))(name)

    def __eq__(self, other: object) -> bool:
        if type(other) is not Node:
            return False
        return self.value == other.value or (self.made is not None and self.made is other.made)

    def __hash__(self) -> int:
        made = self.made
        return hash(self.value) if made is None else hash(made)

    def __repr__(self) -> str:
        return f"{self.value!r} = {self.kind()}({', '.join(f'%{v.debugName()}' for v in self.inputs())})"


class TensorType:
    """The type of a tensor; sizes known only at run time are None to who asks, but are kept for `setType`."""

    __slots__ = ("_dtype", "dims")

    def __init__(self, dtype: torch.dtype | None, dims: Sequence[Size | None] | None) -> None:
        self._dtype = dtype
        self.dims = None if dims is None else tuple(dims)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return types.TENSOR_TYPE

    @property
    def torch_type(self) -> Any:
        """TorchScript's own type object."""
        return types.tensor_type(self._dtype, self.sizes())

    def sizes(self) -> list[int | None] | None:
        return None if self.dims is None else [d if isinstance(d, int) else None for d in self.dims]

    varyingSizes = sizes

    def dim(self) -> int | None:
        return None if self.dims is None else len(self.dims)

    def dtype(self) -> torch.dtype | None:
        return self._dtype

    def scalarType(self) -> str | None:
        found = self.torch_type.scalarType()
        return None if found is None else str(found)

    def kind(self) -> str:
        return "TensorType"

    def with_sizes(self, sizes: Sequence[int | None] | None) -> TensorType:
        """The same with these sizes; None leaves what is known of that axis, if the rank stays."""
        if sizes is None:
            return TensorType(self._dtype, None)
        known = self.dims if self.dims is not None and len(self.dims) == len(sizes) else [None] * len(sizes)
        return TensorType(self._dtype, [k if s is None and isinstance(k, Dim) else s for s, k in zip(sizes, known)])

    def with_dtype(self, dtype: torch.dtype) -> TensorType:
        return TensorType(dtype, self.dims)

    def isSubtypeOf(self, other: Any) -> bool:
        return bool(self.torch_type.isSubtypeOf(torch_type(other)))

    def contiguous(self) -> TensorType:
        return self

    def getElementType(self) -> Any:
        raise RuntimeError("a tensor has no element type; ask a list for one")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.torch_type, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, types.TENSOR_TYPE) and bool(self.torch_type == torch_type(other))

    def __hash__(self) -> int:
        return hash((self._dtype, self.dims))

    def __str__(self) -> str:
        return str(self.torch_type)

    __repr__ = __str__


def torch_type(type: Any) -> Any:
    """TorchScript's own object for a type of ours."""
    return type.torch_type if isinstance(type, types.TENSOR_TYPE) and hasattr(type, "torch_type") else type


def torch_tensor(tensor: Tensor) -> torch.Tensor:
    """The content of a constant as a torch tensor."""
    if tensor.source is not None:
        return tensor.source.detach()
    data = tensor.data
    assert data is not None
    if tensor.dtype.itemsize <= 2 and tensor.dtype.is_floating_point and tensor.dtype is not torch.float16:
        return torch.from_numpy(data.astype(np.float32)).to(tensor.dtype)
    return torch.from_numpy(np.array(data))


def is_parameter(tensor: Tensor) -> bool:
    """Whether this is a parameter or buffer itself: an input of the graph to a symbolic function."""
    return (
        tensor.from_weight
        and (tensor.source is not None or not tensor.is_known)
        and (tensor.value is not None and tensor.value.producer() is None)
    )


def content_of(value: Any) -> Any:
    """What a lowering is given for this: values unwrapped, torch tensors left to the graph."""
    if type(value) is Value:
        return value.content
    if isinstance(value, (list, tuple)):
        return type(value)(content_of(v) for v in value) if type(value) in (list, tuple) else value
    return value


def _kind(content: Any) -> str:
    return "None" if content is None else type(content).__name__


def _elements(value: Any) -> Sequence[Any]:
    return value.reshape(-1).tolist() if isinstance(value, torch.Tensor) else value


def _same(a: Value, b: Value) -> bool:
    x, y = a.content, b.content
    return not isinstance(x, Tensor) and not isinstance(y, Tensor) and type(x) is type(y) and bool(x == y)


def counter() -> Iterator[int]:
    """Numbers for values without a name."""
    return itertools.count(1)
