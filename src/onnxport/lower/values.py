"""What a lowering works with: tensors of the graph being built, and scalars known only at run time.

Python ints, floats, bools, strings, None, lists and tuples stand for themselves. A size that depends on the
inputs is a `Dim`; so is any other int that is known only at run time. Floats and bools known only at run
time are `Scalar`s, which refuse to be used as Python numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, Union

import numpy as np
import onnx_ir as ir
import torch

from ..dims import Dim, Size, product
from ..errors import LoweringError

Array = np.ndarray[Any, Any]


class Tensor:
    """A tensor of the graph being built.

    Either it is the output of a node or an input (`value`), or its content is known (`data`) and it becomes
    an initializer when an op needs it, or both. `data` of dtype object holds ints and `Dim`s: the content
    of a tensor that was computed from sizes. A complex tensor is stored as reals with a trailing axis of 2,
    which `dims` doesn't count.

    Immutable but for `value`, which the builder sets when known content is materialised.
    """

    __slots__ = ("_data", "_source", "dims", "dtype", "from_weight", "name", "permuted", "value")

    def __init__(
        self,
        dtype: torch.dtype,
        dims: tuple[Size, ...] | None,
        value: ir.Value | None = None,
        *,
        data: Array | None = None,
        source: torch.Tensor | None = None,
        from_weight: bool = False,
        name: str | None = None,
    ) -> None:
        self.dtype = dtype
        self.dims = dims
        self.value = value
        self._data = data
        self._source = source  # the torch tensor that holds the content; `data` is made when asked for
        self.from_weight = from_weight  # a parameter or buffer of the model, or computed from such
        self.name = name  # of the parameter that the content comes from
        self.permuted: tuple[Tensor, list[int]] | None = None  # a weight and the permutation that this is of it

    @property
    def data(self) -> Array | None:
        """The content, if known at export."""
        if self._data is None and self._source is not None:
            from ..dtypes import array_of

            self._data = array_of(self._source)
        return self._data

    @property
    def source(self) -> torch.Tensor | None:
        return self._source

    @property
    def is_known(self) -> bool:
        """Whether the content is known at export: a constant, a weight, or made of sizes."""
        return self._data is not None or self._source is not None

    @property
    def is_constant(self) -> bool:
        """Whether the content is known and is plain numbers, no `Dim` among them."""
        if self._source is not None:
            return True
        return self._data is not None and self._data.dtype != object

    @property
    def shape(self) -> tuple[Size, ...]:
        """The sizes; LoweringError if not even their number is known."""
        if self.dims is None:
            raise LoweringError(
                "the number of dimensions of a tensor is not known here (values of different ranks meet); "
                "make the ranks agree"
            )
        return self.dims

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def numel(self) -> Size:
        return product(self.shape)

    @property
    def is_complex(self) -> bool:
        return self.dtype.is_complex

    @property
    def is_float(self) -> bool:
        return self.dtype.is_floating_point

    @property
    def is_inexact(self) -> bool:
        """Whether it holds floats or complex numbers, which sums and products keep as they are."""
        return self.dtype.is_floating_point or self.dtype.is_complex

    def __bool__(self) -> NoReturn:
        raise TypeError("a Tensor of the graph is not a Python bool: branch on facts known at export")

    def __repr__(self) -> str:
        return describe(self)


class Undecided(LoweringError):
    """A lowering asks for the value of a number that is known only at run time."""

    scalar: Scalar | None = None


class Scalar:
    """A float or bool known only at run time: a 0-d tensor of float64 or bool (or of `tensor.dtype`)."""

    __slots__ = ("kind", "tensor")

    def __init__(self, tensor: Tensor, kind: type) -> None:
        self.tensor = tensor
        self.kind = kind

    def _refuse(self, *_: object) -> NoReturn:
        error = Undecided(
            f"a Python {self.kind.__name__} that is known only at run time decides the form of the graph here; "
            "make it an attribute of the model or a default instead of an argument, or script the part that depends on it"
        )
        error.scalar = self
        raise error

    __bool__ = __int__ = __float__ = __index__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __pow__ = __floordiv__ = __mod__ = _refuse

    def __repr__(self) -> str:
        return f"{self.kind.__name__} known at run time"


@dataclass(frozen=True)
class ListOf:
    """What a list of lists holds: lists of this kind."""

    kind: Kind

    @property
    def __name__(self) -> str:
        return f"List[{self.kind.__name__}]"


Kind = Union[type, ListOf]


@dataclass(frozen=True, slots=True)
class Cuts:
    """A list of pieces of a tensor where the opset has no lists: each can be had, all together are the error."""

    count: Size
    at: Callable[[Size], Tensor]
    error: LoweringError


class Sequence:
    """A list whose length is known only at run time: of tensors of one dtype, of numbers, or of lists of these.

    A list that it holds is a tensor with the elements along its first axis.

    `rows` holds the elements along its first axis, where all have the same sizes; numbers always do. Otherwise
    `value` is an ONNX sequence. `dims` are the sizes of each element: None for one that differs from element to
    element, or for all if even their number does. `cuts` are there instead of a value where an opset has no sequences.
    """

    __slots__ = ("_value", "dims", "dtype", "element", "held", "kind", "named", "rows")

    def __init__(
        self,
        kind: Kind,
        dtype: torch.dtype,
        dims: tuple[Size | None, ...] | None,
        *,
        rows: Tensor | None = None,
        value: ir.Value | Cuts | None = None,
        held: tuple[Any, ...] = (),
    ) -> None:
        self.kind = kind  # Tensor, int, float, bool, or a `ListOf` these
        self.dtype = dtype
        self.dims = dims
        self.rows = rows
        self._value = value
        self.held = held  # storages whose memory elements may share, with the number of writes to them at that time
        self.element: Any = None  # of a list of views: gives the view at an index
        # Gives as many elements as a program has names for (`a, b = ...`) in a cheaper way; None if it can't.
        self.named: Any = None

    @property
    def value(self) -> ir.Value | None:
        if isinstance(self._value, Cuts):
            raise self._value.error
        return self._value

    @property
    def cuts(self) -> Cuts | None:
        return self._value if isinstance(self._value, Cuts) else None

    def _refuse(self, *_: object) -> NoReturn:
        raise LoweringError(
            "the length of a list is known only at run time, but must be known here; "
            "stack the list to a tensor, or make its length a constant"
        )

    __len__ = __iter__ = __bool__ = __getitem__ = _refuse

    def __repr__(self) -> str:
        return f"List[{self.kind.__name__}] of a length known at run time"


class Maybe:
    """A value that is None in some runs of the exported model: `present` is a bool `Scalar`."""

    __slots__ = ("present", "value")

    def __init__(self, present: Scalar, value: Any) -> None:
        self.present = present
        self.value = value

    def __repr__(self) -> str:
        return f"{describe(self.value)} or None"


@dataclass(frozen=True, slots=True)
class Unclear:
    """A value that can't be had in the exported model; using it is the error."""

    reason: str


class Missing:
    """Stands for the result of an op that has no lowering, so that the others can still be looked at."""


MISSING = Missing()


class Uninitialized:
    """The value of a name that has none yet, where control flow can't use it."""

    def __repr__(self) -> str:
        return "<uninitialized>"


UNINITIALIZED = Uninitialized()

Number = Union[bool, int, float, complex, Dim, Scalar]

DTYPE_NAMES = {torch.bool: "bool"}


def describe(value: object) -> str:
    """A short text for messages: `float32[batch, 3]`, `5`, `[int64[4], None]`."""
    if isinstance(value, Tensor):
        name = str(value.dtype).removeprefix("torch.")
        return f"{name}[{'?' if value.dims is None else ', '.join(map(str, value.dims))}]"
    if isinstance(value, (list, tuple)):
        shown = ", ".join(describe(v) for v in value[:8]) + (", ..." if len(value) > 8 else "")
        return f"[{shown}]" if isinstance(value, list) else f"({shown})"
    return repr(value) if isinstance(value, str) else str(value)
