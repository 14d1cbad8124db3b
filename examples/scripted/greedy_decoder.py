"""A greedy decoder over a batch that stops early, when every sequence has ended."""

import torch
from torch import nn


class GreedyDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(9, 12)
        self.cell = nn.LSTMCell(12, 12)
        self.head = nn.Linear(12, 9)

    def forward(self, memory: torch.Tensor, longest: int) -> tuple[torch.Tensor, torch.Tensor]:
        h = memory.mean(1)
        c = torch.zeros_like(h)
        token = torch.ones(memory.shape[0], dtype=torch.long)
        lengths = torch.zeros(memory.shape[0], dtype=torch.long)
        running = torch.ones(memory.shape[0], dtype=torch.bool)
        words: list[torch.Tensor] = []
        step = 0
        while step < longest and bool(running.any()):
            h, c = self.cell(self.embed(token), (h, c))
            token = torch.where(running, self.head(h).argmax(1), torch.zeros_like(token))
            words.append(token)
            lengths += running.to(torch.long)
            running = running & (token != 3)
            step += 1
        return torch.stack(words, 1), lengths


def program():
    torch.manual_seed(2)
    return torch.jit.script(GreedyDecoder().eval())


def arguments():
    return [(torch.randn(2, 5, 12), 7), (torch.randn(4, 9, 12), 20), (torch.randn(1, 1, 12), 1)]


DYNAMIC = {0: {0: "batch", 1: "time"}}
