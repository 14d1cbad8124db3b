"""Finds the model that a command is about."""

from __future__ import annotations

import difflib
import importlib
import inspect
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
    if module.endswith(".py"):
        raise BadUsage(f"TARGET {target!r} is a file; give {_dotted(module)}:{name or 'NAME'}, as Python imports it")
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
            meant = difflib.get_close_matches(part, vars(found) if hasattr(found, "__dict__") else (), 1)
            raise BadUsage(f"{module_name} has no {name!r}" + (f"; did you mean {meant[0]!r}?" if meant else ""))
        found = getattr(found, part)
    if not _is_model(found) and callable(found):
        if _needs_arguments(found):
            raise BadUsage(
                f"{module_name}:{name} takes arguments; it must make the model without any: write a function that calls it"
            )
        found = found()
    if not _is_model(found):
        raise BadUsage(f"{module_name}:{name} is not a torch.nn.Module, nor makes one: {type(found).__name__}")
    if isinstance(found, torch.nn.Module):
        found.eval()
    return found


def _dotted(path: str) -> str:
    return os.path.normpath(path).removesuffix(".py").replace(os.sep, ".").lstrip(".")


def _needs_arguments(make: Any) -> bool:
    try:
        inspect.signature(make).bind()
    except TypeError:
        return True
    except ValueError:  # it has no signature that Python knows
        return False
    return False


def _is_model(value: Any) -> bool:
    import torch

    kinds = (torch.nn.Module, torch.jit.ScriptFunction, torch.export.ExportedProgram)
    return isinstance(value, kinds)


def _from_file(path: str, *, unsafe: bool) -> Any:
    import torch

    if path.endswith(".py"):
        raise BadUsage(f"TARGET {path!r} is a file of Python; give {_dotted(path)}:NAME, as Python imports it")
    if path.endswith(".onnx"):
        raise BadUsage(f"TARGET {path!r} is an ONNX model already; give the model in PyTorch")
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
        hint = "; write a function that makes the module and calls load_state_dict" if isinstance(found, dict) else ""
        raise BadUsage(f"{path} holds no whole torch.nn.Module, but {type(found).__name__}{hint}")
    return found.eval()
