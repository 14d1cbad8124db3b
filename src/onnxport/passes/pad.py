"""Zeros put around the input of a convolution become its own padding.

Before:  y = Conv(Pad(x, [0, 0, 0, 1, 0, 0, 1, 2]), W)
After:   y = Conv(x, W)   with pads = [0, 1, 1, 2]

Rules:
1. The Pad adds zeros, only to the axes that the kernel moves along, and nothing else uses its result.
2. The convolution has its padding as numbers, not `auto_pad`.
"""

from __future__ import annotations

import onnx_ir as ir

from .graph import Index, content, in_order, ints, made_by, only_use, sweep


def fold_pads(index: Index) -> bool:
    """Rewrite in place; whether anything was."""
    return any([_fold(node) for node in in_order(index, ["Conv"])])


def _fold(conv: ir.Node) -> bool:
    padded = conv.inputs[0]
    pad = made_by(padded, "Pad")
    if pad is None or padded is None or only_use(padded) is None or not _adds_zeros(pad):
        return False
    amounts = ints(pad, "pads", 1)
    if amounts is None or conv.attributes.get_string("auto_pad", "NOTSET") != "NOTSET":
        return False
    rank = len(amounts) // 2
    moving = [*amounts[2:rank], *amounts[rank + 2 :]]
    if any(amounts[:2] + amounts[rank : rank + 2]) or any(n < 0 for n in moving):
        return False
    own = list(conv.attributes.get_ints("pads", ()) or [0] * len(moving))
    conv.attributes["pads"] = ir.AttrInt64s("pads", [a + b for a, b in zip(own, moving)])
    conv.replace_input_with(0, pad.inputs[0])
    sweep(pad)
    return True


def _adds_zeros(pad: ir.Node) -> bool:
    if pad.attributes.get_string("mode", "constant") != "constant":
        return False
    if len(pad.inputs) > 3 and pad.inputs[3] is not None:  # axes
        return False
    if len(pad.inputs) > 2 and pad.inputs[2] is not None:
        fill = content(pad.inputs[2])
        return fill is not None and bool((fill == 0).all())
    return pad.attributes.get_float("value", 0.0) == 0
