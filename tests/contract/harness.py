"""What the tests of the contract share: a model, operators of a library, exports in memory, and what is looked up in the file."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import torch

import onnxport

OPSETS = (9, 11, 13, 14, 16, 17, 20, 28)
X = torch.randn(2, 3)

LIBRARY = torch.library.Library("contract_ops", "DEF")
LIBRARY.define("foo_forward(Tensor a, Tensor b, float attr1, int attr2) -> Tensor")
LIBRARY.define("everything(Tensor a, int[] s, bool flag, str mode, float[] f, Tensor? w=None, int? n=None) -> Tensor")
LIBRARY.define("two(Tensor a) -> (Tensor, Tensor)")
LIBRARY.define("scale_(Tensor(a!) self, float by) -> Tensor(a!)")
LIBRARY.define("pick(Tensor a, Tensor i) -> Tensor")
LIBRARY.impl("foo_forward", lambda a, b, x, y: a + b * x + y, "CPU")
LIBRARY.impl("everything", lambda a, s, flag, mode, f, w=None, n=None: a * 2, "CPU")
LIBRARY.impl("two", lambda a: (a + 1, a.sum(1)), "CPU")
LIBRARY.impl("scale_", lambda a, by: a.mul_(by), "CPU")
LIBRARY.impl("pick", lambda a, i: a[i], "CPU")
OPS = torch.ops.contract_ops


class Net(torch.nn.Module):
    """Parameters that are used, and some that aren't."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.fc = torch.nn.Linear(3, 4)
        self.unused = torch.nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(x).relu() + 1


def exported(model, args, **options) -> onnx.ModelProto:
    f = io.BytesIO()
    onnxport.export(model, args, f, **options)
    proto = onnx.load_from_string(f.getvalue())
    onnx.checker.check_model(proto, full_check=True)
    return proto


def run(proto: onnx.ModelProto, *arrays) -> list[np.ndarray]:
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {i.name: np.asarray(a) for i, a in zip(session.get_inputs(), arrays)})


def inputs(proto: onnx.ModelProto) -> list[str]:
    return [i.name for i in proto.graph.input]


def shape(value: onnx.ValueInfoProto) -> list[int | str]:
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


def operators(proto):
    return [n.op_type for n in proto.graph.node]


class Call(torch.nn.Module):
    def __init__(self, function) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def seen(register, name: str, call: Any, *args: Any, **options: Any) -> tuple[Any, ...]:
    """The values that a symbolic function for this operator is given."""
    found = []

    def symbolic(g, *values):
        found.append((g, *values))
        return g.op("Identity", values[0])

    register(name, symbolic)
    exported(Call(call), args, **options)
    return found[0]
