"""What is told of the dynamic axes of a trace."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from ...program import Location
from ...program.ir import Conversion
from .trial_sizes import Sizes


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    """A place where the program depends on an example size."""

    location: Location
    what: str
    is_loop: bool = False

    def __str__(self) -> str:
        return f"{self.location}: {self.what}"


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """What is known of the dynamic axes of a trace.

    Attributes:
        stuck: labels of axes of which the model ran at no other size.
        labels: of the axes that `frozen` depends on.
        conversions: where sizes became Python numbers.
        small: sizes at which the program is another one, where it is the same at most.
        failure: what the model raised at other sizes, where it ran at none.
        guessed: places where one of several numbers that the model read was taken.
        unchanged: whether the program is as it was.
    """

    stuck: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    frozen: tuple[Frozen, ...] = ()
    conversions: tuple[Conversion, ...] = ()
    small: str = ""
    failure: str = ""
    guessed: tuple[Frozen, ...] = ()
    unchanged: bool = False

    def message(self, sizes: Sizes) -> str:
        """What to tell the user; "" if all is well."""
        stuck = listed({label: sizes[label] for label in self.stuck})
        lines = [
            f"the model runs at no other sizes than {stuck} that were tried, so whether these axes are dynamic in the "
            f"exported model isn't known ({self.failure}). Don't declare an axis whose size the weights fix. Else give an "
            "example at which they can grow and shrink, or check_axes=False if you know better."
        ]
        return "\n".join(
            [
                *(lines if stuck else ()),
                *(self._frozen(sizes) if self.frozen else ()),
                *(self._guessed() if self.guessed else ()),
            ]
        )

    def _guessed(self) -> list[str]:
        return [
            "the model takes ints out of tensors, several of which were alike in all runs that were tried; the exported model "
            "uses the last one that was read. Give an example at which they are different, and compare with verify=True.",
            *_some(dict.fromkeys(map(str, self.guessed))),
        ]

    def _frozen(self, sizes: Sizes) -> list[str]:
        labels = listed({label: sizes[label] for label in self.labels})
        where = f"may be wrong at sizes like {self.small}" if self.small else f"may be right only at {labels}"
        lines = [
            f"the exported model {where}: a size became a Python number, or decided which operations run.",
            *_some(dict.fromkeys(map(str, self.frozen))),
        ]
        if self.conversions:
            lines.append("Sizes became Python numbers here:")
            lines += _some(dict.fromkeys(f"{c.source}: {c.what}" for c in self.conversions))
        if any(f.is_loop for f in self.frozen):
            lines.append(
                "A loop over a dynamic axis runs as often as in the example. Loops whose iterations are alike are found out if "
                "the example has some; else compute on the whole tensor, or put the loop into a function and decorate it with "
                "@torch.jit.script, which mixes into traces and keeps loops."
            )
        else:
            lines.append(
                "Compute with x.shape and tensors instead of int(), range(), numpy and if; or put that part into a "
                "function and decorate it with @torch.jit.script, which mixes into traces and keeps ifs and loops."
            )
        return lines


def listed(sizes: Sizes) -> str:
    return ", ".join(f"{label}={size}" for label, size in sizes.items())


def _some(texts: Iterable[str], most: int = 6) -> list[str]:
    """The first of the texts as lines, and how many more there are."""
    lines = [f"  {text}" for text in texts]
    return lines if len(lines) <= most else [*lines[: most - 1], f"  and {len(lines) - most + 1} more"]
