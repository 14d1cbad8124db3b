"""Write the list of entries of PyTorch's operator database that pass, which the tests keep from shrinking.

python benchmarks/operators_list.py            # writes tests/ops/operators_that_pass.txt, says what changed
python benchmarks/operators_list.py --failing  # writes nothing; the entries that fail, and why
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests import operator_database as database


def main(show: bool) -> None:
    warnings.simplefilter("ignore")
    passed, failed = [], {}
    for entry in database.entries():
        try:
            database.check_entry(entry)
        except database.NoReference:
            continue
        except Exception as error:
            failed[entry] = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
        else:
            passed.append(entry)
    if show:
        for entry, why in failed.items():
            print(f"{entry}: {why}")
    else:
        before = set(database.passing()) if database.LIST.exists() else set()
        header = f"# Entries that pass with torch {torch.__version__.partition('+')[0]} at opset {database.OPSET}."
        database.LIST.write_text("\n".join([header, *sorted(passed)]) + "\n")
        for entry in sorted(before - set(passed)):
            print(f"no longer: {entry}: {failed.get(entry, 'no such entry, or no reference')}")
        print(f"new: {len(set(passed) - before)}")
    print(f"{len(passed)} pass, {len(failed)} fail")


if __name__ == "__main__":
    main("--failing" in sys.argv[1:])
