"""What `torch.export` decided by sizes along axes that it left dynamic.

A Python `if` on such a size is a branch of the example's in the exported program, which keeps what it took for granted as
texts (`L['x'].size()[0] % 2 == 0`), and refuses to run where one doesn't hold. ONNX has no form of that, so it is told.
"""

from __future__ import annotations

import ast
import builtins
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

_SHOWN = 4  # guards that are told
_LARGEST_INDEX = (1 << 31) - 1
_SIZE = re.compile(r"L((?:\[[^\[\]]+\]|\.\w+(?!\())+?)(?:\.size\(\)\[(\d+)\])?(?![\[\w])(?!\.\w)")
_LAYOUT = re.compile(r"\.(stride|storage_offset)\(")
_TRIED = (2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 31, 64, 127, 511, 513, 1000, 4099, 65536)


def assumed(exported: torch.export.ExportedProgram) -> str:
    """A message of sizes along dynamic axes at which the program isn't what the model does; empty if there are none."""
    guards = getattr(exported, "_guards_code", ())
    inputs = (
        {node.name: node.meta.get("val") for node in exported.graph.nodes if node.op == "placeholder"} if guards else {}
    )
    told = [
        text for guard in guards if (text := _told(guard, inputs, exported.graph_signature.user_inputs)) is not None
    ]
    if not told:
        return ""
    more = f"\n  and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    return (
        "the exported program is right only where\n  "
        + "\n  ".join(told[:_SHOWN])
        + more
        + "\nsince torch.export chose operations by these sizes, those of the example. It checks them in each run; "
        "the ONNX model doesn't. Give it such sizes only, or use torch.cond for an `if`"
    )


def _told(guard: str, inputs: Mapping[str, Any], names: Sequence[Any]) -> str | None:
    """The text of a guard in terms of arguments, unless it says nothing about the sizes that a user may choose.

    Args:
        inputs: examples of the program's inputs, whose sizes are expressions.
        names: of the arguments, in order.
    """
    if _LAYOUT.search(guard):
        return None
    shown: dict[str, str] = {}  # a size as one name: how it is told
    values: dict[str, str] = {}  # the same: what is computed

    def variable(found: re.Match[str]) -> str:
        path, axis = found.groups()
        name = f"_size_{len(shown)}_"
        shown[name] = _name(path, names) + (f".size({axis})" if axis is not None else "")
        example = inputs.get(re.sub(r"\W+", "_", shown[name].partition(".size(")[0]).rstrip("_"))
        values[name] = str(example.shape[int(axis)]) if axis is not None and isinstance(example, torch.Tensor) else name
        return name

    tree = ast.parse(_SIZE.sub(variable, guard.replace("\n", "")), mode="eval").body
    text = ast.unparse(tree)
    if not shown or _is_torchs_own(tree) or _always(_replaced(text, {n: f"({v})" for n, v in values.items()})):
        return None
    return _replaced(text, shown)


def _replaced(text: str, by: Mapping[str, str]) -> str:
    return re.sub(r"_size_\d+_", lambda found: by[found.group()], text)


def _name(path: str, names: Sequence[Any]) -> str:
    """`['x'][0]` as `x[0]`; `['flat_args'][1]` by the name of the argument."""
    flat = re.fullmatch(r"\['flat_args'\]\[(\d+)\]", path)
    if flat is not None and int(flat[1]) < len(names):
        return str(names[int(flat[1])])
    return re.sub(r"^\['(\w+)'\]", r"\1", path)


def _is_torchs_own(tree: ast.expr) -> bool:
    """Whether a guard comes of what torch.export takes for granted of all dynamic sizes (they are neither 0 nor 1), of equal
    sizes, which are one symbol, of how tensors lie in memory, where sizes are multiplied, or of indices of 32 bits (in
    torch 2.9)."""
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        return all(map(_is_torchs_own, tree.values))
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1:
        return False
    left, right = tree.left, tree.comparators[0]
    sizes, numbers = (_is_size(left), _is_size(right)), (_number(left), _number(right))
    if isinstance(tree.ops[0], ast.Eq) and (all(sizes) or (any(sizes) and numbers != (None, None))):
        return True
    number = numbers[1] if numbers[0] is None else numbers[0]
    order = isinstance(tree.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE))
    if order and number == _LARGEST_INDEX:
        return True
    if number is not None and number <= (2 if order else 1) and (order or isinstance(tree.ops[0], ast.NotEq)):
        other = left if numbers[0] is None else right
        return not (isinstance(other, ast.BinOp) and isinstance(other.op, ast.Mod) and _number(other.right) is not None)
    return any(map(_multiplies, ast.walk(tree))) and not (order and number is not None)


def _multiplies(tree: ast.AST) -> bool:
    """Whether this is a product of sizes."""
    return (
        isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mult) and all(map(_has_size, (tree.left, tree.right)))
    )


def _has_size(tree: ast.expr) -> bool:
    return any(isinstance(part, ast.expr) and _is_size(part) for part in ast.walk(tree))


def _is_size(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Name) and tree.id.startswith("_size_")


def _number(tree: ast.expr) -> float | None:
    return tree.value if isinstance(tree, ast.Constant) and isinstance(tree.value, (int, float)) else None


def _always(text: str) -> bool:
    """Whether a guard holds at all sizes that are tried; one that can't be computed doesn't."""
    code = compile(text, "<guard>", "eval")
    known: dict[str, Any] = {"torch": torch, "math": math}
    symbols = [name for name in code.co_names if name not in known and not hasattr(builtins, name)]
    try:
        return all(eval(code, known, sizes) for sizes in _tries(symbols))
    except Exception:  # whatever it raises, the guard is told
        return False


def _tries(symbols: Sequence[str]) -> Iterator[dict[str, int]]:
    """Values for symbols: all pairs of them for two."""
    n = len(_TRIED)
    for first in range(n):
        for step in range(n):
            yield {symbol: _TRIED[(first + i * step) % n] for i, symbol in enumerate(symbols)}
