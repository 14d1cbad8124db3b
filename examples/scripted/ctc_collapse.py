"""Greedy CTC decoding: the best label of each frame, repeats collapsed, blanks dropped."""

import torch


def collapse(logits: torch.Tensor, blank: int) -> tuple[torch.Tensor, torch.Tensor]:
    best = logits.argmax(1)
    labels: list[torch.Tensor] = []
    times: list[int] = []
    previous = -1
    for t in range(best.shape[0]):
        label = int(best[t])
        if label != blank and label != previous:
            labels.append(best[t])
            times.append(t)
        previous = label
    if len(labels) == 0:
        return torch.zeros(0, dtype=torch.long), torch.zeros(0, dtype=torch.long)
    return torch.stack(labels), torch.tensor(times)


def program():
    return torch.jit.script(collapse)


def arguments():
    quiet = torch.zeros(4, 5)
    quiet[:, 0] = 1
    return [(torch.randn(12, 5), 0), (torch.randn(30, 5), 2), (quiet, 0)]


DYNAMIC = {0: {0: "frames"}}
