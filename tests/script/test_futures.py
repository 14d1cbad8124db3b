"""Forks whose futures go through lists, dicts and branches before they are waited for."""

# ruff: noqa: UP006, UP035  programs are as users write them, for TorchScript
from typing import Dict, List

import torch
from tests.script.harness import check_script
from torch import Tensor, nn

import onnxport

N = {0: {0: "n"}}
ARGUMENTS = ((torch.randn(5, 3),), (torch.randn(2, 3),))


def in_a_list(x):
    futures: List[torch.jit.Future[Tensor]] = []
    for i in range(x.shape[0]):
        futures.append(torch.jit.fork(torch.mul, x, i))
    total = torch.zeros_like(x)
    for future in futures:
        total = total + torch.jit.wait(future)
    return total, torch.stack([torch.jit.wait(future) for future in futures[:2]])


def by_an_if(x, flag: bool):
    future = torch.jit.fork(torch.sin, x)
    if flag:
        future = torch.jit.fork(torch.cos, x)
    return torch.jit.wait(future)


def both(x):
    return x + 1, x * 2


def of_tuples(x):
    futures = [torch.jit.fork(both, x), torch.jit.fork(both, x * 3)]
    pairs = [torch.jit.wait(future) for future in futures]
    table: Dict[str, torch.jit.Future[Tensor]] = {"sine": torch.jit.fork(torch.sin, x)}
    return pairs[0][0] + pairs[1][1], table["sine"].wait()


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])

    def forward(self, x):
        futures: List[torch.jit.Future[Tensor]] = []
        for layer in self.layers:
            futures.append(torch.jit.fork(layer, x))
        parts: List[Tensor] = []
        for future in futures:
            parts.append(torch.jit.wait(future))
        return torch.cat(parts)


def test_futures():
    check_script(in_a_list, *ARGUMENTS, dynamic=N, opset=13)
    check_script(by_an_if, *((*x, flag) for x in ARGUMENTS for flag in (True, False)), dynamic=N)
    check_script(of_tuples, *ARGUMENTS, dynamic=N)
    check_script(torch.jit.script(Layers().eval()), *ARGUMENTS, dynamic=N)


def test_scripts_called_by_a_trace():
    script = torch.jit.script(in_a_list)
    result = onnxport.export(
        lambda x: script(x)[0] * 2, ARGUMENTS[0], input_names=["x"], dynamic_axes={"x": [0]}, opset_version=13
    )
    for (x,) in ARGUMENTS:
        torch.testing.assert_close(result(x), in_a_list(x)[0] * 2)
