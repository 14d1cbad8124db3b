"""What tests of dynamic axes share."""

import pytest

from onnxport.capture import liveness


@pytest.fixture
def one_recording(monkeypatch):
    """No `if` of Python becomes one of the program, as where there are too many ways: what is found is told."""
    monkeypatch.setattr(liveness, "by_cases", lambda *given: None)
