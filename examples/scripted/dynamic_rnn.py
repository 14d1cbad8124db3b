"""A recurrent network over sequences of different lengths, as with packed sequences: each ends at its own time."""

import torch
from torch import nn


class DynamicRnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(4, 8)
        self.rec = nn.Linear(8, 8, bias=False)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h = torch.zeros(x.shape[0], 8)
        out = torch.zeros(x.shape[0], x.shape[1], 8)
        for t in range(int(lengths.max())):
            new = torch.tanh(self.inp(x[:, t]) + self.rec(h))
            alive = (lengths > t).unsqueeze(1)
            h = torch.where(alive, new, h)
            out[:, t] = torch.where(alive, h, torch.zeros_like(h))
        return out, h


def program():
    torch.manual_seed(3)
    return torch.jit.script(DynamicRnn().eval())


def arguments():
    return [
        (torch.randn(3, 6, 4), torch.tensor([6, 2, 4])),
        (torch.randn(1, 2, 4), torch.tensor([1])),
        (torch.randn(5, 9, 4), torch.tensor([3, 1, 8, 2, 2])),
    ]


DYNAMIC = {0: {0: "batch", 1: "time"}, 1: {0: "batch"}}
