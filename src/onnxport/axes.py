"""Names of the inputs, and which of their axes are dynamic.

Two ways of saying it are understood: `dynamic_axes` of the classic API, by the names of the inputs, and
`dynamic_shapes` of `torch.export`, nested like the arguments. Both end as a label for each dynamic axis of each
input; one label is one size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from .dims import Dim, parse
from .errors import warn
from .options import Options, check_clash
from .program import Labels, Program
from .program.ir import Input


def settle(program: Program, options: Options) -> None:
    """Give the inputs of a program their final names and their dynamic axes, in place.

    ValueError where names or axes don't fit the model.
    """
    said = Labels()
    wanted = _by_shapes(program, options.dynamic_shapes, said)
    names = _input_names(program, options)
    check_clash(names, options.output_names)
    for declared, name in zip(program.inputs, names):
        declared.name = name
    given = [
        positive_axes(i.name, options.dynamic_axes.get(i.name, {}), _rank(i)) or labels
        for i, labels in zip(program.inputs, wanted)
    ]
    if program.front_end == "exported":
        _name_symbols(program, given)
    else:
        _distinguish(program.inputs, given)
        program.labels = said
        said.check(said.free(_sizes(program)))


def sizes(program: Program) -> dict[str, int]:
    """The example size behind each label, of those that don't follow from others."""
    return program.labels.free(_sizes(program))


def _sizes(program: Program) -> dict[str, int]:
    return {
        label: int(i.example.shape[axis])
        for i in program.inputs
        if isinstance(i.example, torch.Tensor)
        for axis, label in i.axes.items()
    }


def positive_axes(name: str, labels: Mapping[int, str], rank: int | None) -> dict[int, str]:
    """Labels by axes counted from the front; ValueError for an axis that isn't there or is named twice."""
    if rank is None:
        return dict(labels)
    result: dict[int, str] = {}
    for axis, label in labels.items():
        if not -rank <= axis < rank:
            raise ValueError(f"dynamic_axes[{name!r}] has the axis {axis}, but {name!r} has {rank} dimension(s)")
        if result.setdefault(axis % rank, label) != label:
            raise ValueError(f"dynamic_axes[{name!r}] names axis {axis % rank} twice: {axis} and {axis % rank - rank}")
    return result


def _rank(declared: Input) -> int | None:
    return declared.example.dim() if isinstance(declared.example, torch.Tensor) else None


def _input_names(program: Program, options: Options) -> list[str]:
    defaults = [declared.name for declared in program.inputs]
    given = list(options.input_names[: len(defaults)])
    limit = len(defaults) + len(program.weights)
    if len(options.input_names) > limit:
        raise ValueError(
            f"input_names has {len(options.input_names)} names, but the model has {len(defaults)} inputs "
            f"({', '.join(defaults)}) and {len(program.weights)} parameters and buffers"
        )
    names = given + defaults[len(given) :]
    taken = set(options.input_names)
    for i in range(len(given), len(names)):
        while names[i] in taken:
            names[i] += "_1"
        taken.add(names[i])
    return names


def _distinguish(inputs: Sequence[Input], given: Sequence[Mapping[int, str]]) -> None:
    """One label is one size: where the example has another, the axis gets a label of its own."""
    seen: dict[str, tuple[int, str]] = {}
    for declared, labels in zip(inputs, given):
        declared.axes = dict(labels)
        if not isinstance(declared.example, torch.Tensor):
            continue
        for axis, label in labels.items():
            size = int(declared.example.shape[axis])
            first = seen.setdefault(label, (size, declared.name))
            if first[0] != size:
                other = f"{label}_{declared.name}_{axis}"
                warn(
                    f"the label {label!r} stands for the size {first[0]} of {first[1]!r} and for the size {size} of "
                    f"{declared.name!r}; one label is one size, so the latter is named {other!r}"
                )
                declared.axes[axis] = other


def _name_symbols(program: Program, given: Sequence[Mapping[int, str]]) -> None:
    """Which axes are dynamic is settled in an exported program; labels only name its symbols."""
    inputs, renamed = program.inputs, dict[str, str]()
    for declared, labels in zip(inputs, given):
        for axis, label in labels.items():
            symbol = declared.axes.get(axis)
            if symbol is None:
                raise ValueError(
                    f"axis {axis} of {declared.name!r} is fixed in the exported program; give torch.export.export "
                    "dynamic_shapes with a Dim for it"
                )
            if symbol not in program.labels.derived:
                renamed.setdefault(symbol, label)
    renamed = program.labels.rename(renamed)
    for declared in inputs:
        declared.axes = {axis: renamed.get(symbol, symbol) for axis, symbol in declared.axes.items()}


# -- dynamic_shapes -------------------------------------------------------------------------------


def _by_shapes(program: Program, shapes: Any, said: Labels) -> list[dict[int, str]]:
    """Labels of each input by `dynamic_shapes`: a dict by argument, or a tuple of the arguments in order.

    What Dims say of their sizes is added to `said`.
    """
    if shapes is None:
        return [{} for _ in program.inputs]
    arguments = program.arguments or [declared.name for declared in program.inputs]
    if not isinstance(shapes, (Mapping, list, tuple)):
        raise TypeError(
            f"dynamic_shapes must be a dict by argument, or a tuple or list of the arguments, not {shapes!r}"
        )
    if program.front_end != "exported":  # whose arguments are flat: there, labels only name what is dynamic already
        roots = {declared.name.partition(".")[0] for declared in program.inputs}
        _check_arguments(shapes, list(dict.fromkeys([*arguments, *sorted(roots)])))
        shapes = _with_collected(shapes, [name for name in arguments if name not in roots])
        _check_nested(shapes, [declared.name.split(".") for declared in program.inputs], arguments)
    found = []
    for declared in program.inputs:
        spec = shapes
        for depth, part in enumerate(declared.name.split(".")):
            spec = _child(spec, part, arguments if depth == 0 else None)
        found.append(_labels(declared, spec, said))
    return found


def _check_arguments(shapes: Any, arguments: Sequence[str]) -> None:
    """ValueError for shapes of arguments that the model isn't given."""
    if isinstance(shapes, Mapping):
        unknown = [repr(name) for name, spec in shapes.items() if spec is not None and name not in arguments]
        if unknown:
            raise ValueError(
                f"dynamic_shapes has {', '.join(unknown)}, but the arguments are {', '.join(arguments)}; it goes by the "
                "names of forward's parameters, also where input_names gives others"
            )
    elif isinstance(shapes, (list, tuple)) and len(shapes) > len(arguments):
        raise ValueError(
            f"dynamic_shapes has {len(shapes)} entries, but {len(arguments)} argument(s) are given: {', '.join(arguments)}"
        )


def _check_nested(spec: Any, below: Sequence[list[str]], names: Sequence[str], path: str = "dynamic_shapes") -> None:
    """ValueError for sizes at places where the arguments, whose names `below` are, have no tensor."""
    if [] in below:  # a tensor: what its axes are, `_labels` checks
        return
    spec = _by_field(spec)
    if isinstance(spec, Mapping):
        entries: list[tuple[str, Any]] = [(str(key), part) for key, part in spec.items()]
    elif isinstance(spec, (list, tuple)):
        entries = [(names[i] if i < len(names) else str(i), part) for i, part in enumerate(spec)]
    else:
        return
    for key, part in entries:
        inner = [name[1:] for name in below if name[0] == key]
        if inner:
            _check_nested(part, inner, (), f"{path}[{key!r}]")
        elif _says_sizes(part):
            there = ", ".join(dict.fromkeys(name[0] for name in below))
            raise ValueError(f"{path} has sizes for {key!r}, where no tensor is given; there are {there}")


def _says_sizes(spec: Any) -> bool:
    if isinstance(spec, Mapping):
        return any(map(_says_sizes, spec.values()))
    if isinstance(spec, (list, tuple)):
        return any(map(_says_sizes, spec))
    return _label(spec, "", Labels()) is not None


def _with_collected(shapes: Any, collecting: Sequence[str]) -> Any:
    """What `**kwargs` collects goes by its own names here; `dynamic_shapes` may have it under the name of `kwargs`."""
    if not isinstance(shapes, Mapping):
        return shapes
    nested = {name: shapes[name] for name in collecting if isinstance(shapes.get(name), Mapping)}
    rest = {name: spec for name, spec in shapes.items() if name not in nested}
    return {**{key: spec for found in nested.values() for key, spec in found.items()}, **rest}


def _child(spec: Any, part: str, arguments: Sequence[str] | None) -> Any:
    """What a nested `dynamic_shapes` has for one argument, field, key or position; None if nothing."""
    if spec is None:
        return None
    spec = _by_field(spec)
    if isinstance(spec, Mapping):
        keys = {str(key): value for key, value in spec.items()}
        return keys.get(part)
    if isinstance(spec, (list, tuple)):
        position = arguments.index(part) if arguments is not None and part in arguments else _position(part)
        return spec[position] if position is not None and position < len(spec) else None
    return getattr(spec, part, None)


def _by_field(spec: Any) -> Any:
    """A named tuple as a dict: the inputs have the names of its fields."""
    return spec._asdict() if isinstance(spec, tuple) and hasattr(spec, "_asdict") else spec


def _position(part: str) -> int | None:
    return int(part) if part.isdigit() else None


def _labels(declared: Input, spec: Any, said: Labels) -> dict[int, str]:
    """Labels by axis; a `torch.export.Dim` gives its name, an unnamed dynamic axis gets one."""
    if spec is None:
        return {}
    rank = _rank(declared)
    entries = (
        dict(spec) if isinstance(spec, Mapping) else dict(enumerate(spec)) if isinstance(spec, (list, tuple)) else None
    )
    if entries is None or rank is None:
        raise TypeError(
            f"dynamic_shapes has {spec!r} for {declared.name!r}; a tensor takes a dict {{axis: Dim}} or a list of Dims"
        )
    labels: dict[int, str] = {}
    for axis, size in entries.items():
        if isinstance(size, int) and -rank <= axis < rank and size != declared.example.shape[axis]:
            raise ValueError(
                f"dynamic_shapes has the fixed size {size} for axis {axis} of {declared.name!r}, where the example has "
                f"{declared.example.shape[axis]}"
            )
        label = _label(size, f"{declared.name}_dim_{axis}", said)
        if label is not None:
            labels[axis] = label
    return positive_axes(declared.name, labels, rank)


def _label(size: Any, default: str, said: Labels) -> str | None:
    """The label that stands for a size of `dynamic_shapes`; None for a fixed one."""
    if size is None or isinstance(size, int):
        return None
    if isinstance(size, str):
        return size
    name = getattr(size, "__name__", None)
    if isinstance(name, str):
        return _label_of_dim(size, name, said)
    if "STATIC" in str(size):
        return None
    if not hasattr(size, "min"):
        raise TypeError(
            f"dynamic_shapes has {size!r}, of type {type(size).__name__}; a size is a Dim, a label, an int or None"
        )
    _bound(said, default, size)
    return default


def _label_of_dim(dim: Any, name: str, said: Labels) -> str:
    """The name of a Dim, or the expression of one that is derived from another."""
    if name.isidentifier():
        _bound(said, name, dim)
        return name
    size = parse(name)
    assert isinstance(size, Dim)
    _bound(said, dim.root.__name__, dim.root)
    said.derived[str(size)] = size
    return str(size)


def _bound(said: Labels, label: str, dim: Any) -> None:
    """Note the bounds of a Dim, which are None or a sort of infinity where it has none."""
    least, largest = (x if isinstance(x, int) else None for x in (dim.min, dim.max))
    bounds = (least or 0, largest)
    if said.bounds.setdefault(label, bounds) != bounds:
        raise ValueError(
            f"dynamic_shapes has two Dims {label!r} of different bounds: {said.bounds[label]} and {bounds}"
        )
