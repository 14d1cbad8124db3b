"""The scripted programs of `examples/scripted`, each at several sizes."""

import importlib.util
from pathlib import Path

import pytest
import torch
from tests.script.harness import check_script

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "scripted").glob("*.py"))


@pytest.mark.parametrize("opset", [13, 20])
@pytest.mark.parametrize("path", EXAMPLES, ids=[p.stem for p in EXAMPLES])
def test_example(path, opset):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    torch.manual_seed(0)
    arguments = example.arguments()
    assert len(arguments) >= 3
    check_script(example.program(), *arguments, dynamic=example.DYNAMIC, opset=opset)


def test_there_are_ten():
    assert len(EXAMPLES) >= 10
