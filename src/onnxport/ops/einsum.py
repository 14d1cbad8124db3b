"""Einsum, by pairs of operands as matrix products."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import torch

from ..dims import Size, broadcast, product
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.registry import lowering
from ..lower.values import Tensor


@dataclass(frozen=True, slots=True)
class Labelled:
    """A tensor with a letter for each axis, no letter twice."""

    tensor: Tensor
    letters: str

    def size(self, letter: str) -> Size:
        return self.tensor.shape[self.letters.index(letter)]


@lowering("aten::einsum")
def einsum(g: Builder, equation: str, tensors: list[Tensor], path: list[int] | None = None) -> Tensor:
    """einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor"""
    terms, output = parse(equation, [t.rank for t in tensors])
    dtype = functools.reduce(torch.promote_types, [t.dtype for t in tensors])
    operands = [_diagonal(g, g.cast(t, dtype), letters) for t, letters in zip(tensors, terms)]
    order = list(path) if path else []
    while len(operands) > 1:
        i, j = (order.pop(0), order.pop(0)) if len(order) >= 2 else (0, 1)
        first, second = operands[i], operands[j]
        rest = [x for k, x in enumerate(operands) if k not in (i, j)]
        needed = set(output).union(*(x.letters for x in rest))
        pair = _pair(g, first, second, needed, output)
        operands = [*rest, pair] if path else [pair, *rest]
    last = _summed(g, operands[0], set(output))
    return _arranged(g, last, output)


def parse(equation: str, ranks: list[int]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, an ellipsis spelled out in letters of its own."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise LoweringError(f"the equation '{equation}' has {len(terms)} operands, {len(ranks)} are given")
    spans = [rank - len(term.replace("...", "")) for term, rank in zip(terms, ranks)]
    widest = max([span for term, span in zip(terms, spans) if "..." in term], default=0)
    dots = "".join(chr(0x3B1 + i) for i in range(widest))  # letters that no equation has
    spelled = [term.replace("...", dots[widest - span :]) for term, span in zip(terms, spans)]
    if not arrow:
        single = sorted(c for c in set(left) if c.isalpha() and left.count(c) == 1)
        right = "..." + "".join(single)
    return spelled, right.replace("...", dots)


def _diagonal(g: Builder, x: Tensor, letters: str) -> Labelled:
    """The diagonal where a letter is repeated."""
    for letter in dict.fromkeys(letters):
        while letters.count(letter) > 1:
            i = letters.index(letter)
            j = letters.index(letter, i + 1)
            x = _on_diagonal(g, x, i, j)
            letters = letters[:j] + letters[j + 1 :]
    return Labelled(x, letters)


def _on_diagonal(g: Builder, x: Tensor, i: int, j: int) -> Tensor:
    """x where the indices of axes i < j are equal, as axis i: every (size + 1)th of the two together."""
    size = x.shape[i]
    perm = [k for k in range(x.rank) if k not in (i, j)]
    flat = g.reshape(g.transpose(x, [*perm, i, j]), [*[x.shape[k] for k in perm], size * size])
    picked = g.op("Gather", flat, g.mul(g.range(0, size), g.size(size + 1)), axis=len(perm))
    return g.transpose(picked, [*range(i), len(perm), *range(i, len(perm))])


def _summed(g: Builder, x: Labelled, needed: set[str]) -> Labelled:
    """Summed over the letters that nothing else needs."""
    axes = [i for i, letter in enumerate(x.letters) if letter not in needed]
    kept = "".join(letter for letter in x.letters if letter in needed)
    if not axes:
        return x
    whole = x.tensor if x.tensor.is_inexact else g.cast(x.tensor, torch.int64)
    return Labelled(g.reduce("ReduceSum", whole, axes), kept)


def _arranged(g: Builder, x: Labelled, letters: str) -> Tensor:
    """Transposed to this order, with axes of size 1 for letters that x doesn't have."""
    own = [letter for letter in letters if letter in x.letters]
    result = g.transpose(x.tensor, [x.letters.index(letter) for letter in own])
    return g.unsqueeze(result, [i for i, letter in enumerate(letters) if letter not in x.letters])


def _pair(g: Builder, a: Labelled, b: Labelled, needed: set[str], output: str) -> Labelled:
    """The product of two operands, summed over the letters that are not needed any more."""
    a = _summed(g, a, needed | set(b.letters))
    b = _summed(g, b, needed | set(a.letters))
    shared = [letter for letter in a.letters if letter in b.letters]
    over = "".join(letter for letter in shared if letter not in needed)
    for letter in over:  # a size of 1 meets any: the other side is summed first
        if (a.size(letter) == 1) != (b.size(letter) == 1):
            return _pair(g, _without(g, a, letter), _without(g, b, letter), needed, output)
    batch = "".join(sorted((letter for letter in shared if letter in needed), key=_by(output)))
    left = "".join(letter for letter in a.letters if letter not in shared)
    right = "".join(letter for letter in b.letters if letter not in shared)
    if not over:
        letters = "".join(sorted(batch + left + right, key=_by(output)))
        return Labelled(g.mul(_arranged(g, a, letters), _arranged(g, b, letters)), letters)
    if _by(output)(right[:1]) < _by(output)(left[:1]):  # the result comes out in the order that is wanted
        a, b, left, right = b, a, right, left
    return _product(g, a, b, batch, left, over, right)


def _without(g: Builder, x: Labelled, letter: str) -> Labelled:
    tensor = g.reduce("ReduceSum", x.tensor, [x.letters.index(letter)])
    return Labelled(tensor, x.letters.replace(letter, ""))


def _by(output: str) -> Callable[[str], int]:
    """Sort key: the place in the output, letters not in it last."""
    return lambda letter: output.index(letter) if letter and letter in output else len(output)


def _product(g: Builder, a: Labelled, b: Labelled, batch: str, left: str, over: str, right: str) -> Labelled:
    """(batch, left, over) x (batch, over, right) as a MatMul; several letters of a kind are one axis in it."""
    rows, columns = [a.size(letter) for letter in left], [b.size(letter) for letter in right]
    x, y = _arranged(g, a, batch + left + over), _arranged(g, b, batch + over + right)
    depth = product(a.size(letter) for letter in over)
    x = g.reshape(x, [*[a.size(letter) for letter in batch], product(rows), depth])
    y = g.reshape(y, [*[b.size(letter) for letter in batch], depth, product(columns)])
    common = [broadcast(a.size(letter), b.size(letter)) for letter in batch]
    return Labelled(g.reshape(g.matmul(x, y), [*common, *rows, *columns]), batch + left + right)
