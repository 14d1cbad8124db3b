"""The classic symbolic API, as a thin facade over lowered values; built-in lowerings never use it."""

from . import autograd  # noqa: F401  (tells the evaluator how autograd functions are converted)
from .conversion import resolver, stays_whole
from .registration import register_custom_op_symbolic, unregister_custom_op_symbolic

__all__ = ["register_custom_op_symbolic", "resolver", "stays_whole", "unregister_custom_op_symbolic"]
