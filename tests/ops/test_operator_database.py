"""No entry of PyTorch's operator database that passed may fail: see `tests/operator_database.py`.

If an entry fails for a good reason (a newer PyTorch changed the operator), `benchmarks/operators_list.py` writes the
list anew; what it leaves out is to be said in the changelog.
"""

import itertools

import pytest
from tests import operator_database

from onnxport.errors import UnsupportedOperatorError
from onnxport.lower import registry

LISTED = operator_database.passing()
OPERATORS = {name: list(entries) for name, entries in itertools.groupby(LISTED, key=lambda e: e.partition("|")[0])}


@pytest.mark.filterwarnings("ignore")  # of eager PyTorch on deprecated names; and what the export says is not looked at
@pytest.mark.parametrize("name", OPERATORS)
def test_entries_pass(name):
    failed = {}
    for entry in OPERATORS[name]:
        try:
            operator_database.check_entry(entry)
        except Exception as error:
            failed[entry] = f"{type(error).__name__}: {error}"
    assert not failed, "\n".join(f"{entry} fails: {why}" for entry, why in failed.items())


def test_the_list_is_long_and_without_repetition():
    assert len(set(LISTED)) == len(LISTED) >= operator_database.LEAST
    assert sum(map(len, OPERATORS.values())) == len(LISTED)


def test_an_entry_without_lowering_fails(monkeypatch):
    operator_database.check_entry("atan2|float32")
    assert registry.find("aten::atan2")
    monkeypatch.delitem(registry._LOWERINGS, "aten::atan2")
    with pytest.raises(UnsupportedOperatorError, match="atan2"):
        operator_database.check_entry("atan2|float32")


def test_an_entry_with_wrong_numbers_fails(monkeypatch):
    assert registry.find("aten::atan2")
    monkeypatch.setitem(registry._LOWERINGS, "aten::atan2", registry.find("aten::hypot"))
    with pytest.raises(AssertionError, match="not close"):
        operator_database.check_entry("atan2|float32")


def test_what_says_nothing_is_no_entry():
    for entry in ("randint|float32", "empty|float32"):
        with pytest.raises((operator_database.NoReference, AssertionError)):
            operator_database.check_entry(entry)
