"""Beam search with a small recurrent language model: hypotheses grow until all beams have ended."""

import torch
from torch import nn


class BeamSearch(nn.Module):
    def __init__(self, words: int = 11, width: int = 16, beams: int = 3):
        super().__init__()
        self.beams = beams
        self.words = words
        self.embed = nn.Embedding(words, width)
        self.cell = nn.GRUCell(width, width)
        self.head = nn.Linear(width, words)

    def forward(self, start: torch.Tensor, limit: int) -> tuple[torch.Tensor, torch.Tensor]:
        state = start.expand(self.beams, start.shape[1])
        tokens = torch.ones(self.beams, 1, dtype=torch.long)
        scores = torch.tensor([0.0] + [-1e9] * (self.beams - 1))
        ended = torch.zeros(self.beams, dtype=torch.bool)
        for _ in range(limit):
            state = self.cell(self.embed(tokens[:, -1]), state)
            steps = torch.log_softmax(self.head(state), dim=1)
            stay = torch.full_like(steps, -1e9)
            stay[:, 0] = 0.0
            steps = torch.where(ended.unsqueeze(1), stay, steps)
            scores, flat = (scores.unsqueeze(1) + steps).flatten().topk(self.beams)
            origin = flat // self.words
            word = flat % self.words
            state = state[origin]
            tokens = torch.cat([tokens[origin], word.unsqueeze(1)], dim=1)
            ended = ended[origin] | (word == 0)
            if bool(ended.all()):
                break
        return tokens, scores


def program():
    torch.manual_seed(1)
    return torch.jit.script(BeamSearch().eval())


def arguments():
    return [(torch.randn(1, 16), 6), (torch.randn(1, 16), 1), (torch.randn(1, 16), 15)]


DYNAMIC = {}
