"""Every case of the operators' tables that says which opset it needs: one below is refused, and the error says so."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from onnxport.errors import OpsetError

from ..harness import Case, check


def _limited() -> list[tuple[str, Case]]:
    found = {}
    for path in sorted(Path(__file__).parents[1].joinpath("ops").glob("test_*.py")):
        module = importlib.import_module(f"tests.ops.{path.stem}")
        for table in vars(module).values():
            for case in table if isinstance(table, list) else ():
                if isinstance(case, Case) and case.opset > 7:
                    found[f"{path.stem}-{case.name}"] = case
    return list(found.items())


LIMITED = _limited()


def test_there_are_some():
    assert LIMITED


@pytest.mark.parametrize(("name", "case"), LIMITED, ids=[name for name, _ in LIMITED])
def test_below_its_opset(name, case):
    with pytest.raises(OpsetError) as raised:
        check(case, opset=case.opset - 1)
    assert raised.value.needed == case.opset
