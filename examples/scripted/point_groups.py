"""Farthest point sampling, then the mean of the neighbours of each sample within a radius."""

import torch


def group(points: torch.Tensor, count: int, radius: float) -> tuple[torch.Tensor, torch.Tensor]:
    chosen = torch.zeros(count, dtype=torch.long)
    distance = torch.full((points.shape[0],), 1e10)
    last = 0
    for i in range(count):
        chosen[i] = last
        distance = torch.minimum(distance, (points - points[last]).pow(2).sum(1))
        last = int(distance.argmax())
    means: list[torch.Tensor] = []
    for i in range(count):
        near = (points - points[chosen[i]]).pow(2).sum(1) <= radius * radius
        means.append(points[near].mean(0))
    return chosen, torch.stack(means)


def program():
    return torch.jit.script(group)


def arguments():
    return [(torch.rand(20, 3), 4, 0.5), (torch.rand(5, 3), 5, 0.2), (torch.rand(60, 3), 9, 0.4)]


DYNAMIC = {0: {0: "points"}}
