"""Whether a trace is known to have kept every size, so that it needn't be made again at other sizes to see.

A size is lost only where Python takes it out of the trace (`int(n)`, `if n > 4`; see `conditions`), where a function of
torch computes with it in Python or C++ before the tracer sees it, where the tracer reads an argument instead of
recording it, or where the number of results hangs on it. A model that calls nothing but functions of which none but the
first is true has lost none but those. Most models do; for all others nothing is said here, and `liveness` traces again.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Set
from types import EllipsisType, NoneType
from typing import Any
from unittest import mock

import torch
import torch._functorch.vmap as functorch
import torch.nn.functional as F

from ...program import Program, Value
from ..shared import shared
from ..tracing.modes import TracingMode, has_tensors, instead, is_basic, stacks
from ..tracing.read_numbers import RECORDED, numbers_of
from ..tracing.traced_sizes import is_number
from .pitfalls import place_unless_told, what_is_taken
from .taken import ARRAYS, TAKES_NUMBERS, Taken

Function = Callable[..., Any]

# Functions and methods of these names are recorded as one node, with the sizes among their arguments; or they are
# functions of torch.nn.functional that only pass their arguments on.
_NAMES = frozenset({
    "abs", "absolute", "acos", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d",
    "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d", "add", "addcdiv", "addcmul", "addmm",
    "affine_grid", "all", "alpha_dropout", "amax", "amin", "angle", "any", "arange", "arcsin", "arctan2", "argmax",
    "argmin", "argsort", "argwhere", "asin", "_assert", "atan", "atan2", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "baddbmm", "batch_norm", "bilinear", "bincount", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "bmm",
    "broadcast_tensors", "broadcast_to", "bucketize", "cat", "cdist", "ceil", "celu", "channel_shuffle", "chunk",
    "clamp", "clamp_max", "clamp_min", "clip", "clone", "complex", "concat", "concatenate", "conj", "contiguous",
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "copy", "copysign",
    "cos", "cosh", "cosine_similarity", "count_nonzero", "cross", "cummax", "cummin", "cumprod", "cumsum", "deg2rad",
    "detach", "diag", "diag_embed", "diagonal", "dist", "div", "divide", "dot", "dropout", "einsum", "elu",
    "embedding", "embedding_bag", "empty", "empty_like", "eq", "erf", "erfc", "erfinv", "exp", "exp2", "expand",
    "expand_as", "expm1", "eye", "feature_dropout", "fill", "flatten", "flip", "fliplr", "flipud", "floor",
    "floor_divide", "fmod", "fold", "frac", "full", "gather", "ge", "gelu", "ger", "glu", "group_norm", "_grouped_mm",
    "gru", "gru_cell", "gt", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "heaviside", "histc", "hypot",
    "imag", "index_add", "index_copy", "index_fill", "index_put", "index_select", "inner", "instance_norm", "_int_mm",
    "interpolate", "_is_all_true", "is_complex", "is_floating_point", "isfinite", "isin", "isinf", "isnan", "kron",
    "layer_norm", "ldexp", "le", "leaky_relu", "lerp", "linear", "linspace", "local_response_norm", "log", "log10",
    "log1p", "log2", "log_softmax", "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor", "logit",
    "logsigmoid", "logsumexp", "lstm", "lstm_cell", "lt", "masked_fill", "masked_scatter", "masked_select", "matmul",
    "max", "max_pool1d", "max_pool2d", "max_pool3d", "maximum", "mean", "median", "meshgrid", "min", "minimum",
    "mish", "mm", "moveaxis", "movedim", "mse_loss", "mul", "multi_head_attention_forward", "multiply", "mv",
    "nan_to_num", "nansum", "narrow", "ne", "neg", "negative", "nelement", "new_empty", "new_full", "new_ones",
    "new_zeros", "nonzero", "norm", "normalize", "numel", "one_hot", "ones", "ones_like", "outer", "pad", "permute",
    "pixel_shuffle", "pixel_unshuffle", "polar", "positive", "pow", "prelu", "prod", "rad2deg", "rand", "rand_like",
    "randn", "randn_like", "ravel", "real", "reciprocal", "relu", "relu6", "remainder", "repeat", "repeat_interleave",
    "reshape", "reshape_as", "rms_norm", "rnn_relu", "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell", "rot90", "round",
    "rsqrt", "rsub", "scalar_tensor", "scaled_dot_product_attention", "scatter", "scatter_add", "scatter_reduce",
    "searchsorted", "select", "selu", "_shape_as_tensor", "sigmoid", "sign", "silu", "sin", "sinc", "sinh",
    "smooth_l1_loss", "softmax", "softmin", "softplus", "softshrink", "softsign", "sort", "split", "sqrt", "square",
    "squeeze", "stack", "std", "std_mean", "sub", "subtract", "sum", "swapaxes", "swapdims", "t", "take",
    "take_along_dim", "tan", "tanh", "tensor_split", "threshold", "tile", "to", "topk", "trace", "transpose", "tril",
    "tril_indices", "triu", "triu_indices", "true_divide", "trunc", "type_as", "unbind", "unflatten", "unfold",
    "unsqueeze", "var", "var_mean", "view", "view_as", "view_as_complex", "view_as_real", "where", "xlogy", "zero",
    "zeros", "zeros_like",
})  # fmt: skip
_METHODS = frozenset({
    "__abs__", "__add__", "__and__", "bfloat16", "bool", "byte", "cpu", "cuda", "dim", "__div__", "double", "__eq__",
    "float", "__floordiv__", "__ge__", "__getitem__", "__gt__", "half", "__iadd__", "__imul__", "int", "__invert__",
    "is_complex", "is_floating_point", "is_signed", "__isub__", "__iter__", "__itruediv__", "__le__", "long",
    "__lt__", "__matmul__", "__mod__", "__mul__", "__ne__", "__neg__", "numel", "__or__", "__pow__", "__radd__",
    "requires_grad_", "__rfloordiv__", "__rmatmul__", "__rmul__", "__rpow__", "__rsub__", "__rtruediv__", "size",
    "__sub__", "__truediv__", "type", "__xor__",
})  # fmt: skip
_GETTERS = (
    "H", "T", "data", "device", "dtype", "imag", "is_cuda", "is_nested", "layout", "mH", "mT", "ndim", "real",
    "requires_grad", "shape",
)  # fmt: skip
# Nodes that the tracer writes for these beside those of their names.
_NODES = frozenset({
    "affine_grid_generator", "alias", "__and__", "col2im", "_conj", "_convolution", "_convolution_mode", "copy_",
    "diff", "fft_fft", "fft_fft2", "fft_ifft", "fft_irfft", "fft_irfft2", "fft_rfft", "fft_rfft2", "fill_", "Float",
    "full_like", "grid_sampler", "__iand__", "im2col", "index", "index_put_", "Int", "__ior__", "__ixor__",
    "lift_fresh", "linalg_norm", "linalg_solve", "linalg_solve_triangular", "linalg_vector_norm", "ListConstruct",
    "ListUnpack", "log_sigmoid", "mT", "numel", "numpy_T", "NumToTensor", "__or__", "roll", "ScalarImplicit", "size",
    "slice", "split_with_sizes", "tensor", "TupleConstruct", "unsafe_chunk", "upsample_bicubic2d",
    "_upsample_bicubic2d_aa", "upsample_bilinear2d", "_upsample_bilinear2d_aa", "upsample_linear1d",
    "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "upsample_trilinear3d", "_weight_norm",
    "__xor__",
})  # fmt: skip
_CUT_TO_PIECES = (torch.split, torch.Tensor.split, torch.chunk, torch.Tensor.chunk)
_COUNTS = ("chunks", "split_size", "split_size_or_sections")
_OF_PIECES = {"dim", *_COUNTS}
_INDEXES = (int, slice, NoneType, EllipsisType, torch.Tensor)
# Functions of which the tracer reads arguments after the first that are no lists, and how many it doesn't.
_READ: dict[Function, int] = {
    **dict.fromkeys((F.conv1d, F.conv2d, F.conv3d, F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d), 3),
    **dict.fromkeys((F.max_pool1d, F.max_pool2d, F.max_pool3d, F.avg_pool1d, F.avg_pool2d, F.avg_pool3d), 2),
    F.scaled_dot_product_attention: 4,
    **dict.fromkeys((F.interpolate, F.pad, F.normalize, F.dropout, F.alpha_dropout, F.glu, F.unfold, F.fold), 1),
    **dict.fromkeys((torch.nan_to_num, torch.Tensor.nan_to_num), 1),
    **dict.fromkeys((F.layer_norm, F.group_norm, F.rms_norm), 4),
    **dict.fromkeys((F.batch_norm, F.instance_norm), 5),
    **dict.fromkeys(
        (torch.full_like, torch.diff, torch.Tensor.diff, torch.Tensor.unfold, torch.roll, torch.Tensor.roll), 1
    ),
    **dict.fromkeys((torch.logit, torch.Tensor.logit), 1),
    **dict.fromkeys((F.grid_sample, torch._weight_norm), 2),  # type: ignore[attr-defined]
    **dict.fromkeys((torch.cdist, torch.cosine_similarity, F.smooth_l1_loss), 2),
}
_TENSORS = frozenset({"input", "weight", "bias", "attn_mask", "running_mean", "running_var", "prepend", "append"})
# Those among them whose lists are recorded.
_LISTS_RECORDED = frozenset({F.interpolate, F.pad, torch.roll, torch.Tensor.roll})


_OTHERS = (
    torch._C._set_grad_enabled, torch.device, torch.tensor, torch.as_tensor, torch.from_numpy, torch.promote_types, torch.result_type,
    torch.linalg.norm, torch.linalg.vector_norm, torch.linalg.solve, torch.linalg.solve_triangular,
    torch.fft.fft, torch.fft.ifft, torch.fft.rfft, torch.fft.irfft, torch.fft.fft2, torch.fft.rfft2, torch.fft.irfft2,
    torch.Tensor.__setitem__,
)  # fmt: skip


def _functions() -> frozenset[Function]:
    holders: tuple[Any, ...] = (torch, torch.Tensor, F, torch._C._nn)  # type: ignore[attr-defined]
    # Of a name whose arguments matter, only the functions that are watched: `torch.max_pool2d` is another than F's.
    watched = {function.__name__ for function in _READ}
    names = {*_NAMES, *(f"{name}_" for name in _NAMES)} - {*watched, *(f"{name}_" for name in watched)}
    found = [*_READ, *(getattr(holder, name) for holder in holders for name in names if hasattr(holder, name))]
    methods = [getattr(torch.Tensor, name) for name in _METHODS if hasattr(torch.Tensor, name)]
    getters = [getattr(torch.Tensor, name).__get__ for name in _GETTERS]
    return frozenset([*found, *methods, *getters, *_OTHERS, *TAKES_NUMBERS, *ARRAYS])


_KEEPING = _functions()


class Kept:
    """What a trace does, as far as it may lose a size.

    Args:
        taken: is told of sizes that the tracer reads, or that numbers of results hang on.

    Attributes:
        doubtful: whether a function was called in a way that may lose one.
    """

    def __init__(self, taken: Taken) -> None:
        self.doubtful = False
        self._taken = taken

    def watched(self, set_item: Function) -> dict[Function, Function]:
        """The functions whose arguments matter, and what looks at them before it calls them, or `set_item`."""
        read = {function: self._numbers(function, count) for function, count in _READ.items()}
        return {
            torch.Tensor.__getitem__: self._getitem,
            torch.Tensor.__setitem__: functools.partial(self._setitem, set_item),
            torch.tensor: self._tensor(torch.tensor),
            torch.as_tensor: self._tensor(torch.as_tensor),
            **read,
            **{function: self._pieces(function, 2) for function in _CUT_TO_PIECES},
            **{function: self._pieces(function, 1) for function in (torch.unbind, torch.Tensor.unbind)},
            **{function: self._sections(function) for function in (torch.tensor_split, torch.Tensor.tensor_split)},
            torch.Tensor.__iter__: self._pieces(torch.Tensor.__iter__, 1),
        }

    def _getitem(self, tensor: torch.Tensor, index: Any) -> Any:
        self._look_at(index)
        return instead(torch.Tensor.__getitem__)(tensor, index)

    def _setitem(self, set_item: Function, tensor: torch.Tensor, index: Any, value: Any) -> None:
        self._look_at(index)
        if isinstance(value, torch.Tensor) and value.dim() > 1 and not is_basic(index):  # is it expanded to numbers?
            self.doubtful = True
        set_item(tensor, index, value)

    def _look_at(self, index: Any) -> None:
        for part in index if index.__class__ is tuple else (index,):
            if part.__class__ not in _INDEXES:  # of a list, numbers are read
                self.doubtful = True

    def _tensor(self, function: Function) -> Function:
        call = instead(function)

        def watch(data: Any, *args: Any, **kwargs: Any) -> Any:
            if not isinstance(data, torch.Tensor) and has_tensors(data) and not stacks(data):
                self.doubtful = True
            return call(data, *args, **kwargs)

        return watch

    def _pieces(self, function: Function, position: int) -> Function:
        """What counts its results by the size of an axis, which is its argument of this position."""
        call = instead(function)

        def watch(*args: Any, **kwargs: Any) -> Any:
            axis = kwargs.get("dim", args[position] if len(args) > position else 0)
            given = [kwargs[name] for name in _COUNTS if name in kwargs] or args[1:position] or [1]
            step, what = given[0], what_is_taken(function)
            is_size = isinstance(step, torch.Tensor) and not step.dim() and not step.is_floating_point()
            if is_size:  # there may be more pieces, all of which Python may go through, of a larger axis
                self.doubtful, what = True, what_is_taken(torch.unbind)
            if (
                not args
                or axis.__class__ is not int
                or (isinstance(step, torch.Tensor) and not is_size)
                or not kwargs.keys() <= _OF_PIECES
            ):
                self.doubtful = True
            elif torch._C._get_tracing_state() and args[0].dim() and not isinstance(step, (list, tuple)):
                size = args[0].size(axis)
                if "chunk" in function.__name__:
                    step = ((size + step - 1) // step).clamp(min=1)
                self._taken.take((size + step - 1) // step, None, place_unless_told(), what)
            return call(*args, **kwargs)

        return watch

    def _sections(self, function: Function) -> Function:
        """What counts its results by its second argument."""
        call = instead(function)

        def watch(*args: Any, **kwargs: Any) -> Any:
            given = [*args[1:2], *(value for name, value in kwargs.items() if name not in ("dim", "input"))]
            for count in given:
                if isinstance(count, torch.Tensor) and not count.dim() and torch._C._get_tracing_state():
                    self._taken.take(count)
                elif isinstance(count, torch.Tensor):
                    self.doubtful = True
            return call(*args, **kwargs)

        return watch

    def _numbers(self, function: Function, tensors: int) -> Function:
        call, lists = instead(function), () if function in _LISTS_RECORDED else (list, tuple)

        def watch(*args: Any, **kwargs: Any) -> Any:
            rest = [*args[tensors:], *(v for k, v in kwargs.items() if k not in _TENSORS)]
            rest += [x for given in rest if isinstance(given, lists) for x in given]
            if function in RECORDED:
                position, name = RECORDED[function]
                numbers = numbers_of(args[position] if len(args) > position else kwargs.get(name))
                recorded = {id(x) for x in numbers if isinstance(x, torch.Tensor) and is_number(x)}
                rest = [x for x in [*rest, *numbers] if id(x) not in recorded]
            for read in (x for x in rest if isinstance(x, torch.Tensor)):
                if read.dim() or not torch._C._get_tracing_state():
                    self.doubtful = True
                else:
                    self._taken.take(read)
            return call(*args, **kwargs)

        return watch

    def all_sizes(self, called: Set[Function], program: Program) -> bool:
        """Whether a trace that called these functions and became this program has kept all sizes."""
        if self.doubtful or not called <= _KEEPING:
            return False
        kinds = {node.op.partition(".")[0] for node in program.block.walk()}
        return all(map(_is_plain, kinds)) and not ("aten::empty" in kinds and _may_be_constructed(program))


@shared
@contextlib.contextmanager
def vmap_noticed() -> Iterator[None]:
    """Let the modes that are on know of `torch.vmap`, inside of which operators read sizes in C++."""
    begin = functorch._vmap_increment_nesting  # type: ignore[attr-defined]

    def note(*args: Any) -> Any:
        for mode in torch.overrides._get_current_function_mode_stack():  # type: ignore[no-untyped-call]
            if isinstance(mode, TracingMode):
                mode.called.add(torch.vmap)
        return begin(*args)

    with mock.patch.object(functorch, "_vmap_increment_nesting", note):
        yield


def _may_be_constructed(program: Program) -> bool:
    """Whether a tensor may be one of `torch.Tensor(h, w)`, which no mode sees: the tracer reads its sizes."""
    lists: dict[Value, list[Any]] = {}
    for node in program.block.walk():
        if node.op == "prim::ListConstruct":
            lists[node.outputs[0]] = node.inputs
        elif node.op.partition(".")[0] == "aten::empty":
            given: Any = node.inputs[0]
            sizes = given if isinstance(given, list) else lists.get(given, [given])
            if not any(isinstance(size, Value) for size in sizes):
                return True
    return False


def _is_plain(kind: str) -> bool:
    name = kind.rpartition("::")[2]
    return name in _NODES or (kind.startswith("aten::") and name.rstrip("_") in _NAMES)
