"""Calls of which the tracer makes a node for each number among their arguments, a convolution 19: they are written down as one.

To each node the tracer adds all frames of Python, which takes more time than most operators do. Calls with numbers that are
known are therefore run unseen, and their nodes made here, of the same operators, with lists for lists.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType
from typing import Any, TypeAlias

import torch

from .operands import KNOWN, TENSORS, functions
from .untraced import untraced

Function = Callable[..., Any]
_Frames: TypeAlias = tuple[Any, ...]  # code, place in it, code, ...

_INT = torch._C.IntType.get()
_INTS, _TENSOR_LIST = torch._C.ListType.ofInts(), torch._C.ListType.ofTensors()
_WHOLE, _END = slice(None), sys.maxsize
# What makes a tensor of sizes that may be those of others: the operator, and what it is given beside the sizes.
_SHAPED: Mapping[Function, tuple[str, tuple[Any, ...]]] = {
    torch.Tensor.view: ("aten::view", ()),
    torch.Tensor.reshape: ("aten::reshape", ()),
    torch.Tensor.expand: ("aten::expand", (False,)),
}


class SingleNodes:
    """The nodes of one trace that are made here, and where in the model they come from."""

    def __init__(self) -> None:
        self._frames: dict[str, _Frames] = {}  # by the name of the result, from the innermost on

    def watched(self, instead: Callable[[Function], Function]) -> dict[Function, Function]:
        """The functions, and what makes one node of their calls, or else calls `instead` of them."""
        calls = {f: self._written(kind, f, instead(f), operands) for f, (kind, operands) in functions().items()}
        shape: Any = torch.Tensor.shape.__get__  # type: ignore[attr-defined]
        get_item = torch.Tensor.__getitem__
        return {
            **calls,
            **{f: self._sizes(f, instead(f)) for f in (torch.Tensor.size, shape)},
            **{f: self._shaped(kind, f, instead(f), more) for f, (kind, more) in _SHAPED.items()},
            get_item: self._items(get_item, instead(get_item)),
        }

    def _written(self, kind: str, function: Function, otherwise: Function, operands: Function) -> Function:
        def call(*args: Any, **kwargs: Any) -> Any:
            state: Any = torch._C._get_tracing_state()
            if state is None or _is_changed():
                return otherwise(*args, **kwargs)
            try:
                given = operands(*args, **kwargs)
            except TypeError:  # which the function raises in its own words
                return otherwise(*args, **kwargs)
            for operand in given:
                if operand.__class__ not in KNOWN:
                    return otherwise(*args, **kwargs)
            with untraced():
                result = function(*args, **kwargs)
            self._write(state.graph(), kind, given, result, _frames())
            return result

        return call

    def _shaped(self, kind: str, function: Function, otherwise: Function, more: tuple[Any, ...]) -> Function:
        """What makes a tensor of other sizes, some of which may be sizes of the trace."""

        def call(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            state: Any = torch._C._get_tracing_state()
            sizes = args[0] if len(args) == 1 and args[0].__class__ in (tuple, list, torch.Size) else args
            is_known = not kwargs and sizes and tensor.__class__ in TENSORS and all(map(_is_int, sizes))
            if state is None or not is_known or _is_changed():
                return otherwise(tensor, *args, **kwargs)
            with untraced():
                result = function(tensor, [int(size) for size in sizes])
            graph = state.graph()
            self._write(graph, kind, (tensor, _list_of_sizes(graph, sizes), *more), result, _frames())
            return result

        return call

    def _items(self, function: Function, otherwise: Function) -> Function:
        """What takes parts of a tensor, as the tracer does; a part that is a whole axis isn't written down."""

        def items(tensor: torch.Tensor, index: Any) -> Any:
            state: Any = torch._C._get_tracing_state()
            parts = index if index.__class__ is tuple else (index,)
            if state is None or tensor.__class__ not in TENSORS or not all(map(_is_part, parts)) or _is_changed():
                return otherwise(tensor, index)
            with untraced():
                function(tensor, index)  # raises what it raises
                steps = list(_steps(tensor, parts))
            if not steps:  # another name for the whole
                return otherwise(tensor, index)
            graph, frames = state.graph(), _frames()
            for kind, operands, part in steps:
                self._write(graph, kind, (tensor, *operands), part, frames)
                tensor = part
            return tensor

        return items

    def _sizes(self, function: Function, otherwise: Function) -> Function:
        """What gives the sizes of a tensor, as the tracer does."""

        def sizes(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            state: Any = torch._C._get_tracing_state()
            if state is None or kwargs or len(args) > 1 or _is_changed() or tensor.__class__ not in TENSORS:
                return otherwise(tensor, *args, **kwargs)
            if function is torch.Tensor.size and args:
                axis = args[0]
                if axis.__class__ is not int:
                    return otherwise(tensor, axis)
                with untraced():
                    size = tensor.size(axis)
                return self._size(state.graph(), _frames(), tensor, axis, size)
            with untraced():
                whole = tensor.shape
            graph, frames = state.graph(), _frames()
            return torch.Size([self._size(graph, frames, tensor, axis, size) for axis, size in enumerate(whole)])

        return sizes

    def _size(self, graph: Any, frames: _Frames, tensor: torch.Tensor, axis: int, size: int) -> torch.Tensor:
        with untraced():
            result = torch.tensor(size)
        node = graph.create("aten::size", [_value(graph, tensor), _constant(graph, axis, {})], 1)
        graph.insertNode(node)
        number = node.output()
        number.setType(_INT)
        self._frames[number.debugName()] = frames
        self._insert(graph, graph.create("prim::NumToTensor", [number], 1), result, frames)
        return result

    def _write(self, graph: Any, kind: str, given: tuple[Any, ...], result: torch.Tensor, frames: _Frames) -> None:
        """Put the node of a result at the end of the graph."""
        made: dict[Any, Any] = {}  # one constant for equal numbers
        self._insert(graph, graph.create(kind, [_value(graph, x, made) for x in given], 1), result, frames)

    def _insert(self, graph: Any, node: Any, result: torch.Tensor, frames: _Frames) -> None:
        graph.insertNode(node)
        output = node.output()
        output.inferTypeFrom(result)
        torch._C._set_value_trace(result, output)  # type: ignore[attr-defined]
        self._frames[output.debugName()] = frames

    def source(self, name: str) -> str:
        """Where the node of a result was made, as the tracer says it of its own; "" of those."""
        frames = self._frames.get(name, ())
        return "\n".join(
            f"{code.co_filename}({_line(code, offset)}): {code.co_name}"
            for code, offset in zip(frames[::2], frames[1::2])
        )

    def clear(self) -> None:
        self._frames.clear()


def _value(graph: Any, operand: Any, made: dict[Any, Any] | None = None) -> Any:
    """What stands for an operand in the graph."""
    if operand.__class__ in TENSORS:
        return torch._C._get_value_trace(operand)  # type: ignore[attr-defined]
    if operand.__class__ is list and (not operand or operand[0].__class__ in TENSORS):
        return _list(graph, [_value(graph, x) for x in operand], _TENSOR_LIST if operand else _INTS)
    return operand if operand.__class__ is torch._C.Value else _constant(graph, operand, {} if made is None else made)


def _constant(graph: Any, content: Any, made: dict[Any, Any]) -> Any:
    """A constant, made before or to be; to copy one takes a third of the time that it takes to make one."""
    kind = content.__class__
    key = kind, tuple(content) if kind is list else content.hex() if kind is float else content
    if key in made:
        return made[key]
    node = _constants.get(key)
    if node is None:
        if len(_constants) == _MOST:
            _constants.clear()
        node = _constants[key] = _all_constants.insertConstant(content).node()
    value = made[key] = graph.insertNode(graph.createClone(node, _same)).output()
    return value


_all_constants: Any = torch._C.Graph()
_constants: dict[Any, Any] = {}
_MOST = 10_000  # that are kept for other graphs


def _same(value: Any) -> Any:
    return value


def _list(graph: Any, values: list[Any], kind: Any) -> Any:
    node = graph.create("prim::ListConstruct", values, 1)
    node.output().setType(kind)
    return graph.insertNode(node).output()


def _list_of_sizes(graph: Any, sizes: Sequence[Any]) -> Any:
    """Of ints, and of sizes of the trace."""
    if all(size.__class__ is int for size in sizes):
        return list(sizes)
    made: dict[Any, Any] = {}
    values = [_int(graph, size) if size.__class__ in TENSORS else _constant(graph, size, made) for size in sizes]
    return _list(graph, values, _INTS)


def _int(graph: Any, size: torch.Tensor) -> Any:
    node = graph.create("aten::Int", [_value(graph, size)], 1)
    node.output().setType(_INT)
    return graph.insertNode(node).output()


def _is_int(size: Any) -> bool:
    return size.__class__ is int or (size.__class__ is torch.Tensor and not size.dim() and size.dtype == torch.int64)


def _is_part(part: Any) -> bool:
    """Whether a part of an index is known, and makes a view."""
    if part.__class__ is slice:
        return all(bound is None or bound.__class__ is int for bound in (part.start, part.stop, part.step))
    return part.__class__ in (int, type(None), type(...))


def _steps(tensor: torch.Tensor, parts: tuple[Any, ...]) -> Iterator[tuple[str, tuple[int, ...], torch.Tensor]]:
    """The operators that take parts of a tensor, their operands beside the tensor, and what they give; whole axes stay."""
    axis = 0
    for i, part in enumerate(parts):
        if part is ...:
            axis = tensor.dim() - sum(p.__class__ in (int, slice) for p in parts[i + 1 :])
        elif part is None:
            tensor = tensor.unsqueeze(axis)
            yield "aten::unsqueeze", (axis,), tensor
            axis += 1
        elif part.__class__ is int:
            tensor = tensor.select(axis, part)
            yield "aten::select", (axis, part), tensor
        else:
            if part != _WHOLE:
                tensor = tensor[(_WHOLE,) * axis + (part,)]
                step = 1 if part.step is None else part.step
                yield "aten::slice", (axis, part.start or 0, _END if part.stop is None else part.stop, step), tensor
            axis += 1


def _is_changed() -> bool:
    """Whether something else than the tracer changes what operators do: their types, batches of `torch.vmap`, modes."""
    return bool(
        torch._C._is_any_autocast_enabled()  # type: ignore[attr-defined]
        or torch._C._functorch.peek_interpreter_stack() is not None
        or torch._C._len_torch_dispatch_stack()
    )


def _frames() -> _Frames:
    """The functions that called the one which is written down, and where in their code."""
    frame: Any = sys._getframe(3)
    found: list[Any] = []
    while frame is not None and frame.f_code.co_filename != _TRACE:
        found += frame.f_code, frame.f_lasti
        frame = frame.f_back
    return tuple(found)


_TRACE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "trace.py")


def _line(code: CodeType, offset: int) -> int:
    lines = (line for begin, end, line in code.co_lines() if begin <= offset < end and line is not None)
    return next(lines, code.co_firstlineno)
