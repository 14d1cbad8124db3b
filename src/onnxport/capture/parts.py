"""Parts of a traced model that the tracer takes as a whole: scripted modules, packed weights of quantized ones."""

from __future__ import annotations

import enum
from typing import Any

import torch

from .weights import OWN, Modules


class Object:
    """A module, or an object of a TorchScript class, that is known when the graph is read."""

    def __init__(self, path: str, content: Any) -> None:
        self.path = path
        self.content = content


def has_attributes(value: Any) -> bool:
    """Whether a value is an object of a scripted class; objects of C++ classes show nothing of themselves.

    An object comes back as one of Python where its class was compiled from Python.
    """
    if isinstance(value, enum.Enum):
        return False  # its class is compiled too, but members are constants
    if not isinstance(value, torch.ScriptObject):
        return torch.jit._state._get_script_class(type(value)) is not None  # type: ignore[no-untyped-call]
    kind: Any = value._type()
    return not kind.qualified_name().startswith("__torch__.torch.classes.")


class Parts:
    """Scripted modules and objects of TorchScript classes inside a model.

    The tracer records a call of one as a method call on an attribute of the module being traced; `module` is one that
    has them all as attributes, None if there are none.
    """

    def __init__(self, modules: Modules) -> None:
        self.module: Any = None
        self._operands: dict[str, Any] = {}
        objects: dict[int, Any] = {}
        scripted: dict[str, Any] = {}
        for path, module in modules:
            if isinstance(module, torch.jit.ScriptModule):
                if not any(path.startswith(f"{outer}.") for outer in scripted):
                    scripted[path] = module
            else:
                for name, value in vars(module).items():
                    if name not in OWN and isinstance(value, torch.ScriptObject):
                        objects[id(value)] = value
        if not objects and not scripted:
            return
        unit: Any = torch._C.CompilationUnit()  # of its own: classes of one unit are shared by name
        self.module = torch._C.ScriptModule("__torch__.Parts", unit, True)  # type: ignore[call-arg]
        for i, value in enumerate(objects.values()):
            self.module._register_attribute(f"object_{i}", value._type(), value)
            self._operands[f"object_{i}"] = value
        for i, (path, module) in enumerate(scripted.items()):
            self.module._register_attribute(f"module_{i}", module._c._type(), module._c)
            self._operands[f"module_{i}"] = Object(path, module._c)

    def __getitem__(self, name: str) -> Any:
        return self._operands[name]
