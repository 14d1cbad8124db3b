"""Modules, parameters and buffers of a model, by name.

To walk through a model of many modules takes as long as to run some of them, so that lists of its modules are handed on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import torch

Modules: TypeAlias = Sequence[tuple[str, torch.nn.Module]]


def named_modules(model: Any) -> Modules:
    """The modules of a model, itself among them; none of a function."""
    return list(model.named_modules()) if isinstance(model, torch.nn.Module) else []


# What every module has in its `__dict__`, hooks among it.
OWN = frozenset(torch.nn.Module().__dict__)


def named_weights(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Parameters and buffers in `state_dict` order, then buffers outside of it; a tied one once."""
    return weights_and_state(model)[0]


def weights_and_state(model: torch.nn.Module) -> tuple[dict[str, torch.Tensor], set[str]]:
    """These, and the names of all that is in the `state_dict`."""
    seen: set[int] = set()
    named: dict[str, torch.Tensor] = {}
    own = [*model.named_parameters(), *model.named_buffers()]
    known, state = {id(tensor) for _, tensor in own}, model.state_dict(keep_vars=True)
    for name, tensor in [*state.items(), *own]:
        if isinstance(tensor, torch.Tensor) and id(tensor) in known and id(tensor) not in seen:
            seen.add(id(tensor))
            named[name] = tensor
    return named, set(state)
