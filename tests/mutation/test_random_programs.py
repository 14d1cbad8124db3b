"""Random programs run the same in eager PyTorch and in onnxruntime, traced and scripted.

`MUTATION_PROGRAMS=2000 pytest tests/mutation` tries more of them.
"""

import importlib.util
import itertools
import os
import random

import pytest
import torch
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from tests.mutation.programs import draw
from tests.script.harness import check_script

from onnxport.errors import LoweringError

COUNT = int(os.environ.get("MUTATION_PROGRAMS", "25"))
_NUMBERS = itertools.count()


class Traced(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x, y):
        return self.function(x, y)


def load(source, folder):
    """The function `f` of a source; TorchScript wants it in a file."""
    path = folder / f"program_{next(_NUMBERS)}.py"
    path.write_text("import torch\n\n\n" + source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("programs")


@pytest.mark.parametrize("frontend", ["trace", "script"])
@settings(max_examples=COUNT, deadline=None, suppress_health_check=list(HealthCheck), derandomize=COUNT <= 25)
@given(seed=st.integers(0, 1 << 32), statements=st.integers(3, 10))
def test_random_program(frontend, folder, seed, statements):
    choose = random.Random(seed).randrange
    source = draw(choose, statements=statements, control=frontend == "script")
    function = load(source, folder)
    generator = torch.Generator().manual_seed(seed % 1000)
    arguments = [(torch.randn(3, 4, generator=generator), torch.randn(3, 4, generator=generator)) for _ in range(3)]
    try:
        check_script(function if frontend == "script" else Traced(function), *arguments)
    except LoweringError as error:  # what a list has held can't be told from other names everywhere
        if "][int(" not in source or "clone()" not in str(error):
            raise
        reject()


REGRESSIONS = {
    # what may be an element of a list, which may be a view: written in one branch, in a loop of the other
    "chain_of_links": """
def f(x, y):
    b = y * 2
    v1 = b.reshape(4, 3)
    v6 = [v1, v1][int((x > 0).sum()) % 2]
    for i1 in range(int((y > 0).sum()) % 3):
        v6 = v6 * 0.5
    if bool(x.sum() > 0):
        b[0] = 3.5
    else:
        for i2 in range(int((v1 > 0).sum()) % 3):
            b[b < -1] = 0.5
    return b, v1, v6
""",
    # a view that is the old one on one path, after two ways to it were joined
    "two_links": """
def f(x, y):
    v1 = x.narrow(1, 3, 1)
    if bool(v1.sum() > 1):
        y.zero_()
    else:
        if bool(y.sum() > 0):
            v2 = y[:, ::2]
        else:
            v1 = v1 * 0.5
    v1.sub_(1.5)
    if bool(x.sum() > 0):
        x.sub_(0.5)
    else:
        v1 = v1 * 0.5
    return v1, x
""",
    # a view or a copy of a tensor: one branch writes to it, the other to the tensor
    "written_in_either_branch": """
def f(x, y):
    v = x.select(1, 3)
    for i in range(int((y > 0).sum()) % 3):
        v = v * 0.5
    if bool(x.sum() > 0):
        x[1:] *= 2
    else:
        v[1:] *= 2
    return v, x
""",
    # a name that is rebound on some iterations only, then written
    "rebound_in_loop": """
def f(x, y):
    a = x.clone()
    b = a.t()
    for i in range(int((y > 0).sum()) % 4):
        if bool(a.sum() > 1):
            a = a * 0.5
    a.fill_(3)
    return a, b
""",
}


@pytest.mark.parametrize("name", REGRESSIONS)
def test_regression(name, folder):
    function = load(REGRESSIONS[name], folder)
    generator = torch.Generator().manual_seed(0)
    arguments = [(torch.randn(3, 4, generator=generator), torch.randn(3, 4, generator=generator)) for _ in range(20)]
    check_script(function, *arguments)
