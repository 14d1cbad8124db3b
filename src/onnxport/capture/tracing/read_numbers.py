"""Functions of which the tracer reads a number, that of the example, where it may be a float of sizes: what does the same
with tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from ..graph import inputs_of
from .exact_floats import exact
from .traced_sizes import is_of_sizes, is_traced_number

Function = Callable[..., Any]


def _dropout(function: Function, trains: bool) -> Function:
    """Without training, the rate says nothing."""

    def drop(input: torch.Tensor, p: Any = 0.5, training: bool = trains, inplace: bool = False) -> torch.Tensor:
        rate = 0.5 if isinstance(p, torch.Tensor) and not training else p
        return function(input, rate, training, inplace)  # type: ignore[no-any-return]

    return drop


def _logit(function: Function) -> Function:
    def logit(input: torch.Tensor, eps: Any = None, **kwargs: Any) -> torch.Tensor:
        if isinstance(eps, torch.Tensor) and not kwargs:
            eps = eps.to(input.dtype)
            return function(input.clamp(eps, 1 - eps))  # type: ignore[no-any-return]
        return function(input, eps, **kwargs)  # type: ignore[no-any-return]

    return logit


def _attention(query: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    scale = kwargs.get("scale")
    if isinstance(scale, torch.Tensor):
        query, kwargs["scale"] = query * scale.to(query.dtype), 1.0
    return F.scaled_dot_product_attention(query, *args, **kwargs)


def interpolate(input: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """Scales that follow from sizes (`scale_factor=64 / h`), of which the tracer reads numbers: in the graph the operator is
    given floats that are computed."""
    given = {**dict(zip(("size", "scale_factor", "mode"), args)), **kwargs}
    scales = numbers_of(given.get("scale_factor"))
    if not any(isinstance(scale, torch.Tensor) for scale in scales):
        return F.interpolate(input, *args, **kwargs)
    if given.get("recompute_scale_factor") or given.get("mode") == "area":
        return F.interpolate(input, *args, **kwargs)
    live = [exact(scale) if isinstance(scale, torch.Tensor) else scale for scale in scales]
    with torch._C.DisableTorchFunction():
        numbers = [float(scale) for scale in live]
    numbers = numbers * (input.dim() - 2) if len(numbers) == 1 else numbers
    result = F.interpolate(input, *args[2:], **{**kwargs, "size": given.get("size"), "scale_factor": numbers})
    if torch._C._get_tracing_state() and all(map(is_of_sizes, scales)):
        _give_floats(result, live * len(numbers) if len(live) == 1 else live)
    return result


def _convolution(function: Function) -> Function:
    """Of sizes in the padding the tracer reads numbers; what is padded before isn't by the operator."""

    def convolve(input: torch.Tensor, weight: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        given = {**dict(zip(("bias", "stride", "padding", "dilation", "groups"), args)), **kwargs}
        padding = numbers_of(given.get("padding"), weight.dim() - 2)
        if not any(map(is_traced_number, padding)):
            return function(input, weight, *args, **kwargs)  # type: ignore[no-any-return]
        pads = [pad for pad in reversed(padding) for _ in range(2)]
        return function(F.pad(input, pads), weight, **{**given, "padding": 0})  # type: ignore[no-any-return]

    return convolve


def numbers_of(given: Any, count: int = 1) -> list[Any]:
    """The numbers of an argument that may be a list or a single one, for so many axes."""
    numbers = list(given) if isinstance(given, (list, tuple)) else [given]
    return numbers * count if len(numbers) == 1 else numbers


def _give_floats(result: torch.Tensor, floats: Sequence[Any]) -> None:
    """Replace the list of floats that an operator was given, in the graph that is recorded."""
    node: Any = torch._C._get_value_trace(result).node()  # type: ignore[attr-defined]
    position, constants = next(
        (i, value.node()) for i, value in enumerate(inputs_of(node)) if value.node().kind() == "prim::ListConstruct"
    )
    graph = torch._C._get_tracing_state().graph()  # type: ignore[attr-defined]
    made = graph.create("prim::ListConstruct", [], 1)
    made.output().setType(constants.output().type())
    made.insertBefore(node)
    for constant, number in zip(inputs_of(constants), floats):
        made.addInput(constant)
        if isinstance(number, torch.Tensor):
            value: Any = torch._C._get_value_trace(number)  # type: ignore[attr-defined]
            of_tensor = graph.create("aten::Float", [value], 1)
            of_tensor.output().setType(torch._C.FloatType.get())
            of_tensor.insertBefore(made)
            made.replaceInput(made.inputsSize() - 1, of_tensor.output())
    node.replaceInput(position, made.output())


# Arguments of which numbers of sizes aren't read, and where they stand.
RECORDED: Mapping[Function, tuple[int, str]] = {
    F.interpolate: (2, "scale_factor"),
    **dict.fromkeys((F.conv1d, F.conv2d, F.conv3d), (4, "padding")),
}
INSTEAD: Mapping[Function, Function] = {
    **{f: _dropout(f, trains=True) for f in (F.dropout, F.dropout1d, F.dropout2d, F.dropout3d)},
    **{f: _dropout(f, trains=False) for f in (F.alpha_dropout, F.feature_alpha_dropout)},
    **{f: _logit(f) for f in (torch.logit, torch.Tensor.logit, torch.special.logit)},
    F.scaled_dot_product_attention: _attention,
    F.interpolate: interpolate,
    **{f: _convolution(f) for f in (F.conv1d, F.conv2d, F.conv3d)},
}
