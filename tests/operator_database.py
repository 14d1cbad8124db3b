"""PyTorch's own operator database as cases of the harness: an entry is an operator and an element type.

`tests/ops/operators_that_pass.txt` lists the entries that pass. `benchmarks/operators_list.py` writes it anew.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from onnxport.lower.builder import IMPURE
from tests.harness import Case, case, check, operators

LIST = Path(__file__).parent / "ops" / "operators_that_pass.txt"
# An opset that onnxruntime has kernels for throughout; where the form depends on the opset, the tables of cases look.
OPSET = 20
LEAST = 3700  # entries that the list has at least: it grows
DTYPES = ("float32", "int64", "bool", "float16", "float64", "int32", "uint8", "complex64")
_UNINITIALISED = re.compile(r"(new_)?empty(_like|_strided|_permuted)?$")


class NoReference(Exception):
    """The sample says nothing of an export: eager PyTorch raises, or gives other values each time."""


@functools.cache
def database() -> dict[str, Any]:
    """Operators by name and variant."""
    from torch.testing._internal.common_methods_invocations import op_db  # takes seconds: not before it is needed

    return {f"{op.name}.{op.variant_test_name}".rstrip("."): op for op in op_db}


def entries() -> list[str]:
    """All entries, `name|dtype`, of the types that the list is kept for."""
    return [
        f"{name}|{dtype}" for name, op in database().items() for dtype in DTYPES if getattr(torch, dtype) in op.dtypes
    ]


def passing() -> list[str]:
    """The entries of the list."""
    return [line for line in LIST.read_text().splitlines() if line and not line.startswith("#")]


def check_entry(entry: str) -> None:
    """Export the entry's first sample, run it and compare it with eager PyTorch."""
    made = _case(entry)
    _require_reference(made)
    if IMPURE & set(operators(check(made, opset=OPSET))):
        raise NoReference("random, and equal by chance")


def _case(entry: str) -> Case:
    name, _, dtype = entry.partition("|")
    op = database()[name]
    _seed()
    # What `op.sample_inputs` calls, without its own seed and tracking.
    sample = next(iter(op.sample_inputs_func(op, "cpu", getattr(torch, dtype), False)), None)
    if sample is None:
        raise NoReference("no sample")
    function, tensors = _of_tensors(op, (sample.input, tuple(sample.args), dict(sample.kwargs)))
    return case(entry, function, *tensors)


def _of_tensors(op: Callable[..., Any], arguments: Any) -> tuple[Callable[..., Any], list[torch.Tensor]]:
    """A function of the tensors among the arguments, the rest of which is fixed; and these tensors."""
    leaves, tree = pytree.tree_flatten(arguments)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def function(*tensors: torch.Tensor) -> Any:
        given = dict(zip(places, tensors))
        first, args, kwargs = pytree.tree_unflatten([given.get(i, leaf) for i, leaf in enumerate(leaves)], tree)
        results = [t for t in pytree.tree_leaves(op(first, *args, **kwargs)) if isinstance(t, torch.Tensor)]
        return results[0] if len(results) == 1 else tuple(results)

    return function, [leaves[i].detach().resolve_conj().clone() for i in places]


def _require_reference(made: Case) -> None:
    if _UNINITIALISED.match(made.name.partition("|")[0]):
        raise NoReference("memory as it is found")
    if any(x.layout != torch.strided for x in made.inputs):
        raise NoReference("sparse")
    _seed()
    before = torch.get_rng_state()
    try:
        results = made.function(*[x.clone() for x in made.inputs])
    except Exception as error:
        raise NoReference(str(error)) from error
    if not torch.equal(before, torch.get_rng_state()):
        raise NoReference("random")
    results = (results,) if isinstance(results, torch.Tensor) else results
    if not results or any(t.layout != torch.strided for t in results):
        raise NoReference("no dense result")


def _seed() -> None:
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
