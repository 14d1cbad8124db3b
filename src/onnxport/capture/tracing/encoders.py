"""`nn.TransformerEncoder` with a padding mask, as it is in inference, while a model is traced.

There PyTorch packs the sequences, where each is padded at its end alone, and fills what is padded with zeros. It doesn't
while it is traced: the zeros are put there here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from unittest import mock

import torch
from torch import Tensor, nn

from ..shared import shared

_forward = nn.TransformerEncoder.forward


@shared
@contextlib.contextmanager
def padded_with_zeros() -> Iterator[None]:
    """Let encoders that PyTorch would pack give zeros where the mask pads."""

    def forward(
        self: nn.TransformerEncoder,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        if src_key_padding_mask is None or mask is not None or not _packs(self, src):
            return _forward(self, src, mask, src_key_padding_mask, is_causal)
        norm, self.norm = self.norm, None  # comes after the zeros
        try:
            output = _forward(self, src, mask, src_key_padding_mask, is_causal)
        finally:
            self.norm = norm
        output = output.masked_fill(_padding(self, src_key_padding_mask).unsqueeze(-1), 0.0)
        return output if norm is None else norm(output)  # type: ignore[no-any-return]

    with mock.patch.object(nn.TransformerEncoder, "forward", forward):
        yield


def _packs(encoder: nn.TransformerEncoder, src: Tensor) -> bool:
    """Whether PyTorch packs what it is given, in inference."""
    first = encoder.layers[0]
    return (
        torch._C._get_tracing_state() is not None
        and torch.backends.mha.get_fastpath_enabled()
        and getattr(encoder, "use_nested_tensor", False)
        and isinstance(first, nn.TransformerEncoderLayer)
        and not first.training
        and src.dim() == 3
        and not torch.is_autocast_enabled()
    )


def _padding(encoder: nn.TransformerEncoder, mask: Tensor) -> Tensor:
    padded = mask if mask.dtype == torch.bool else mask != 0
    if not getattr(encoder, "mask_check", True):
        return padded
    at_the_end = (~padded[:, :-1] | padded[:, 1:]).all()
    return padded & at_the_end
