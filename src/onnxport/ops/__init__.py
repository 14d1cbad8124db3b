"""Lowerings, by family. Importing this package registers them all."""

from . import elementwise, rnn, scalars

__all__ = ["elementwise", "rnn", "scalars"]
