"""The neutral program that every front end gives and every lowering is fed from."""

from .ir import Block, Location, Node, Operand, Program, TensorType, Value
from .labels import Labels
from .schema import Argument, Schema

__all__ = ["Argument", "Block", "Labels", "Location", "Node", "Operand", "Program", "Schema", "TensorType", "Value"]
