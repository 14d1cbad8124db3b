"""Where a chain of layout operators puts the elements of its input, and by which operators that is done at least cost.

The axes of the input are broken into *atoms*, as far as the chain needs it: `Reshape` from `(n, 6)` to `(n, 2, 3)` breaks
the second axis into two. An axis of the result is a list of atoms, the outermost first; an axis of size 1 is an empty
list. Sizes may be symbolic: two lists hold the same elements where their products are one polynomial.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from ...dims import Size, exact_div, product

Axis = list[int]


@dataclass(frozen=True, slots=True)
class Reshape:
    """To these sizes."""

    sizes: tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class Transpose:
    """Axis `i` of the result is axis `perm[i]`."""

    perm: tuple[int, ...]


Move = Reshape | Transpose


class Arrangement:
    """The axes of a tensor with these sizes after some moves."""

    def __init__(self, sizes: Sequence[Size]) -> None:
        self.source = tuple(sizes)
        self.sizes: list[Size] = list(sizes)
        """Of each atom."""
        self.order: list[Axis] = [[] if size == 1 else [i] for i, size in enumerate(sizes)]
        """The atoms of each axis of the input."""
        self.axes: list[Axis] = [list(axis) for axis in self.order]
        """The atoms of each axis as it is now."""

    def move(self, move: Move) -> bool:
        """Whether it is known what the move does; if not, nothing has changed that matters."""
        if isinstance(move, Transpose):
            self.axes = [self.axes[i] for i in move.perm]
            return True
        return self._resize(move.sizes)

    def _resize(self, target: Sequence[Size]) -> bool:
        left = deque(atom for axis in self.axes for atom in axis)
        found: list[Axis] = []
        for size in target:
            axis: Axis = []
            while size != 1:
                if not left:
                    return False
                atom = left.popleft()
                if (rest := exact_div(size, self.sizes[atom])) is not None:
                    axis.append(atom)
                    size = rest
                elif (rest := exact_div(self.sizes[atom], size)) is not None:
                    left.appendleft(self._split(atom, size, rest))
                    axis.append(atom)
                    size = 1
                else:
                    return False
            found.append(axis)
        if left:
            return False
        self.axes = found
        return True

    def _split(self, atom: int, outer: Size, inner: Size) -> int:
        """The atom keeps its outer part; the inner one, a new atom, comes right after it."""
        self.sizes[atom] = outer
        self.sizes.append(inner)
        new = len(self.sizes) - 1
        for axis in (*self.order, *self.axes):
            if atom in axis:
                axis.insert(axis.index(atom) + 1, new)
        return new

    def size(self, axis: Axis) -> Size:
        return product(self.sizes[atom] for atom in axis)

    def picked(self, axis: int) -> Arrangement | None:
        """What is left of the input at one index along an axis, and how it is arranged; None if that is no piece of it."""
        found = self.taken(axis)
        if found is None:
            return None
        place, inner = found
        rest = Arrangement(())
        rest.source = (*self.source[:place], inner, *self.source[place + 1 :])
        rest.sizes = list(self.sizes)
        rest.order = [list(a) for a in self.order]
        del rest.order[place][: len(self.axes[axis])]
        rest.axes = [list(a) for i, a in enumerate(self.axes) if i != axis]
        return rest

    def taken(self, axis: int) -> tuple[int, Size] | None:
        """The axis of the input whose outer part an axis is, and the size of what is inside of it; None if it isn't one."""
        atoms = self.axes[axis]
        for i, of_input in enumerate(self.order):
            if atoms and of_input[: len(atoms)] == atoms:
                return i, self.size(of_input[len(atoms) :])
        return None

    def plans(self) -> list[list[Move]]:
        """Ways to get there, the shortest first."""
        target = tuple(self.size(axis) for axis in self.axes)
        before, after = _flat(self.order), _flat(self.axes)
        if before == after:
            return [[] if self.source == target else [Reshape(target)]]
        if _nonempty(self.order) == _nonempty(self.axes) and len(self.order) == len(self.axes):
            return [[self._permuted()]]
        found = [self._in_between(target, before, after)]
        if all(_within(axis, before) for axis in self.axes):  # the axes of the result, in the order of the input
            middle = sorted(range(len(self.axes)), key=lambda i: _place(self.axes[i], before))
            perm = tuple(middle.index(i) for i in range(len(middle)))
            found.append([Reshape(tuple(target[i] for i in middle)), Transpose(perm)])
        if all(_within(axis, after) for axis in self.order):  # the axes of the input, in the order of the result
            perm = tuple(sorted(range(len(self.order)), key=lambda i: _place(self.order[i], after)))
            found.append([Transpose(perm), Reshape(target)])
        return sorted(found, key=len)

    def _permuted(self) -> Transpose:
        """The Transpose that suffices; axes of size 1 are all alike."""
        ones = iter([i for i, axis in enumerate(self.order) if not axis])
        return Transpose(tuple(self.order.index(axis) if axis else next(ones) for axis in self.axes))

    def _in_between(self, target: tuple[Size, ...], before: Axis, after: Axis) -> list[Move]:
        """A Reshape to as few axes as can be, a Transpose, and a Reshape."""
        runs: list[Axis] = []
        for atom in after:
            if runs and before.index(runs[-1][-1]) + 1 == before.index(atom):
                runs[-1].append(atom)
            else:
                runs.append([atom])
        middle = sorted(range(len(runs)), key=lambda i: before.index(runs[i][0]))
        perm = tuple(middle.index(i) for i in range(len(runs)))
        return [Reshape(tuple(self.size(runs[i]) for i in middle)), Transpose(perm), Reshape(target)]


def _flat(axes: Sequence[Axis]) -> Axis:
    return [atom for axis in axes for atom in axis]


def _nonempty(axes: Sequence[Axis]) -> list[Axis]:
    return sorted(axis for axis in axes if axis)


def _within(axis: Axis, atoms: Axis) -> bool:
    """Whether the atoms of an axis are next to each other."""
    return not axis or atoms[atoms.index(axis[0]) :][: len(axis)] == axis


def _place(axis: Axis, atoms: Axis) -> int:
    return atoms.index(axis[0]) if axis else -1
