"""Models that the tests of the command line export by name."""

from __future__ import annotations

import torch


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.fc = torch.nn.Linear(4, 3)

    def forward(self, x: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.fc(x)) + shift


class Other(Net):
    """As `Net`, with other weights."""

    def __init__(self) -> None:
        super().__init__()
        torch.nn.init.ones_(self.fc.weight)


class Wide(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = torch.nn.Linear(64, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(x)


class Labelled(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, str]:
        return x + 1, "label"


net = Net()


def make() -> torch.nn.Module:
    return Net().train()


def sized(n: int) -> torch.nn.Module:
    return torch.nn.Linear(n, n)


def number() -> int:
    return 5
