"""Lowerings, by family. Importing this package registers them all."""

from . import elementwise, scalars

__all__ = ["elementwise", "scalars"]
