"""Writes `index.json`: which module lowers which operators."""

import subprocess
import sys
from pathlib import Path

# In a process of its own, in which no module is imported: each is imported as if it were the first.
_LIST = """
import collections, importlib, json, pkgutil, sys
from onnxport import ops
from onnxport.lower import registry

register, rare = registry._register, set()
modules = {name: collections.defaultdict(list) for name in registry._TABLES}


def importing():
    frame = sys._getframe(2)
    while frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return frame.f_globals["__name__"]


def noted(table, names):
    tables = [name for name, known in registry._TABLES.items() if known is table]
    if tables:
        modules[tables[0]][importing()] += names
    else:
        rare.add(importing())
    return register(table, names)


registry._register = noted
for module in pkgutil.iter_modules(ops.__path__):
    if module.name != "__main__":
        importlib.import_module(f"{ops.__name__}.{module.name}")
importlib.import_module("onnxport.lower.control_flow")
found = {
    table: {module: sorted(ops) for module, ops in sorted(by_module.items())} for table, by_module in modules.items()
}
print(json.dumps({"modules": found, "rare": sorted(rare)}, indent=0))
"""


def index() -> str:
    """The index of the modules as they are."""
    return subprocess.run([sys.executable, "-c", _LIST], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    Path(__file__).with_name("index.json").write_text(index(), "utf-8")
