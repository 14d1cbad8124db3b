"""From a `Program` to an `onnx_ir.Model`: inputs, evaluation, outputs, names."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx
import onnx_ir as ir
import torch
from onnx_ir.tensor_adapters import TorchTensor

from ..axes import positive_axes
from ..dtypes import real_of, to_onnx
from ..errors import LoweringError, warn
from ..options import Options, TrainingMode
from ..program import Program
from .builder import Builder
from .evaluator import Evaluator, Observer, Resolver
from .finish import name_everything, prune
from .interface import OptionalValue, flatten, input_values, output_value
from .ranks import settle
from .values import Sequence as ListValue
from .values import Tensor


@dataclass(slots=True)
class Lowered:
    """An ONNX model and what later stages ask of how it came about."""

    model: ir.Model
    input_names: list[str]
    output_names: list[str]
    origins: dict[ir.Node, Any] = field(default_factory=dict)  # program node of each ONNX node
    modules: dict[str, str] = field(default_factory=dict)  # class name of the module at each path
    weights: list[str] = field(default_factory=list)  # names of parameters and buffers in the graph
    constants: set[str] = field(default_factory=set)  # names of initializers that aren't computed from weights
    by_symbolics: set[Any] = field(default_factory=set)  # program nodes that symbolic functions converted
    program: Program | None = None  # what was lowered
    again: Callable[[Observer], Lowered] | None = None  # lower it once more, told of each node and its results


def lower(
    program: Program,
    options: Options,
    opset: int,
    resolve: Resolver | None = None,
    observe: Observer | None = None,
) -> Lowered:
    """Evaluate a program, whose inputs have been settled (`axes`), into a model at this opset.

    Raises UnsupportedOperatorError for ops without a conversion, LoweringError for those that can't be
    converted as they are used.
    """
    g = Builder(
        opset,
        fold_weights=options.do_constant_folding and options.export_params,
        training=options.training is TrainingMode.TRAINING,
    )
    g.by_call = bool(options.modules_as_functions)
    if not options.export_params:
        g.fed = {w.name for w in program.weights.values() if w.in_state}
    inputs = input_values(g, program)
    graph_inputs = list(g.root.inputs)
    names = [value.name or "" for value in graph_inputs]
    results = Evaluator(program, g, resolve, observe).evaluate(inputs)
    results, program.output_names = flatten(results, program.output_names)
    outputs = [output_value(g, result) for result in results]
    settle(g, outputs)
    lowered = _assemble(g, program, options, graph_inputs, outputs, names)
    lowered.program = program
    lowered.by_symbolics = g.by_symbolics
    lowered.again = functools.partial(lower, program, options, opset, resolve)
    return lowered


# -- the model ----------------------------------------------------------------------------------------


def _assemble(
    g: Builder,
    program: Program,
    options: Options,
    inputs: list[ir.Value],
    outputs: list[Tensor | ListValue | OptionalValue],
    names: list[str],
) -> Lowered:
    weight_names = _weight_names(g, program, options, names)
    output_names = _output_names(program, options, len(outputs), {*names, *weight_names.values()})
    g.share_permuted()
    values = _results(g, inputs, outputs)
    g.root.nodes = prune(g.root.nodes, values)
    if g.opset < 11:
        from .control_flow import check_branches

        check_branches(g, _all_nodes(g.root.nodes))
    fed = [g.initializers[name].value for name in weight_names if name in g.fed]
    initializers = _initializers(g, weight_names)
    inputs = [*inputs, *(value for value in fed if value is not None)]
    name_everything(g.root.nodes, inputs, list(zip(values, output_names)), initializers, g.origins)
    _label_outputs(values, options.dynamic_axes, program)
    _warn_of_unknown(
        options,
        [*names, *(i.name for i in program.inputs if i.name not in names)],
        output_names,
        list(weight_names.values()),
    )
    versions = {**g.domains, **{d: v for d, v in options.custom_opsets.items() if d in g.domains}}
    if options.verbose:
        for node in _all_nodes(g.root.nodes):
            origin = g.origins.get(node)
            node.doc_string = None if origin is None else origin.location.source
    graph = ir.Graph(inputs, values, nodes=g.root.nodes, opset_imports=versions, name=program.name)
    for value in initializers:
        graph.register_initializer(value)
        if options.keep_initializers_as_inputs:
            graph.inputs.append(value)
    model = ir.Model(graph, ir_version=_ir_version(g.opset), producer_name="onnxport")
    weights = [v.name for n in weight_names if (v := g.initializers[n].value) is not None and v.name]
    constants = {t.value.name for t in g.initializers.values() if t.value is not None and not t.from_weight}
    return Lowered(
        model, names, output_names, g.origins, program.modules, weights, {name for name in constants if name}
    )


def _results(
    g: Builder, inputs: Sequence[ir.Value], outputs: Sequence[Tensor | ListValue | OptionalValue]
) -> list[ir.Value]:
    """The values of the outputs, each of them one of its own that a node makes; they and all that was made have types then."""
    values: list[ir.Value] = []
    types: list[tuple[ir.Value | None, Tensor]] = [(t.value, t) for t in g.made]
    for tensor in outputs:
        _check_bfloat16(g, tensor)
        value = sequence_or_tensor(g, tensor)
        if value in values or value in inputs or value.producer() is None:  # also initializers
            same = g.append("Identity", [value], {}, 1).outputs[0]
            same.type = value.type
            if not isinstance(tensor, Tensor):
                g.require(14, "a list of tensors among the inputs that is an output, too")
            value = same
        values.append(value)
    types += [(v, t) for v, t in zip(values, outputs) if isinstance(t, Tensor)]
    for made, tensor in types:
        if made is not None:
            _set_type(made, tensor)
    for value, output in zip(values, outputs):
        if isinstance(output, ListValue) and output.dims is not None:
            value.shape = ir.Shape([d if d is None or d.__class__ is int else str(d) for d in output.dims])
    return values


def _weight_names(g: Builder, program: Program, options: Options, inputs: Sequence[str]) -> dict[str, str]:
    """Names of the model's own tensors by those in `state_dict`, put on their values: the caller's go first.

    A name that the caller chose is kept; a parameter's own name gives way to it.
    """
    given = options.input_names[len(program.inputs) :]
    ours = [w.name for w in program.weights.values()]
    result = {**{name: name for name in ours}, **dict(zip(ours, given))}
    taken = {*inputs, *given}
    for name in ours[len(given) :]:
        while name in g.fed and result[name] in taken:
            result[name] += "_1"
    for name, label in result.items():
        value = g.initializers[name].value
        assert value is not None
        value.name = label
    return result


def sequence_or_tensor(g: Builder, output: Tensor | ListValue | OptionalValue) -> ir.Value:
    if isinstance(output, Tensor):
        return g.value(output)
    assert output.value is not None
    return output.value


def _output_names(program: Program, options: Options, count: int, taken: set[str]) -> list[str]:
    given = options.output_names
    if len(given) > count:
        raise ValueError(f"output_names has {len(given)} names, but the model has {count} output(s)")
    names = list(given)
    taken = taken | set(given)
    for i in range(len(given), count):
        known = program.output_names[i] if i < len(program.output_names) else None
        name = known or (f"output_{i}" if count > 1 else "output")
        while name in taken:
            name += "_1"
        taken.add(name)
        names.append(name)
    return names


def _warn_of_unknown(options: Options, inputs: Sequence[str], outputs: Sequence[str], weights: Sequence[str]) -> None:
    known = {*inputs, *outputs}
    for name in options.dynamic_axes:
        if name in known:
            continue
        what = "is a parameter, whose size is fixed" if name in weights else "is no input or output"
        warn(f"dynamic_axes has {name!r}, which {what}; there are {', '.join([*inputs, *outputs])}")


def _all_nodes(nodes: Sequence[ir.Node]) -> Iterator[ir.Node]:
    for node in nodes:
        yield node
        for attribute in node.attributes.values():
            if attribute.type == ir.AttributeType.GRAPH:
                yield from _all_nodes(list(attribute.as_graph()))


def _check_bfloat16(g: Builder, output: Any) -> None:
    """Types that an output can't have in ONNX."""
    if getattr(output, "dtype", None) != torch.bfloat16:
        return
    g.require(13, "a bfloat16 output")
    if isinstance(output, ListValue):
        raise LoweringError(
            "an output is a list of bfloat16 tensors whose length is known only at run time, which ONNX has no type for; convert "
            "them with .float(), or stack them"
        )


def _set_type(value: ir.Value, tensor: Tensor) -> None:
    value.type = _onnx_type(real_of(tensor.dtype) if tensor.is_complex else tensor.dtype)
    if tensor.dims is not None:
        dims = [*tensor.dims, 2] if tensor.is_complex else tensor.dims
        value.shape = ir.Shape([d if d.__class__ is int else str(d) for d in dims])


@functools.cache
def _onnx_type(dtype: torch.dtype) -> ir.TensorType:
    return ir.TensorType(ir.DataType(to_onnx(dtype)))


def _label_outputs(values: list[ir.Value], axes: Mapping[str, Mapping[int, str]], program: Program) -> None:
    """The labels that the caller wants on the axes of outputs; never one that stands for another size."""
    sizes = {label: label for declared in program.inputs for label in declared.axes.values()}
    for value in values:
        if value.shape is None or value.name is None or value.name not in axes:
            continue
        for axis, label in positive_axes(value.name, axes[value.name], len(value.shape)).items():
            known = value.shape[axis]
            size = str(known if isinstance(known, int) else known.value)
            if sizes.setdefault(label, size) != size:
                warn(
                    f"axis {axis} of {value.name!r} has the size {size}, but the label {label!r} stands for the size "
                    f"{sizes[label]}; it is not set there"
                )
            else:
                value.shape[axis] = label


def _initializers(g: Builder, weights: Mapping[str, str]) -> list[ir.Value]:
    """The constants in use, with their content; parameters in the order of `state_dict` first."""
    values = []
    for key, tensor in g.initializers.items():
        value = tensor.value
        if value is None or not value.uses() or key in g.fed:
            continue
        if tensor.source is not None:
            value.const_value = TorchTensor(tensor.source.detach(), name=value.name)
        else:
            assert tensor.data is not None and value.type is not None
            value.const_value = ir.Tensor(tensor.data, dtype=value.type.dtype, name=value.name)
        values.append(value)
    return values


def _ir_version(opset: int) -> int:
    """The IR version that the ONNX specification pairs with an opset."""
    return int(onnx.helper.find_min_ir_version_for([onnx.helper.make_opsetid("", opset)]))
