"""The default type of floats: nodes of a trace (`aten::zeros` without a type) don't say which one they were made under."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch

from ...errors import LoweringError
from ..shared import shared
from .pitfalls import place_of_call


@shared
@contextlib.contextmanager
def default_types_kept() -> Iterator[None]:
    """Refuse that a model sets another one while it is traced."""
    types, tensors = torch._C._set_default_dtype, torch._C._set_default_tensor_type

    def refusing(plain: Callable[[Any], None]) -> Callable[[Any], None]:
        def set_default(kind: Any) -> None:
            before = torch.get_default_dtype()
            plain(kind)
            if torch._C._get_tracing_state() and torch.get_default_dtype() != before:
                types(before)
                raise LoweringError(
                    f"the model sets the default type of floats, {before}, to another one, which isn't recorded; give the type "
                    "where tensors are made (`dtype=`), or set it before the export",
                    place=place_of_call(),
                )

        return set_default

    with mock.patch.multiple(torch._C, _set_default_dtype=refusing(types), _set_default_tensor_type=refusing(tensors)):
        yield
