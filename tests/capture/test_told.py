"""What only tells something may take what it likes out of sizes: no further run is made for it."""

from __future__ import annotations

import importlib
import logging
import warnings

import pytest
import torch

import onnxport
from onnxport.capture.watch.messages import only_tells
from onnxport.errors import OnnxExporterWarning

LOG = logging.getLogger(__name__)


def checked(x):
    torch._assert(x.dim() == 2, f"two axes are wanted, got {x.shape}")
    return x + 1


def logged(x):
    LOG.debug("rows: %d", int(x.shape[0]))
    return x + 1


def warned(x):
    if x.shape[1] == 1000:
        warnings.warn(
            f"{x.shape[0]} rows",
            stacklevel=2,
        )
    torch._assert(x.shape[1] == 3, f"three columns are wanted, got {x.shape[1]} of {x.shape[0]}")
    return x + 1


def counted(x):
    return x + len(f"{x.shape[0]}")


@pytest.mark.parametrize(("function", "traces"), [(checked, 1), (logged, 1), (warned, 1), (counted, 2)])
def test_traces(function, traces, monkeypatch):
    from onnxport.capture import trace

    calls = []
    record = trace._recorded
    monkeypatch.setattr(trace, "_recorded", lambda *args, **kwargs: calls.append(1) or record(*args, **kwargs))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = onnxport.export(function, (torch.randn(4, 3),), input_names=["x"], dynamic_axes={"x": {0: "n"}})
    assert len(calls) == 1 if traces == 1 else len(calls) >= traces
    x = torch.randn(7, 3)
    assert torch.equal(result(x), function(x))


LINES = [
    ("print(n)", True),
    ("print(n, int(n))  # text", True),
    ("log.info('%s', n)", True),
    ("self._logger.warning(f'{n}')", True),
    ("warnings.warn(f'{n}')", True),
    ("torch._assert(n == 3, f'{n}')", True),
    ("y = print(n)", False),
    ("print(update(n))", False),
    ("print(k := int(n))", False),
    ("print(n); k = int(n)", False),
    ("k = int(n); print(n)", False),
    ("if int(n) > 3: print(n)", False),
    ("self.info(n)", False),
    ("self.log.append(int(n))", False),
    ("self._assert(int(n))", False),
    ("raise Found(int(n))", False),
]


def test_lines(tmp_path):
    """What may have an effect, or shares its line with something that has, is looked at."""
    path = tmp_path / "lines.py"
    path.write_text("\n".join(line for line, _ in LINES) + "\n")
    assert [only_tells(f"{path}:{i + 1}") for i in range(len(LINES))] == [tells for _, tells in LINES]
    assert not only_tells(f"{tmp_path / 'none.py'}:1")


def test_statements_of_several_lines(tmp_path):
    path = tmp_path / "lines.py"
    path.write_text("print(\n    f'{n}',\n)\ny = n\n")
    assert [only_tells(f"{path}:{line}") for line in range(1, 5)] == [True, True, True, False]


def test_a_module_that_is_loaded_again(tmp_path, monkeypatch):
    """What is on a line is asked of the file as it is by then."""
    file = tmp_path / "loaded_again.py"
    monkeypatch.syspath_prepend(tmp_path)
    file.write_text("def model(x):\n    print(int(x.shape[0]))\n    return x\n")
    module = importlib.import_module("loaded_again")
    options = {"input_names": ["x"], "dynamic_axes": {"x": {0: "n"}}}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        onnxport.export(module.model, (torch.randn(4, 3),), **options)
    file.write_text("def model(x):\n    return x * 2 if int(x.shape[0]) % 3 == 1 else x * len(f'{x.shape[0]}')\n")
    importlib.invalidate_caches()
    module = importlib.reload(module)
    with pytest.warns(OnnxExporterWarning, match=r"loaded_again\.py:2"):
        onnxport.export(module.model, (torch.randn(4, 3),), **options)


def asserted(x):
    assert float(x.max()) < 100 and x.sum() < 100, f"{x.max()}"
    return x * 2


def raised(x):
    if x.max().item() > 100:
        text = f"{float(x.max())} is too much"
        raise ValueError(text)
    return x * 2


def checked_values(x):
    largest = x.max()
    torch._check_tensor_all(x < 100)
    torch._check(float(largest) < 100)
    print(float(largest))
    return x * 2


def named(x):
    assert (largest := x.max().item()) < 100  # noqa: RUF018
    return x * largest


def beside(x):
    assert x.max() < 100; largest = x.max().item()  # noqa: E702 # fmt: skip
    return x * largest


def caught(x):
    try:
        assert x.max() < 1
    except AssertionError:
        return x * 3
    return x * 2


def has_other_branch(x):
    if x.max() > 100:
        raise ValueError
    elif x.max() > 1:
        x = x + 1
    return x * 2


@pytest.mark.parametrize(
    ("function", "is_told"),
    [
        (asserted, False),
        (raised, False),
        (checked_values, False),
        (named, True),
        (beside, True),
        (caught, True),
        (has_other_branch, True),
    ],
)
def test_values_that_only_refuse(function, is_told):
    """What a line takes out of values is in no result if it does nothing but raise."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = onnxport.export(function, (torch.rand(4, 3),), input_names=["x"], dynamic_axes={"x": {0: "n"}})
    told = [str(w.message) for w in said if issubclass(w.category, OnnxExporterWarning)]
    assert bool(told) == is_told, told
    x = torch.rand(7, 3)
    if not is_told:
        assert torch.equal(result(x), function(x))
