"""Fixtures of the contract's tests."""

from __future__ import annotations

from typing import Any

import pytest

from onnxport import register_custom_op_symbolic, unregister_custom_op_symbolic


@pytest.fixture
def register():
    """Register for one test."""
    done = []

    def add(name: str, function: Any, opset: int = 7) -> None:
        register_custom_op_symbolic(name, function, opset)
        done.append((name, opset))

    yield add
    for name, opset in done:
        unregister_custom_op_symbolic(name, opset)
