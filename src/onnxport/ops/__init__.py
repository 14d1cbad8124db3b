"""Lowerings, by family; a module of a family is imported when one of its operators is first asked for.

`index.json` says which module has which operators. `python -m onnxport.ops` writes it anew, which is needed after an
operator was added or moved.
"""

import json
from importlib import resources

from ..lower import registry

_INDEX = json.loads(resources.files(__name__).joinpath("index.json").read_text("utf-8"))
registry.locate(
    {table: {op: module for module, ops in found.items() for op in ops} for table, found in _INDEX["modules"].items()},
    _INDEX["rare"],
)
