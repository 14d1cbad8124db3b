"""Parameters and buffers of a model, by name."""

from __future__ import annotations

import torch


def named_weights(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Parameters and buffers in `state_dict` order, then buffers outside of it; a tied one once."""
    seen: set[int] = set()
    named: dict[str, torch.Tensor] = {}
    own = {id(t) for t in model.parameters()} | {id(t) for t in model.buffers()}
    everything = [*model.state_dict(keep_vars=True).items(), *model.named_parameters(), *model.named_buffers()]
    for name, tensor in everything:
        if isinstance(tensor, torch.Tensor) and id(tensor) in own and id(tensor) not in seen:
            seen.add(id(tensor))
            named[name] = tensor
    return named
