"""Enums in scripts: their members are constants, wherever they are kept."""

from __future__ import annotations

import enum

import pytest
import torch
from tests.script.harness import check_script
from torch import Tensor, nn


class Mode(enum.Enum):
    ADD = "add"
    SCALE = "scale"


class Level(enum.Enum):
    LOW = 1
    HIGH = 2


class Attributes(nn.Module):
    """Asks in each way for what a member is."""

    def __init__(self, mode: Mode, level: Level) -> None:
        super().__init__()
        self.mode, self.level = mode, level
        self.levels = [Level.LOW, level]

    def forward(self, x: Tensor, n: int) -> Tensor:
        if self.mode == Mode.SCALE:
            x = x * 2
        if self.mode != Mode.ADD:
            x = x + 1
        if self.mode.name == "ADD":
            x = x + 16
        if self.mode.value == "scale":
            x = x * 3
        for level in self.levels:
            if level == Level.HIGH:
                x = x * n
        return self.applied(x * self.level.value, self.mode)

    def applied(self, x: Tensor, mode: Mode) -> Tensor:
        total = 0
        for level in Level:
            total += level.value
        return x + total if mode == Mode.ADD else x * total


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("level", Level)
def test_members_as_attributes(mode, level):
    module = torch.jit.script(Attributes(mode, level).eval())
    check_script(module, (torch.randn(3), 2), (torch.randn(3), 5))
