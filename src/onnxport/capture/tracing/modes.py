"""What is called instead of some functions of torch while a model is traced."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

from ...errors import LoweringError
from . import hidden_views, index_parts, live_strides, read_numbers, sparse
from .exact_floats import arithmetic_watched, comparisons
from .traced_sizes import is_bool, is_number, is_of_sizes, is_size, is_whole

Function = Callable[..., Any]

# In-place arithmetic of tensors, and what computes the same without writing.
_OUT_OF_PLACE: Mapping[Function, Function] = {
    torch.Tensor.add_: torch.Tensor.add,
    torch.Tensor.sub_: torch.Tensor.sub,
    torch.Tensor.mul_: torch.Tensor.mul,
    torch.Tensor.div_: torch.Tensor.div,
    torch.Tensor.floor_divide_: torch.Tensor.__floordiv__,
    torch.Tensor.remainder_: torch.Tensor.remainder,
    torch.Tensor.pow_: torch.Tensor.pow,
    torch.Tensor.__ipow__: torch.Tensor.__pow__,
    torch.Tensor.__iand__: torch.Tensor.__and__,
    torch.Tensor.__ior__: torch.Tensor.__or__,
    torch.Tensor.__ixor__: torch.Tensor.__xor__,
    torch.Tensor.__ilshift__: torch.Tensor.__lshift__,
    torch.Tensor.__irshift__: torch.Tensor.__rshift__,
}

# Arguments of these are lists of so many ints. The tracer keeps sizes in a list live, but reads a bare one.
_LISTS: Mapping[Function, tuple[int, tuple[str, ...]]] = {
    **dict.fromkeys((torch.roll, torch.Tensor.roll), (1, ("shifts",))),
    **dict.fromkeys((F.unfold,), (2, ("kernel_size", "dilation", "padding", "stride"))),
    **{f: (n, ("kernel_size", "stride", "padding")) for n, f in enumerate((F.avg_pool1d, F.avg_pool2d, F.avg_pool3d), 1)},
    **{f: (n, ("kernel_size", "stride", "padding", "dilation"))
       for n, f in enumerate((F.max_pool1d, F.max_pool2d, F.max_pool3d), 1)},
    **{f: (n, ("output_size",))
       for n, f in enumerate((F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d), 1)},
    **{f: (n, ("output_size",))
       for n, f in enumerate((F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d), 1)},
}  # fmt: skip


_PLAIN = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)


class TracingMode(TorchFunctionMode):
    """Calls others instead of functions that the tracer records wrongly or not at all, and `watched` for those in it.

    `overwrites` is told of what is given as `out=`, `failed` that a function raised, `note` of each code that calls one.

    It is the only mode that is on, since each costs as much as many an operator does.
    """

    def __init__(
        self,
        watched: Mapping[Function, Function],
        overwrites: Callable[[torch.Tensor], None],
        failed: Callable[[], None],
        note: Callable[[FrameType], None],
    ) -> None:
        super().__init__()
        self._overwrites = overwrites
        self._failed = failed
        self._note = note
        self._callers: set[int] = set()
        self._instead = {**_INSTEAD, **watched}
        self.called: set[Function] = set()

    def compare_at_once(self) -> None:
        """From now on comparisons of sizes are bools, as an `if` takes them."""
        bool_of = self._instead[torch.Tensor.__bool__]
        for function in comparisons():
            self._instead[function] = _taken(self._instead[function], bool_of)

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.called.add(func)
        caller = sys._getframe(1)
        if id(caller.f_code) not in self._callers and torch._C._get_tracing_state():
            self._callers.add(id(caller.f_code))
            self._note(caller)
        if types:  # the code of a subclass isn't seen
            self.called.update(kind for kind in types if kind not in _PLAIN)
        call = self._instead.get(func, func)
        if kwargs and (out := kwargs.get("out")) is not None and torch._C._get_tracing_state():
            for tensor in out if isinstance(out, (tuple, list)) else (out,):
                self._overwrites(tensor)
        try:
            return call(*args, **kwargs) if kwargs else call(*args)
        except Exception:
            self._failed()
            raise


def _taken(compare: Function, bool_of: Function) -> Function:
    def taken(*args: Any, **kwargs: Any) -> Any:
        result = compare(*args, **kwargs)
        of_sizes = torch._C._get_tracing_state() and not kwargs and all(map(is_of_sizes, args))
        return bool_of(result) if of_sizes else result

    return taken


def _out_of_place(in_place: Function, out_of_place: Function) -> Function:
    """`n += 2` on a size, or a float or bool of sizes, must not change the other names bound to it.

    A tracer hands out sizes as 0-d integer tensors; eager Python as ints. In-place arithmetic on the
    former changes what every other name sees, so it is done out of place.
    """

    def arithmetic(*args: Any, **kwargs: Any) -> Any:
        return (out_of_place if is_number(args[0]) or is_bool(args[0]) else in_place)(*args, **kwargs)

    return arithmetic


def _listed(function: Function, count: int, names: tuple[str, ...]) -> Function:
    def with_lists(*args: Any, **kwargs: Any) -> Any:
        given = [[x] * count if _is_traced_number(x) else x for x in args[1 : 1 + len(names)]]
        named = {k: [x] * count if k in names and _is_traced_number(x) else x for k, x in kwargs.items()}
        return function(*args[:1], *given, *args[1 + len(names) :], **named)

    return with_lists


def _is_traced_number(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and not x.dim()


def _transposed(function: Function) -> Function:
    """A transposed convolution whose `output_padding` follows from sizes: the tracer reads it as a number, so that it is
    given the most that there can be, and the end of the result is cut off."""
    names = ("bias", "stride", "padding", "output_padding", "groups", "dilation")

    def convolve(input: torch.Tensor, weight: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        given = {**dict(zip(names, args)), **kwargs}
        extra, count = given.get("output_padding", 0), weight.dim() - 2
        if not isinstance(extra, (list, tuple)) or not any(isinstance(e, torch.Tensor) and is_size(e) for e in extra):
            return function(input, weight, *args, **kwargs)  # type: ignore[no-any-return]
        steps, gaps = (read_numbers.numbers_of(given.get(name, 1), count) for name in ("stride", "dilation"))
        most = [max(s, d) - 1 for s, d in zip(steps, gaps)]
        whole: torch.Tensor = function(input, weight, **{**given, "output_padding": most})
        cuts: list[Any] = [slice(0, whole.shape[i - count] - m + e) for i, (m, e) in enumerate(zip(most, extra))]
        return whole[(..., *cuts)]

    return convolve


def _split(function: Function) -> Function:
    """`torch.split` calls that of tensors, which calls int()."""

    def split(*args: Any, **kwargs: Any) -> Any:
        return (_split_at if _is_scalar(args, 1) else function)(*args, **kwargs)

    return split


def _split_at(tensor: torch.Tensor, split_size_or_sections: torch.Tensor, dim: int = 0) -> Any:
    return torch._C._VariableFunctions.split(tensor, split_size_or_sections, dim)  # type: ignore[attr-defined]


def _is_scalar(args: tuple[Any, ...], position: int) -> bool:
    return len(args) > position and isinstance(args[position], torch.Tensor) and not args[position].dim()


def _tensor_of(function: Function) -> Function:
    """`torch.tensor([h, w])` keeps numbers; sizes and other 0-d tensors among them stay live where they are stacked."""

    def tensor(data: Any, *args: Any, **kwargs: Any) -> Any:
        if not stacks(data):
            return function(data, *args, **kwargs)
        kinds = [x.dtype if isinstance(x, torch.Tensor) else _KINDS[x.__class__]() for x in _numbers(data)]
        return _stacked(data, kwargs.get("dtype") or functools.reduce(torch.promote_types, kinds))

    return tensor


_KINDS: Mapping[type, Callable[[], torch.dtype]] = {
    bool: lambda: torch.bool,
    int: lambda: torch.int64,
    float: torch.get_default_dtype,
}


def _numbers(data: Any) -> list[Any]:
    return [x for row in data for x in _numbers(row)] if isinstance(data, (list, tuple)) else [data]


def has_tensors(data: Any) -> bool:
    """Whether there are tensors in nested lists."""
    return any(isinstance(x, torch.Tensor) for x in _numbers(data))


def stacks(data: Any) -> bool:
    """Whether `torch.tensor` of it stacks numbers that are tensors."""
    numbers = _numbers(data) if isinstance(data, (list, tuple)) else []
    tensors = [x for x in numbers if isinstance(x, torch.Tensor)]
    return bool(tensors) and all(x.dim() == 0 for x in tensors) and {x.__class__ for x in numbers} <= _ELEMENTS


_ELEMENTS = {torch.Tensor, torch.nn.Parameter, *_KINDS}


def _stacked(data: Any, dtype: torch.dtype) -> torch.Tensor:
    if isinstance(data, (list, tuple)):
        return torch.stack([_stacked(x, dtype) for x in data])
    return data.to(dtype) if isinstance(data, torch.Tensor) else torch.tensor(data, dtype=dtype)


def _new_tensor(tensor: torch.Tensor, data: Any, *args: Any, **kwargs: Any) -> torch.Tensor:
    """As `torch.tensor`, of the type of another one."""
    if not stacks(data):
        return tensor.new_tensor(data, *args, **kwargs)
    return _stacked(data, kwargs.get("dtype") or tensor.dtype)


def _new(tensor: torch.Tensor, *size: Any, **kwargs: Any) -> torch.Tensor:
    """`x.new(h, w)` keeps numbers, and so do `x.new(y.shape)`, and `x.new([h, w])`, which is a tensor of them."""
    if len(size) == 1 and not kwargs and size[0].__class__ in (list, tuple) and stacks(size[0]):
        return _stacked(size[0], tensor.dtype)
    if len(size) == 1 and size[0].__class__ is torch.Size:
        return tensor.new_empty(size[0], **kwargs)
    sizes = len(size) > 0 and not kwargs and all(map(is_whole, size))
    return tensor.new_empty(size) if sizes else tensor.new(*size, **kwargs)  # type: ignore[no-untyped-call]


def _symbolic(function: Function, of_tensors: Function) -> Function:
    """`torch.sym_max` and its like take Python numbers, and sizes of `torch.export`; here they take traced sizes."""

    def call(*args: Any) -> Any:
        traced = any(isinstance(x, torch.Tensor) for x in args)
        return of_tensors(*map(torch.as_tensor, args)) if traced else function(*args)

    return call


_SYMBOLIC: Mapping[Function, Function] = {
    torch.sym_max: torch.maximum,
    torch.sym_min: torch.minimum,
    torch.sym_not: torch.logical_not,
    torch.sym_ite: torch.where,
    torch.sym_float: lambda x: x.to(torch.get_default_dtype()),
    torch.sym_int: lambda x: torch.trunc(x).to(torch.int64) if x.is_floating_point() else x,
}


def _gradient(input: torch.Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> Any:
    """The tracer has no lists of numbers that may be floats: one axis after the other."""
    if not isinstance(spacing, (list, tuple)) or any(isinstance(s, torch.Tensor) for s in spacing):
        return torch.gradient(input, spacing=spacing, dim=dim, edge_order=edge_order)
    axes = list(range(input.dim())) if dim is None else [dim] if isinstance(dim, int) else dim
    if len(axes) != len(spacing):
        raise RuntimeError(f"torch.gradient expects one spacing for each of {len(axes)} axes, not {len(spacing)}")
    return [torch.gradient(input, spacing=s, dim=a, edge_order=edge_order)[0] for s, a in zip(spacing, axes)]


def _fill(input: torch.Tensor, value: Any) -> torch.Tensor:
    """`torch.fill` is recorded as a `full_like` that no schema fits."""
    return input.clone().fill_(value)


def _get_item(tensor: torch.Tensor, index: Any) -> torch.Tensor:
    index = _live_lists(index)
    if index_parts.has_flags(index):
        tensor, index = index_parts.split(tensor, index)
    return tensor[index]


def _live_lists(index: Any) -> Any:
    """The index with tensors in place of lists, such as `[0, n - 1]`, of sizes and other 0-d tensors."""
    if index.__class__ is tuple:
        return tuple(map(_live_lists, index)) if any(i.__class__ is list for i in index) else index
    return _stacked(index, torch.int64) if index.__class__ is list and stacks(index) and _are_ints(index) else index


def _are_ints(data: Any) -> bool:
    return all(x.dtype in _INT_TYPES if isinstance(x, torch.Tensor) else x.__class__ is int for x in _numbers(data))


_INT_TYPES = (torch.int64, torch.int32, torch.int16, torch.int8)


def _set_item(tensor: torch.Tensor, index: Any, value: Any) -> None:
    """`x[:n] = y` expands y to sizes that are numbers in the trace, unless it is written as a copy."""
    index = _live_lists(index)
    if index_parts.has_flags(index):
        tensor, index = index_parts.split(tensor, index)
    if not isinstance(value, torch.Tensor) or not value.dim():
        tensor[index] = value
        return
    if not is_basic(index):
        if not index_parts.put(tensor, index, value):
            tensor[index] = value
        return
    target = tensor[index]
    extra = max(value.dim() - target.dim(), 0)  # leading axes of size 1 are left out
    target.copy_(value.reshape(value.shape[extra:]) if extra else value)


def is_basic(index: Any) -> bool:
    """Whether an index gives a view."""
    return all(map(_is_basic, index if isinstance(index, tuple) else (index,)))


def _is_basic(index: Any) -> bool:
    return index.__class__ in (slice, type(None), type(...)) or is_whole(index)


def _set_data(tensor: torch.Tensor, value: torch.Tensor) -> None:
    """`x.data = y` is not recorded. It is a write, as long as nobody tells x's old memory from its new one."""
    old, new = ([int(size) for size in x.shape] for x in (tensor, value))
    if old != new or tensor.dtype != value.dtype:
        raise LoweringError(
            f"a tensor of {tensor.dtype} and sizes {old} is given data of {value.dtype} and sizes {new}; use a name of "
            "its own for the new one"
        )
    tensor.detach().copy_(value)


def _in_python(function: Function) -> Function:
    """`x.apply_(f)` calls Python for each element, which no graph can."""

    def refuse(*_: Any) -> torch.Tensor:
        raise LoweringError(f"{function.__name__} calls a Python function for each element; use operators of torch")

    return refuse


def _resize(tensor: torch.Tensor, *size: Any, **kwargs: Any) -> torch.Tensor:
    """`x.resize_()`, which the tracer loses track of: x is another view of its memory, or, if it was empty, zeros.

    More memory for a tensor that has some would also be that of its views.
    """
    given = size[0] if len(size) == 1 and not isinstance(size[0], (int, torch.Tensor)) else size
    given = kwargs.get("size", given)
    wanted, old = [int(n) for n in given], [int(n) for n in tensor.shape]
    if wanted == old:
        return tensor
    count = math.prod(wanted)
    if tensor.numel() == 0:
        return tensor.set_(tensor.new_zeros(given))  # type: ignore[call-overload, no-any-return]
    if count <= tensor.numel() and tensor.is_contiguous():
        flat = tensor.view(-1)
        part = flat if count == len(flat) else flat[: math.prod(given)]
        return tensor.set_(part.view(given))  # type: ignore[call-overload, no-any-return]
    raise LoweringError(
        f"resize_ of a tensor of sizes {old} to {wanted} can't be recorded; use reshape(), or a new tensor, under "
        "a name of its own"
    )


def _resize_as(tensor: torch.Tensor, the_template: torch.Tensor, **_: Any) -> torch.Tensor:
    return _resize(tensor, *the_template.shape)


def _copied(tensor: torch.Tensor, memo: dict[int, Any]) -> torch.Tensor:
    """`copy.deepcopy(x)` copies memory, which the tracer doesn't see."""
    return memo.setdefault(id(tensor), tensor.clone())  # type: ignore[no-any-return]


def _view(tensor: torch.Tensor, *size: Any, **kwargs: Any) -> torch.Tensor:
    """`tensor.view(dtype)` is recorded under another name: by its own the tracer knows views of sizes only."""
    dtype = kwargs.get("dtype", size[0] if len(size) == 1 else None)
    if not isinstance(dtype, torch.dtype):
        return tensor.view(*size, **kwargs)
    return tensor if dtype == tensor.dtype else torch.ops.prims.view_of_dtype(tensor, dtype)  # type: ignore[no-any-return]


_OF_SIZES = arithmetic_watched()
_INSTEAD: dict[Function, Function] = {
    **_OF_SIZES,
    **sparse.INSTEAD,
    **hidden_views.INSTEAD,
    **read_numbers.INSTEAD,
    **{in_place: _out_of_place(in_place, _OF_SIZES.get(other, other)) for in_place, other in _OUT_OF_PLACE.items()},
    **{function: _listed(function, count, names) for function, (count, names) in _LISTS.items()},
    **{f: _transposed(f) for f in (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)},
    **{function: _split(function) for function in (torch.split, torch.Tensor.split)},
    **{function: _symbolic(function, of_tensors) for function, of_tensors in _SYMBOLIC.items()},
    torch.fill: _fill,
    # These give numbers in a trace, too.
    **dict.fromkeys((torch.numel, torch.Tensor.nelement), lambda input: input.numel()),
    torch.gradient: _gradient,
    torch.tensor: _tensor_of(torch.tensor),
    torch.as_tensor: _tensor_of(torch.as_tensor),
    torch.Tensor.new: _new,
    torch.Tensor.new_tensor: _new_tensor,
    torch.Tensor.data.__get__: torch.Tensor.detach,  # type: ignore[attr-defined]
    torch.Tensor.data.__set__: _set_data,  # type: ignore[attr-defined]
    torch.Tensor.__deepcopy__: _copied,
    **{f: _in_python(f) for f in (torch.Tensor.apply_, torch.Tensor.map_, torch.Tensor.map2_)},  # type: ignore[attr-defined]
    torch.Tensor.resize_: _resize,
    torch.Tensor.resize_as_: _resize_as,
    torch.resize_as_: _resize_as,
    torch.Tensor.__getitem__: _get_item,
    torch.Tensor.__setitem__: _set_item,
    torch.Tensor.view: _view,
    torch.Tensor.stride: live_strides.stride,
}


def instead(function: Function) -> Function:
    """What is called instead of a function."""
    return _INSTEAD.get(function, function)
