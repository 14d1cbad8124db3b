"""The source of an export, called as it was captured: flat inputs in, flat tensors out, nothing changed by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ..capture.inputs import flatten, flatten_outputs, normalize
from ..capture.own_gradients import called
from ..capture.signature import Default, bind
from ..capture.trace import unchanged
from ..capture.weights import named_modules
from ..dtypes import quantized_parts
from ..options import TrainingMode
from ..session import exporting, select_model_mode_for_export


class Reference:
    """A model in PyTorch.

    Attributes:
        examples: the example arguments, flat, one for each input of the graph.
    """

    def __init__(self, source: Any, args: Any, kwargs: Mapping[str, Any] | None, training: TrainingMode) -> None:
        self._training = training
        self._model = source
        self._rebuild: Callable[[Sequence[Any]], tuple[tuple[Any, ...], dict[str, Any]]]
        self._exported = isinstance(source, torch.export.ExportedProgram)
        if self._exported:
            self._model = source.module()
            self._training = TrainingMode.PRESERVE  # it can't be told to change
            given = _example_of(source) if args in ((), None) and not kwargs else normalize(args, kwargs)
            leaves, spec = pytree.tree_flatten(given)
            self.examples = _tensors(leaves)
            self._rebuild = lambda tensors: _filled(leaves, spec, tensors)
        elif _is_script(source):
            named = _script_arguments(source, *normalize(args, kwargs))
            self.examples = []
            parts = {name: _script_part(value, self.examples) for name, value in named.items()}
            self._rebuild = lambda given: ((), {name: part(given) for name, part in parts.items()})
        else:
            arguments = flatten(source, *normalize(args, kwargs))
            self.examples, self._rebuild = list(arguments.leaves), arguments.rebuild

    def flat(self, args: Any, kwargs: Mapping[str, Any] | None = None) -> list[Any]:
        """The flat inputs in arguments like those of the export."""
        given = normalize(args, kwargs)
        if self._exported:
            return _tensors(pytree.tree_leaves(given))
        if _is_script(self._model):
            leaves: list[Any] = []
            for value in _script_arguments(self._model, *given).values():
                _script_part(value, leaves)
            return leaves
        return list(flatten(self._model, *given).leaves)

    def __call__(self, inputs: Sequence[Any], seed: int | None = None) -> list[torch.Tensor]:
        """Call the model on copies of these inputs; its tensors in order. A seed is for models that draw numbers."""

        def call() -> list[torch.Tensor]:
            mode = select_model_mode_for_export(self._model, self._training)
            with exporting(), unchanged(named_modules(self._model)), mode:
                args, kwargs = self._rebuild(_copies(inputs))
                if seed is not None:
                    torch.manual_seed(seed)
                found = flatten_outputs(self._model(*args, **kwargs)).leaves
                tensors = [torch.as_tensor(x).detach().clone() for x in found]
                return [part for x in tensors for part in quantized_parts(x, torch.float32, None)]

        return called(call)


def _example_of(exported: torch.export.ExportedProgram) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if exported.example_inputs is None:
        raise ValueError("the exported program has no example inputs: pass args")
    args, kwargs = exported.example_inputs
    return tuple(args), dict(kwargs)


def _tensors(leaves: Sequence[Any]) -> list[Any]:
    return [x for x in leaves if isinstance(x, torch.Tensor)]


def _filled(leaves: Sequence[Any], spec: Any, tensors: Sequence[Any]) -> Any:
    remaining = iter(tensors)
    return pytree.tree_unflatten([next(remaining) if isinstance(x, torch.Tensor) else x for x in leaves], spec)


def _is_script(model: Any) -> bool:
    return isinstance(model, (torch.jit.ScriptModule, torch.jit.ScriptFunction))


def _script_arguments(model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that are given, by name, in the order of the schema."""
    is_module = isinstance(model, torch.jit.ScriptModule)
    schema = model.forward.schema if is_module else model.schema
    bound = bind(schema, args, kwargs, skip=1 if is_module else 0)
    return {name: value for name, value in bound if not isinstance(value, Default)}


def _script_part(value: Any, leaves: list[Any]) -> Callable[[Sequence[Any]], Any]:
    """Add what becomes an input of a scripted model to the leaves: tensors, numbers, and lists of these as a whole."""
    numbers = (bool, int, float)
    is_list = isinstance(value, (list, tuple)) and len(value) > 0
    whole = is_list and (
        all(isinstance(x, torch.Tensor) for x in value) or all(isinstance(x, numbers) for x in value)
    )  # a list of tensors, a list of numbers
    if isinstance(value, (torch.Tensor, *numbers)) or (whole and isinstance(value, list)):
        index = len(leaves)
        leaves.append(value)
        return lambda given: given[index]
    if isinstance(value, Mapping):
        parts = {key: _script_part(x, leaves) for key, x in value.items()}
        return lambda given: {key: part(given) for key, part in parts.items()}
    if isinstance(value, (list, tuple)):
        items = [_script_part(x, leaves) for x in value]
        return lambda given: type(value)(part(given) for part in items)
    return lambda given: value


def _copies(inputs: Sequence[Any]) -> list[Any]:
    """Copies of tensors; one that is given twice stays one."""
    copies = {id(x): x.detach().clone() for x in inputs if isinstance(x, torch.Tensor)}
    return [_copies(x) if isinstance(x, list) else copies.get(id(x), x) for x in inputs]
