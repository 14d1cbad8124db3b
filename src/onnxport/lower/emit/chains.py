"""Layout ops in a row made short: elements are taken from where they come from.

    Unsqueeze(Unsqueeze(x))             ->  Unsqueeze(x)
    Reshape(Squeeze(x))                 ->  Reshape(x), or x
    Transpose(Transpose(x))             ->  Transpose(x), or x

An op in the middle that nobody else uses is dropped in the end, so that none of these makes a graph larger. Most of it
`passes.rearrange` would do as well, which knows who uses what. It is done here because
* lowerings know values again: `arange(n)[:, None]` as an index, made a vector once more, is the value that counts up;
* two ops in a row may be none though others use what is between them, which is left alone there;
* exports for training or with weights as inputs aren't rewritten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import onnx_ir as ir

from ...dims import Size
from ..values import Tensor
from .transcendental import TranscendentalWords


@dataclass(frozen=True, slots=True)
class Move:
    """Where a tensor's elements come from: under other sizes, or with its axes permuted."""

    source: Tensor
    perm: tuple[int, ...] | None = None


class ChainWords(TranscendentalWords):
    """Layout ops in a row made short."""

    layouts: dict[ir.Value, Move]
    by_call: bool

    def moved(self, x: Tensor, source: Tensor, perm: Sequence[int] | None = None) -> Tensor:
        """`x`, remembered to be made of `source`."""
        plain = x.value is not None and source.dims is not None and not source.is_known and not x.is_complex
        if plain and not self.by_call and x.value is not None:  # a module's inner values stay its own
            self.layouts[x.value] = Move(source, None if perm is None else tuple(perm))
        return x

    def _origin(self, x: Tensor, *, permuted: bool) -> Move | None:
        found = None if x.value is None else self.layouts.get(x.value)
        return found if found is not None and (found.perm is not None) == permuted else None

    def resized(self, x: Tensor, target: tuple[Size, ...]) -> Tensor | None:
        """x with these sizes by one op on what x was made of, None if there is no such way."""
        before = self._origin(x, permuted=False)
        return None if before is None else self._at_once(before.source, target)

    def repermuted(self, x: Tensor, perm: Sequence[int]) -> Tensor | None:
        """The transpose of x as one of what x was made of, None if that isn't a transpose."""
        before = self._origin(x, permuted=True)
        if before is None or before.perm is None:
            return None
        return self.transpose(before.source, [before.perm[i] for i in perm])

    def _at_once(self, source: Tensor, target: tuple[Size, ...]) -> Tensor | None:
        """The source with these sizes by one op whose sizes are constants."""
        if source.dims == target:
            return source
        if source.dims is None or 0 in target:
            return None
        found = self.unit_axes(source, target)
        return self.fixed_reshape(source, target) if found is None else found

    def unit_axes(self, x: Tensor, target: tuple[Size, ...]) -> Tensor | None:
        """x with axes of size 1 put in or dropped, None if that isn't what makes the difference."""
        added, dropped = inserted(x.shape, target), inserted(target, x.shape)
        if added:
            found = self.op("Unsqueeze", x, added) if self.opset >= 13 else self.op("Unsqueeze", x, axes=added)
        elif dropped:
            found = self.op("Squeeze", x, dropped) if self.opset >= 13 else self.op("Squeeze", x, axes=dropped)
        else:
            return None
        found.dims = target
        return self.moved(found, x)

    def fixed_reshape(self, x: Tensor, target: tuple[Size, ...]) -> Tensor | None:
        """A Reshape to sizes that are constants. What stays in place is copied (0), one size is left open (-1)."""
        copied = kept_axes(x, target)
        open_axes = [i for i, d in enumerate(copied) if not isinstance(d, int)]
        if len(open_axes) > 1:
            return None
        if open_axes:
            copied[open_axes[0]] = -1
        result = self.op("Reshape", x, self.ints(copied))
        result.dims = target
        return self.moved(result, x)

    def transpose(self, x: Tensor, perm: Sequence[int]) -> Tensor:
        raise NotImplementedError


def kept_axes(x: Tensor, target: Sequence[Size]) -> list[Size]:
    """The sizes for a Reshape: those of axes that stay in place are copied, which 0 stands for, if not constant."""
    dims = x.dims or ()
    return [0 if not isinstance(d, int) and i < len(dims) and dims[i] == d else d for i, d in enumerate(target)]


def inserted(dims: Sequence[Size], target: Sequence[Size]) -> list[int] | None:
    """The axes of size 1 to put into `dims` to get `target`."""
    axes = []
    i = 0
    for j, d in enumerate(target):
        if i < len(dims) and dims[i] == d:
            i += 1
        elif isinstance(d, int) and d == 1:
            axes.append(j)
        else:
            return None
    return axes if i == len(dims) else None
