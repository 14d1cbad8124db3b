"""What models call in unusual ways: asynchronously, on objects of Python classes, out of the script."""

# ruff: noqa: UP006, UP035  programs are as users write them, for TorchScript
from typing import List

import pytest
import torch
from tests.harness import LATEST, case, cases, check, f32
from tests.script.harness import check_script

import onnxport
from onnxport.errors import UnsupportedOperatorError


def _both(x):
    return torch.neg(x), x + 1


def _forked(x):
    first = torch.jit.fork(_both, x)
    second = torch.jit.fork(torch.relu, x)
    return torch.jit.wait(first)[1] * torch.jit.wait(second)


FORKED = [
    case("two", _forked, f32(3, 4), dynamic={0: "n"}),
    case("one_result_of_two", lambda x: torch.jit.wait(torch.jit.fork(_both, x))[1], f32(3)),
]


@cases(FORKED, opsets=(7, LATEST))
def test_what_a_traced_model_forks_is_in_line(case, frontend, opset):
    check(case, frontend, opset)


class Coder:
    """A plain class: a script that uses it compiles it."""

    def __init__(self, limit: float, weights: List[float]) -> None:
        self.limit = limit
        self.weights = weights

    def decode(self, codes: torch.Tensor, boxes: List[torch.Tensor]) -> torch.Tensor:
        return torch.clamp(codes[:, 0::4], max=self.limit) * torch.cat(boxes)[:, 2:3] / self.weights[1]


class Decoder(torch.nn.Module):
    coder: Coder

    def __init__(self) -> None:
        super().__init__()
        self.coder = Coder(0.4, [10.0, 5.0])

    def forward(self, codes: torch.Tensor, boxes: List[torch.Tensor]) -> torch.Tensor:
        return self.coder.decode(codes, boxes)


@pytest.mark.parametrize("opset", [11, 20])
def test_an_attribute_of_a_plain_class(opset):
    model = torch.jit.script(Decoder())
    pair = (torch.randn(4, 8), [torch.randn(2, 4), torch.randn(2, 4)])
    three = (torch.randn(5, 8), [torch.randn(2, 4), torch.randn(1, 4), torch.randn(2, 4)])
    check_script(model, pair, three, dynamic={0: {0: "n"}, 1: {0: "m"}}, opset=opset)


class Ignored(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()

    @torch.jit.ignore
    def outside(self, x: torch.Tensor) -> torch.Tensor:
        return torch.neg(x)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.outside(x) + x


def test_python_code_that_a_script_calls_is_refused():
    with pytest.raises(UnsupportedOperatorError) as error:
        onnxport.export(torch.jit.script(Ignored()), torch.ones(2))
    assert "outside (Python code, which a script with @torch.jit.ignore calls)" in str(error.value)
    assert "test_calls.py" in str(error.value)
    assert "Register" not in str(error.value)  # there is no operator to register for
