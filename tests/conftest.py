"""Random numbers are the same in each run of a test, whatever ran before it."""

import pytest
import torch


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)
