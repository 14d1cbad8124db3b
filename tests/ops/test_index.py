"""The index of operators says which module lowers what; nothing else is imported for a model."""

import subprocess
import sys
from pathlib import Path

from onnxport import ops
from onnxport.ops.__main__ import index

EXPORT = """
import io, sys, torch, onnxport
onnxport.export(torch.nn.Linear(3, 4), torch.randn(2, 3), io.BytesIO(), dynamic_axes={"input": {0: "n"}})
print(*[name.rpartition(".")[2] for name in sys.modules if name.startswith("onnxport.ops.")])
"""


def test_the_index_is_that_of_the_modules():
    found = Path(ops.__path__[0], "index.json").read_text("utf-8")
    assert found == index(), "write it anew: python -m onnxport.ops"


def test_a_model_imports_the_modules_of_its_operators():
    done = subprocess.run([sys.executable, "-c", EXPORT], check=True, capture_output=True, text=True)
    imported = set(done.stdout.split())
    assert "matmul" in imported
    assert not imported & {"linalg", "rnn", "fft", "vision", "quantized", "bessel"}
