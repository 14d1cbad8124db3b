"""`prim::If` and `prim::Loop`: decided or unrolled at export where they can be, else ONNX If and Loop.

static condition        the branch taken, in place
one branch raises       the other one, with a warning: the exported model doesn't check
dynamic condition       If: each branch in a scope of its own; the results, and what a branch wrote of older
                        tensors and lists, are outputs, joined by `merge`

short static loop       its iterations, in place
other loops             Loop: the body is evaluated until its templates don't widen any more. What isn't the same
                        in all iterations is carried; a list that is only appended to is a scan output
"""

from . import loops  # noqa: F401  (as `branches`, it registers what evaluates these nodes)
from .branches import check_branches

__all__ = ["check_branches"]
