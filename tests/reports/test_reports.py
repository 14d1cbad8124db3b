"""Programs in the style of public reports about exports, by theme; `harness.py` says how they are compared."""

from __future__ import annotations

import pytest

from tests.reports import detection, interface, layers, points, scripts, sequences, speech, vision, wrappers, writes
from tests.reports.harness import check

MODULES = (writes, vision, detection, interface, scripts, sequences, speech, points, layers, wrappers)
TABLE = [parameter for module in MODULES for parameter in module.TABLE]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("make", "mode"), TABLE)
def test_reports(make, mode):
    check(make, mode)


def test_names_are_distinct():
    names = [parameter.id for parameter in TABLE]
    assert len(set(names)) == len(names)
