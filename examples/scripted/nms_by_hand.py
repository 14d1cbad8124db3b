"""Non-maximum suppression written out: take the best box, drop what overlaps it, repeat."""

import torch


def overlap(box: torch.Tensor, boxes: torch.Tensor) -> torch.Tensor:
    low = torch.maximum(box[:2], boxes[:, :2])
    high = torch.minimum(box[2:], boxes[:, 2:])
    shared = (high - low).clamp(min=0).prod(1)
    area = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    return shared / ((box[2:] - box[:2]).prod() + area - shared)


def suppress(boxes: torch.Tensor, scores: torch.Tensor, threshold: float) -> tuple[torch.Tensor, int]:
    order = scores.argsort(descending=True)
    kept: list[int] = []
    while order.numel() > 0:
        best = int(order[0])
        kept.append(best)
        rest = order[1:]
        order = rest[overlap(boxes[best], boxes[rest]) <= threshold]
    return torch.tensor(kept, dtype=torch.long), len(kept)


def program():
    return torch.jit.script(suppress)


def arguments():
    def boxes(n):
        corner = torch.rand(n, 2)
        return torch.cat([corner, corner + 0.2 + torch.rand(n, 2)], 1), torch.rand(n), 0.3

    return [boxes(6), boxes(1), boxes(25)]


DYNAMIC = {0: {0: "n"}, 1: {0: "n"}}
