"""Arguments of a model, flattened: which tensors become inputs, their names, and the way back."""

from __future__ import annotations

import copy
import dataclasses
import gc
import inspect
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from .tracing.traced_sizes import is_size


@dataclasses.dataclass(slots=True)
class Arguments:
    """Example arguments of a model, flattened.

    `leaves` are the tensors in order, `names` their names ("x", "past.0.key"); `rebuild(leaves)` gives
    positional and keyword arguments of the same structure with other tensors. `parameters` are those of the model.
    """

    leaves: list[torch.Tensor] = dataclasses.field(default_factory=list)
    names: list[str] = dataclasses.field(default_factory=list)
    parameters: list[str] = dataclasses.field(default_factory=list)
    objects: list[_Object] = dataclasses.field(default_factory=list)
    arrays: list[str] = dataclasses.field(default_factory=list)  # of numpy: constants
    hidden: list[str] = dataclasses.field(default_factory=list)  # "'x', a set": the tensors in it are constants
    private: dict[str, torch.Tensor] = dataclasses.field(default_factory=dict)  # in private attributes: constants too
    rebuild: Callable[[Sequence[Any]], tuple[tuple[Any, ...], dict[str, Any]]] = lambda tensors: ((), {})

    def private_among(self, constants: Iterable[torch.Tensor]) -> list[str]:
        """Private attributes of arguments that are among the constants of a trace."""
        used = {constant.data_ptr() for constant in constants} - {0} if self.private else set()
        return [name for name, tensor in self.private.items() if tensor.data_ptr() in used]

    def counters(self) -> list[str]:
        """Numbers among the attributes of arguments that the last run changed: they are constants of the export."""
        return [name for found in self.objects for name in found.changed()]


@dataclasses.dataclass(slots=True)
class _Object:
    """An argument of an unknown class, and the copy of it that the last run had."""

    name: str
    given: Any
    used: Any = None

    def changed(self) -> list[str]:
        after = _numbers(vars(self.used)) if self.used is not None else {}
        return [
            f"{self.name}{attribute} = {number}"
            for attribute, number in _numbers(vars(self.given)).items()
            if not isinstance(number, torch.Tensor)
            if after.get(attribute, number) is not number and not _equal(after[attribute], number)
        ]


def _numbers(attributes: dict[str, Any]) -> dict[str, Any]:
    """Numbers among the attributes of an object, and in their lists and dicts, and tensors, which these may become."""
    found, _ = pytree.tree_flatten_with_path(attributes)
    return {_path(path): leaf for path, leaf in found if type(leaf) in (int, float, torch.Tensor)}


def _equal(a: Any, b: Any) -> bool:
    return not isinstance(a, torch.Tensor) and bool(a == b)


def normalize(args: Any, kwargs: Mapping[str, Any] | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The forms of `args` that the classic API takes, as positional and keyword arguments.

    A tensor stands for a tuple of one. A dict at the end of a tuple holds named arguments (`{}` after it
    makes it positional).
    """
    if not isinstance(args, tuple):
        args = tuple(args) if isinstance(args, list) and kwargs is not None else (args,)
    if kwargs is not None and not isinstance(kwargs, Mapping):
        raise TypeError(f"kwargs must be a dict of named arguments, not {type(kwargs).__name__}")
    named: dict[str, Any] = {}
    if args and isinstance(args[-1], dict) and all(isinstance(k, str) for k in args[-1]) and kwargs is None:
        named, args = args[-1], args[:-1]
    return args, {**named, **(kwargs or {})}


def slip_in(args: Any, model: Any, error: Exception) -> str | None:
    """What may be wrong with `args` or the model where it doesn't run on them."""
    if isinstance(args, list):
        return "args is a list, which stands for one argument; a tuple has an element for each argument"
    if any(isinstance(x, np.ndarray) for x in (args if isinstance(args, tuple) else (args,))):
        return "args has an array of numpy, which is a constant; torch.from_numpy makes it a tensor, which is an input"
    if "Tracer cannot set value trace" in str(error):
        return "a script that the model calls gives numbers or strings: let it give tensors, or script the whole model"
    weights = [*model.parameters(), *model.buffers()] if isinstance(model, torch.nn.Module) else []
    if any(map(torch.nn.parameter.is_lazy, weights)):
        return "the model has lazy modules, whose weights have no sizes yet: call it once on the example before"
    there = {str(t.device) for t in weights}
    given = {str(t.device) for t in pytree.tree_leaves(args) if isinstance(t, torch.Tensor)}
    if there and given and there != given:
        return f"the weights are on {', '.join(sorted(there))}, the example is on {', '.join(sorted(given))}"
    if isinstance(error, RuntimeError) and "type" in str(error):
        return _types_apart(weights, [t for t in pytree.tree_leaves(args) if isinstance(t, torch.Tensor)])
    return None


def _types_apart(weights: Sequence[torch.Tensor], given: Sequence[torch.Tensor]) -> str | None:
    """Floats of the example that no weight is of, which most operators don't mix."""
    theirs, ours = (sorted({str(t.dtype) for t in ts if t.is_floating_point()}) for ts in (weights, given))
    if not theirs or not ours or set(theirs) & set(ours):
        return None
    return f"the weights are {', '.join(theirs)}, the example is {', '.join(ours)}"


def bind(forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments by parameter name; named arguments that are missing get their default, or None.

    TypeError if the call doesn't fit the signature.
    """
    signature = inspect.signature(forward)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        try:
            partial = signature.bind_partial(*args, **kwargs)  # raises what None can't mend
        except TypeError as cause:
            hint = "; named arguments are those of kwargs, or a dict at the end of args: if that is positional, put {} after it"
            raise TypeError(f"args don't fit forward{signature}: {cause}{hint if kwargs else ''}") from None
        for name, parameter in signature.parameters.items():
            required = parameter.default is parameter.empty
            by_name = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
            if required and by_name and name not in partial.arguments:
                if not kwargs:
                    raise TypeError(f"args don't fit forward{signature}: {error}") from None
                partial.arguments[name] = None
        bound = inspect.BoundArguments(
            signature,
            {n: partial.arguments[n] for n in signature.parameters if n in partial.arguments},  # type: ignore[arg-type]
        )
    return dict(bound.arguments)


def flatten(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """Flatten example arguments; tensors become leaves, everything else is kept as it is."""
    forward = model.forward if isinstance(model, torch.nn.Module) else model
    try:
        signature: inspect.Signature | None = inspect.signature(forward)
    except (TypeError, ValueError):
        signature = None
    arguments = bind(forward, args, kwargs) if signature is not None else {f"input_{i}": a for i, a in enumerate(args)}
    flat = Arguments(parameters=list(arguments))
    collected = (
        {n for n, p in signature.parameters.items() if p.kind is p.VAR_KEYWORD} if signature is not None else set()
    )
    builders = {
        name: _flatten_named(value, flat) if name in collected else _flatten(value, name, flat)
        for name, value in arguments.items()
    }

    def rebuild(tensors: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        values = {name: build(tensors) for name, build in builders.items()}
        if signature is None:
            return tuple(values.values()), {}
        return _call(signature, values)

    flat.rebuild = rebuild
    return flat


def _call(signature: inspect.Signature, values: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments of a call; an argument after a gap goes by its name."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    gap = False
    for name, parameter in signature.parameters.items():
        if name not in values:
            gap = gap or parameter.kind is not parameter.VAR_POSITIONAL
        elif parameter.kind is parameter.VAR_KEYWORD:
            kwargs.update(values[name])
        elif parameter.kind is parameter.VAR_POSITIONAL:
            args.extend(values[name])
        elif parameter.kind is parameter.KEYWORD_ONLY or (gap and parameter.kind is not parameter.POSITIONAL_ONLY):
            kwargs[name] = values[name]
        else:
            args.append(values[name])
    return tuple(args), kwargs


Builder = Callable[[Sequence[Any]], Any]


def _flatten(value: Any, name: str, flat: Arguments) -> Builder:
    """Add the tensors in `value` to the leaves; returns the function that rebuilds it from all leaves."""
    if isinstance(value, torch.Tensor):
        index = len(flat.leaves)
        flat.leaves.append(value)
        flat.names.append(name)
        return lambda tensors: tensors[index]
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and not _is_pytree(value):
        fields = [f.name for f in dataclasses.fields(value)]
        parts = [_flatten(getattr(value, f), f"{name}.{f}", flat) for f in fields]
        return lambda tensors: _with_fields(value, fields, [part(tensors) for part in parts])
    if isinstance(value, np.ndarray):
        flat.arrays.append(name)
    if isinstance(value, Mapping) and type(value) is not dict and not _is_pytree(value):
        return _flatten_mapping(value, name, flat)
    if not _is_pytree(value):
        if _is_object(value):
            return _flatten_object(value, name, flat)
        if _hides_tensors(value) and not isinstance(value, np.ndarray):
            flat.hidden.append(f"{name!r}, {type(value).__name__}")
        return lambda tensors: value
    children, spec = pytree.tree_flatten_with_path(value, is_leaf=lambda v: v is not value)
    parts = [_flatten(child, name + _path(path), flat) for path, child in children]
    return lambda tensors: pytree.tree_unflatten([part(tensors) for part in parts], spec)


def _flatten_named(value: dict[str, Any], flat: Arguments) -> Builder:
    """What `**kwargs` collects goes by its own names."""
    parts = {key: _flatten(child, key, flat) for key, child in value.items()}
    return lambda tensors: {key: part(tensors) for key, part in parts.items()}


def _flatten_mapping(value: Mapping[str, Any], name: str, flat: Arguments) -> Builder:
    parts = {key: _flatten(child, f"{name}.{key}", flat) for key, child in value.items()}
    return lambda tensors: type(value)({key: part(tensors) for key, part in parts.items()})  # type: ignore[call-arg]


def _flatten_object(value: Any, name: str, flat: Arguments) -> Builder:
    """An object of an unknown class, such as a cache of keys and values: the tensors among its attributes.

    The model gets a copy, which it may write to.
    """
    known = _Object(name, value)
    flat.objects.append(known)
    parts = {a: _flatten(child, _joined(name, part), flat) for a, part, child in _tensor_attributes(value)}
    for attribute, content in vars(value).items():
        if attribute.startswith("_"):
            tensors = [leaf for leaf in pytree.tree_leaves(content) if isinstance(leaf, torch.Tensor)]
            flat.private.update(
                {f"{name}.{attribute}" + "[...]" * (tensor is not content): tensor for tensor in tensors}
            )
    others = [a for a, child in vars(value).items() if a not in parts and _is_open(child)]

    def build(tensors: Sequence[Any]) -> Any:
        contents = [part(tensors) for part in parts.values()] + [copy.deepcopy(getattr(value, a)) for a in others]
        known.used = _with_fields(value, [*parts, *others], contents)
        return known.used

    return build


def _is_object(value: Any) -> bool:
    """Whether a value is an object of an unknown class that has, or may get, tensors as attributes."""
    if isinstance(value, (type, torch.nn.Module)) or callable(value) or not hasattr(value, "__dict__"):
        return False
    return _has_tensors(value) or not type(value).__module__.startswith("torch.")


def _is_open(value: Any) -> bool:
    """Whether a value is a container that a model may write to."""
    return isinstance(value, (list, dict, set)) and not _has_tensors(value)


def _tensor_attributes(value: Any) -> list[tuple[str, str, Any]]:
    """Attributes that hold tensors, the part that each has in a name, and what they are.

    `cache.layers[0].keys` is called `0.key`: an attribute that holds all the tensors goes without saying. Private
    attributes are left alone.
    """
    public = [(a, child) for a, child in vars(value).items() if not a.startswith("_")]
    found = [(a, child) for a, child in public if _has_tensors(child) and not _is_number(child)]
    alone = len(found) == 1 and not isinstance(found[0][1], torch.Tensor)
    return [(a, "" if alone else _SINGULAR.get(a, a), child) for a, child in found]


_SINGULAR = {"keys": "key", "values": "value"}  # as the tensors of caches are called everywhere else


def _is_number(value: Any) -> bool:
    """Whether a value is a number made of sizes, which are tensors while a trace is recorded; or holds nothing else."""
    if isinstance(value, (list, tuple, dict)):
        return all(_is_number(leaf) for leaf in pytree.tree_leaves(value) if not isinstance(leaf, (int, float)))
    return isinstance(value, torch.Tensor) and is_size(value)


def _has_tensors(value: Any, seen: frozenset[int] = frozenset()) -> bool:
    """Whether there are tensors in a value, in the attributes of objects of unknown classes too."""
    if isinstance(value, torch.Tensor):
        return True
    if id(value) in seen or isinstance(value, (type, torch.nn.Module)) or callable(value):
        return False
    seen = seen | {id(value)}
    if isinstance(value, Mapping):
        return any(_has_tensors(child, seen) for child in value.values())
    if isinstance(value, (list, tuple)):
        return any(_has_tensors(child, seen) for child in value)
    attributes = getattr(value, "__dict__", {})
    return any(not name.startswith("_") and _has_tensors(child, seen) for name, child in attributes.items())


def _hides_tensors(value: Any, depth: int = 2) -> bool:
    """Whether there are tensors in a value that can't be rebuilt with others: a set, an iterator, an object of slots."""
    if isinstance(value, (type, types.ModuleType, torch.nn.Module)) or callable(value):
        return False
    parts = gc.get_referents(value)
    return any(isinstance(part, torch.Tensor) or (depth > 0 and _hides_tensors(part, depth - 1)) for part in parts)


def _joined(name: str | None, part: str) -> str:
    return f"{name}.{part}" if name and part else name or part


def _is_pytree(value: Any) -> bool:
    return not pytree.tree_is_leaf(value)


def _with_fields(value: Any, fields: list[str], contents: list[Any]) -> Any:
    """A copy of an object with other attributes, made without calling its `__init__`."""
    result = copy.copy(value)
    for field, content in zip(fields, contents):
        object.__setattr__(result, field, content)
    return result


def _path(path: tuple[Any, ...]) -> str:
    """ ".0.key" for a pytree path."""
    parts = []
    for key in path:
        for attribute in ("key", "idx", "name"):
            if hasattr(key, attribute):
                parts.append(str(getattr(key, attribute)))
                break
    return "".join(f".{part}" for part in parts)


@dataclasses.dataclass(slots=True)
class Outputs:
    """What a model returned, flattened to its tensors and numbers."""

    leaves: list[Any]
    names: list[str | None]
    strings: list[str] = dataclasses.field(default_factory=list)  # which are no outputs


def flatten_outputs(value: Any) -> Outputs:
    """Tensors of a result in order, inside lists, tuples, dicts, model outputs and dataclasses.

    Names come from keys and fields; positions give none. Nones are left out.
    """
    found = Outputs([], [])
    _collect(value, None, found)
    return found


def _collect(value: Any, name: str | None, found: Outputs) -> None:
    if isinstance(value, torch.Tensor):
        found.leaves.append(value)
        found.names.append(name)
    elif value is None:
        return
    elif isinstance(value, str):
        found.strings.append(value)
    elif isinstance(value, (bool, int, float, complex)):
        found.leaves.append(torch.tensor(value))
        found.names.append(name)
    elif isinstance(value, Mapping):
        for key, child in value.items():
            _collect(child, f"{name}.{key}" if name else str(key), found)
    elif isinstance(value, (list, tuple)):
        fields = getattr(value, "_fields", None)
        for i, child in enumerate(value):
            part = fields[i] if fields else (str(i) if name else None)
            _collect(child, f"{name}.{part}" if name else part, found)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            _collect(getattr(value, field.name), f"{name}.{field.name}" if name else field.name, found)
    elif not _is_pytree(value) and _is_object(value):
        for _, part, child in _tensor_attributes(value):
            _collect(child, _joined(name, part), found)
    elif _is_pytree(value):
        for path, child in pytree.tree_flatten_with_path(value, is_leaf=lambda v: v is not value)[0]:
            _collect(child, ((name or "") + _path(path)).lstrip("."), found)
    else:
        raise TypeError(
            f"the model returns a value of type {type(value).__name__}; outputs are tensors, numbers, and lists, tuples, dicts "
            "and dataclasses of these (torch.utils._pytree.register_pytree_node adds other types)"
        )
