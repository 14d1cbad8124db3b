"""`docs/contract.md` lists every contract test, and nothing that isn't there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import onnxport

HERE = Path(__file__).parent
TEXT = (HERE.parents[1] / "docs" / "contract.md").read_text()


def written() -> set[str]:
    found = set()
    for path in HERE.glob("test_*.py"):
        if path.name != Path(__file__).name:
            body = ast.parse(path.read_text()).body
            found |= {
                f"{path.name}::{n.name}" for n in body if isinstance(n, ast.FunctionDef) and n.name[:5] == "test_"
            }
    return found


def test_all_contract_tests_are_listed():
    listed = set(re.findall(r"^- `(\S+::\S+)`$", TEXT, re.M))
    assert written() - listed == set()
    assert listed - written() == set()


@pytest.mark.parametrize("place", sorted(set(re.findall(r"`([\w/]+(?:\.py|/))`", TEXT)) - {"tests/contract/"}))
def test_the_code_that_is_named_is_there(place):
    root = Path(onnxport.__file__).parent
    assert place.startswith(("src/", "tests/")) or (root / place).exists()
