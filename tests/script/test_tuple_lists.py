"""Lists of tuples in scripts that grow and shrink while the model runs."""

from typing import NamedTuple

import pytest
import torch
from tests.script.harness import check_script

import onnxport


def numbered(x):
    pairs: list[tuple[int, torch.Tensor]] = []
    for i in range(x.size(0)):
        pairs.append((i, x[i] * 2))
    total = torch.zeros(2)
    for i, row in pairs:
        total = total + row * i
    return total + pairs[-1][1]


def beams(x):
    kept: list[tuple[torch.Tensor, float]] = [(x[0], 0.0)]
    for i in range(1, x.size(0)):
        grown: list[tuple[torch.Tensor, float]] = []
        for row, score in kept:
            for k in range(2):
                grown.append((row + x[i] * k, score + k))
        best = grown[0]
        for candidate in grown:
            if candidate[1] > best[1]:
                best = candidate
        kept = [best, grown[1]]
    return kept[0][0] + kept[0][1] + len(kept)


def queue(x):
    pending: list[tuple[int, int]] = [(0, 1)]
    total = 0
    while len(pending) > 0:
        a, b = pending.pop(0)
        total += a * b
        if a < x.size(0):
            pending.append((a + 1, b + 2))
        if a == 2:
            pending.insert(0, (x.size(0), 3))
    return x * total


def joined(x):
    pairs: list[tuple[torch.Tensor, torch.Tensor]] = []
    for i in range(x.size(0)):
        pairs.append((x[i], x[: i + 1].sum(0)))
    part = pairs[1:]
    part.extend(pairs)
    part += pairs
    part.reverse()
    pairs[0] = (x[1], x[0])
    total = torch.zeros(2)
    for i, (a, b) in enumerate(part + pairs):
        total = total * 1.1 + a * i - b
    return total


def spans(x):
    found: list[tuple[int, int]] = []
    start = -1
    for i in range(x.size(0)):
        if bool(x[i, 0] > 0):
            if start < 0:
                start = i
        elif start >= 0:
            found.append((start, i))
            start = -1
    if start >= 0:
        found.append((start, x.size(0)))
    out = torch.zeros(len(found), 2, dtype=torch.long)
    for i, span in enumerate(found):
        out[i, 0] = span[0]
        out[i, 1] = span[1]
    return out


def nested(x):
    rows: list[tuple[int, tuple[torch.Tensor, float]]] = []
    for i in range(x.size(0)):
        rows.append((i, (x[i], 2.0)))
    total = torch.zeros(2)
    for i, (row, scale) in rows:
        total = total + row * scale * i
    return total


class Row(NamedTuple):
    content: torch.Tensor
    number: int


def with_names(x):
    rows: list[Row] = []
    for i in range(x.size(0)):
        rows.append(Row(x[i], i))
    last = rows[-1]
    rows.append(last)
    total = torch.zeros(2)
    for row in rows:
        total = total + row.content * row.number
    return total


def given_back(x):
    pairs = [(x, 1.5), (x + 1, 2.5)]
    pairs.append((x * 2, 3.5))
    return pairs


@pytest.mark.parametrize("opset", [13, 20])
@pytest.mark.parametrize("function", [numbered, beams, queue, joined, spans, nested, with_names, given_back])
def test_tuples(function, opset):
    arguments = [(torch.randn(n, 2),) for n in (4, 7, 3, 12)]
    check_script(function, *arguments, dynamic={0: {0: "n"}}, opset=opset)


def named(x):
    total = x
    for name, value in [("a", 1.0), ("b", 2.0)]:
        total = total + value if name == "a" else total * value
    return total


def states(x, pairs: list[tuple[torch.Tensor, torch.Tensor]]):
    swapped: list[tuple[torch.Tensor, torch.Tensor]] = []
    for h, c in pairs:
        x = x + h * c
        swapped.append((c, h))
    return x + swapped[0][0]


def test_strings():
    check_script(named, (torch.randn(4, 2),))


def test_argument():
    rows = [(torch.randn(2), torch.randn(2)) for _ in range(2)]
    x = torch.randn(2)
    result = onnxport.export(torch.jit.script(states), (x, rows))
    torch.testing.assert_close(torch.as_tensor(result(x, rows)), states(x, rows))
