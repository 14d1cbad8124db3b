"""Finds the model that a command is about."""

from __future__ import annotations

import importlib
import os
import warnings
from typing import Any

from .inputs import BadUsage


def load(target: str, *, unsafe: bool, seed: int) -> Any:
    """The model that `package.module:name` or a file stands for.

    A file must be a TorchScript archive, which torch reads without Python's pickle. Anything else is loaded only if
    `unsafe`: a module saved by `torch.save`, and an ExportedProgram (`.pt2`), whose tensors torch may unpickle.
    Weights that Python code draws at random are the same in each command with this seed.
    """
    if os.path.exists(target):
        return _from_file(target, unsafe=unsafe)
    module, colon, name = target.partition(":")
    if not colon or not name or os.sep in module:
        raise BadUsage(f"TARGET {target!r} is no file, and not package.module:name either")
    return _from_module(module, name, seed)


def _from_module(module_name: str, name: str, seed: int) -> Any:
    import torch

    torch.manual_seed(seed)
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and (module_name + ".").startswith(error.name + "."):
            raise BadUsage(
                f"there is no module {error.name!r}; it must be installed or in the current folder"
            ) from error
        raise
    for part in name.split("."):
        if not hasattr(found, part):
            raise BadUsage(f"{module_name} has no {name!r}")
        found = getattr(found, part)
    if not _is_model(found) and callable(found):
        found = found()
    if not _is_model(found):
        raise BadUsage(f"{module_name}:{name} gives a {type(found).__name__}, not a torch.nn.Module")
    if isinstance(found, torch.nn.Module):
        found.eval()
    return found


def _is_model(value: Any) -> bool:
    import torch

    kinds = (torch.nn.Module, torch.jit.ScriptFunction, torch.export.ExportedProgram)
    return isinstance(value, kinds)


def _from_file(path: str, *, unsafe: bool) -> Any:
    import torch

    if path.endswith(".pt2"):
        if not unsafe:
            raise BadUsage(f"{path}: torch may run code that is hidden in a .pt2 file; --unsafe if you trust it")
        return torch.export.load(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # "torch.jit.load is deprecated"; the file is what it is
            return torch.jit.load(path, map_location="cpu").eval()  # type: ignore[no-untyped-call]
    except RuntimeError as error:
        if not unsafe:
            raise BadUsage(
                f"{path} is not a TorchScript archive. If it is a model saved by torch.save and you trust where it "
                "comes from, --unsafe unpickles it (this runs the code in it)"
            ) from error
    found = torch.load(path, map_location="cpu", weights_only=False)
    if not isinstance(found, torch.nn.Module):
        raise BadUsage(f"{path} holds a {type(found).__name__}, not a whole torch.nn.Module")
    return found.eval()
