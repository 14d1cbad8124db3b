"""Comparing an exported model with the model in PyTorch: see `ExportResult.verify`."""

from __future__ import annotations

from .errors import VerificationError
from .verify import Check, FirstDifference, OutputError, Report

__all__ = ["Check", "FirstDifference", "OutputError", "Report", "VerificationError"]
