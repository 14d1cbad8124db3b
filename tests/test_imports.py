"""Imports run one way: errors, dtypes, dims <- program <- capture; program <- lower <- ops, compat; passes and write alone."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import onnxport

ROOT = Path(onnxport.__file__).parent
PACKAGE = "onnxport"
FILES = sorted(p.relative_to(ROOT) for p in ROOT.rglob("*.py"))

# What each part may import of the package, itself aside. A part that isn't here (the top) may import all.
BASE = {"errors", "dtypes", "dims"}
ALLOWED = {
    "_lean": set(),
    "_collector": set(),
    "errors": set(),
    "dtypes": set(),
    "dims": set(),
    "program": BASE,
    "options": {"errors"},
    "axes": {*BASE, "options", "program"},
    "capture": {*BASE, "axes", "options", "program"},
    "lower": {*BASE, "axes", "options", "program"},
    "ops": {*BASE, "lower", "program"},
    "compat": {*BASE, "options", "program", "capture.types", "lower", "ops", "session"},
    "passes": {"dims"},
    "write": set(),
    "printer": set(),
    "session": {"options"},
    "functions": {"errors", "passes"},
    "verify": {*BASE, "options", "program", "capture", "lower", "session", "write"},
}
# Packages that whole parts must not know.
UNKNOWN = {"program": {"onnx", "onnx_ir"}, "capture": {"onnx", "onnx_ir"}, "ops": {"onnx", "onnx_ir"}}
# What the parts of the capture must not know of it: those below them, and the front ends.
BELOW = {
    "tracing": {"watch", "liveness", "trace", "torchscript", "exported_program"},
    "watch": {"liveness", "trace", "torchscript", "exported_program"},
    "liveness": {"torchscript", "exported_program"},
}
EVERYWHERE = ("torch.onnx", "onnxscript")
PRIVATE = ("torch._C", "torch.jit._", "torch._jit")


def part_of(path: Path) -> str:
    return path.parts[0] if len(path.parts) > 1 else path.stem


def imports(source: str, path: Path) -> Iterator[str]:
    """Full names of the modules that a file imports, at any depth; those for type checkers aside."""
    package = [PACKAGE, *path.parts[:-1]]
    for node in _runtime(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{stem}.{alias.name}" for alias in node.names)


def _runtime(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from _runtime(child)


def attributes(source: str) -> Iterator[str]:
    """Dotted names that a file uses."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            yield ast.unparse(node)


def violations(source: str, path: Path) -> list[str]:
    part, found = part_of(path), []
    for name in imports(source, path):
        if name.startswith(f"{PACKAGE}."):
            inner = name.removeprefix(f"{PACKAGE}.")
            target = inner.partition(".")[0]
            allowed = ALLOWED.get(part)
            if allowed is not None and target != part and not any(f"{inner}.".startswith(f"{a}.") for a in allowed):
                found.append(f"{path} imports {name}")
            if part == target == "capture" and inner.split(".")[1] in BELOW.get(path.parts[1], ()):
                found.append(f"{path} imports {name}")
        elif name.partition(".")[0] in UNKNOWN.get(part, ()):
            found.append(f"{path} imports {name}")
        if name.startswith(EVERYWHERE) or (name.startswith(PRIVATE) and part != "capture"):
            found.append(f"{path} imports {name}")
    for name in attributes(source):
        if name.startswith(EVERYWHERE) or (name.startswith(PRIVATE) and part != "capture"):
            found.append(f"{path} uses {name}")
    return found


@pytest.mark.parametrize("path", FILES, ids=str)
def test_imports_run_one_way(path):
    assert violations((ROOT / path).read_text(), path) == []


@pytest.mark.parametrize(
    "path, source",
    [
        ("program/ir.py", "import onnx"),
        ("program/ir.py", "from ..lower import values"),
        ("lower/x.py", "from ..ops import conv"),
        ("passes/x.py", "from ..lower import values"),
        ("write/x.py", "def f():\n    from onnxport.lower import values"),
        ("lower/x.py", "import torch.onnx"),
        ("ops/x.py", "torch._C._get_tracing_state()"),
        ("_export.py", "torch.onnx.export"),
        ("_export.py", "from onnxscript import opset11"),
        ("compat/x.py", "from ..capture.trace import trace"),
        ("capture/watch/x.py", "from ..liveness import report"),
        ("capture/tracing/x.py", "from ..watch.kept import Kept"),
    ],
)
def test_the_test_of_imports_finds_what_is_wrong(path, source):
    assert violations(source, Path(path))


@pytest.mark.parametrize(
    "path, source",
    [
        ("capture/x.py", "import torch\ntorch._C.f()"),
        ("ops/x.py", "from ..lower.builder import Builder"),
        ("lower/x.py", "if TYPE_CHECKING:\n    from ..ops import conv"),
        ("compat/x.py", "from ..capture import types"),
        ("capture/liveness/x.py", "from ..watch.kept import Kept"),
    ],
)
def test_the_test_of_imports_allows_what_is_right(path, source):
    assert not violations(source, Path(path))


def test_importing_the_package_is_light():
    script = """
import sys, onnxport
assert "torch" not in sys.modules and "onnx" not in sys.modules
onnxport.export
assert "torch.onnx" not in sys.modules and "onnxscript" not in sys.modules and "onnxruntime" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)
