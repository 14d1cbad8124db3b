"""What tests share."""

import pytest
import torch

from onnxport.capture.liveness import frozen_axes


@pytest.fixture(autouse=True)
def _seeded():
    """Random numbers are the same in each run of a test, whatever ran before it."""
    torch.manual_seed(0)


@pytest.fixture
def one_recording(monkeypatch):
    """No `if` of Python becomes one of the program, as where there are too many ways: what is found is told."""
    monkeypatch.setattr(frozen_axes, "by_cases", lambda *given: None)
