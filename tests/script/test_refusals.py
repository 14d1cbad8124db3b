"""What can't be exported right is refused with a reason; what is dropped is said once."""

import warnings

import pytest
import torch
from tests.script.harness import check_script

import onnxport
from onnxport.errors import LoweringError, OnnxExporterWarning, OpsetError


def two_ranks(x):
    y = x
    if x.sum() > 0:
        y = x.unsqueeze(0)
    return y.transpose(0, 1)


def two_types(x):
    y = x
    if x.sum() > 0:
        y = x.to(torch.int64)
    return y + 1


def expanded(x):
    y = x[:, :1].expand(3, 4)
    y.add_(1)
    return x


def always(x):
    if x.shape[0] == 3:
        raise ValueError("not three")
    return x


def list_then_write(x):
    outs: list[torch.Tensor] = []
    h = x[0].clone()
    for i in range(int(x.sum())):
        h += x[0] * i
        outs.append(h)
    return torch.stack(outs)


def runtime_string(x):
    name = f"{int(x.sum())}"
    if name == "3":
        return x
    return x + 1


def list_of_bfloat16(x):
    outs: list[torch.Tensor] = []
    for i in range(int(x.sum())):
        outs.append(x[:i].to(torch.bfloat16))
    return outs


REFUSED = {
    "list_of_bfloat16": (list_of_bfloat16, "list of bfloat16 tensors .* convert them with"),
    "ranks": (two_ranks, "number of dimensions"),
    "dtypes": (two_types, "float32 on one path and torch.int64|int64 on one path and torch.float32"),
    "overlap": (expanded, "clone"),
    "raises": (always, "not three"),
    "appended_and_written": (list_then_write, r"append a clone\(\) of it"),
    "string": (runtime_string, "string"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    function, reason = REFUSED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(LoweringError, match=reason):
            onnxport.export(torch.jit.script(function), (torch.ones(3, 4),), None)


def prints(x):
    print(x)
    assert x.sum() > 0, "positive"
    return x + 1


def test_prints_and_checks_are_dropped_with_a_warning():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = onnxport.export(torch.jit.script(prints), (torch.ones(3, 4),), None)
    messages = [str(w.message) for w in caught if issubclass(w.category, OnnxExporterWarning)]
    assert len(messages) == 2
    assert "print" in messages[0] and "test_refusals.py" in messages[0]
    assert "check" in messages[1] and "test_refusals.py" in messages[1]
    assert [n.op_type for n in result.model_proto.graph.node] == ["Add"]


class Writes(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))
        self.seen = 0

    def forward(self, x):
        self.count += 1
        self.count = self.count * 2
        self.seen += 1
        x.mul_(2)
        return x + self.count * self.seen


def test_writes_stay_inside():
    model = torch.jit.script(Writes())
    example = torch.ones(3)
    with pytest.warns(OnnxExporterWarning, match="count") as caught:
        onnxport.export(model, (example,), None)
    assert len([w for w in caught if issubclass(w.category, OnnxExporterWarning)]) == 1
    assert model.count.item() == 0
    assert model.seen == 0
    assert example.tolist() == [1, 1, 1]


def two_sizes(x, y, first: bool):
    if first:
        z = x
    else:
        z = y
    return z


def test_branches_of_different_sizes_need_their_opset():
    arguments = (torch.ones(2, 3), torch.ones(3, 3), True)
    with pytest.raises(OpsetError, match=r"prim::If at .*test_refusals.py:\d+.* needs opset 11"):
        onnxport.export(torch.jit.script(two_sizes), arguments, None, opset_version=9)
    check_script(two_sizes, arguments, (*arguments[:2], False), opset=11)
    same_sizes = (arguments[0], torch.ones(2, 3), True)
    check_script(two_sizes, same_sizes, (*same_sizes[:2], False), opset=9)


class Unique(torch.nn.Module):
    def forward(self, x):
        return torch.unique(x, dim=0)


def test_places_are_modules_not_the_functions_they_call():
    script = torch.jit.script(torch.nn.Sequential(Unique()))
    with pytest.raises(OpsetError, match=r"^aten::unique_dim at 0 \("):
        onnxport.export(script, (torch.ones(3),), None, opset_version=9)


class Overwriting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.length = 0
        self.total = torch.zeros(3)

    def forward(self, x):
        self.length = x.shape[0]
        self.total = self.total + x
        return x * self.length + self.total


def test_only_state_that_runs_share_is_warned_of():
    with pytest.warns(OnnxExporterWarning, match="the model writes to total; "):
        onnxport.export(torch.jit.script(Overwriting()), (torch.ones(3),), None)


def returns_two_types(x):
    if x.sum() > 0:
        y = x.to(torch.int64)
    else:
        y = x
    return y


def test_results_that_nothing_uses_have_a_place():
    with pytest.raises(LoweringError, match=r"^a result: prim::If at .*test_refusals.py:\d+(.|\n)*on one path"):
        onnxport.export(torch.jit.script(returns_two_types), (torch.ones(3),), None)
