"""Whether a trace has frozen dynamic axes, and how they are made live again."""

from .frozen_axes import thaw
from .report import Report

__all__ = ["Report", "thaw"]
