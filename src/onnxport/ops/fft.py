"""Fourier transforms.

A transform of constant length is a product with the matrix of sines and cosines, which runtimes do at full speed; a
long one, or one whose length is known only at run time, is ONNX's DFT. Short-time transforms are convolutions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ..dims import Size, known_le
from ..dtypes import from_scalar_type, real_of
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.complex import as_pair, both, join, split
from ..lower.registry import complex_lowering, lowering
from ..lower.values import Array, Tensor

# Up to these lengths a product with the matrix is used: for powers of two it is as fast as the transform, for others
# more exact (onnxruntime's is off by 1e-4 there). DFT needs opset 17.
_MATRIX_OF_POWER, _MATRIX = 256, 2048

Parts = tuple[Tensor, Tensor | None]


# -- one axis -------------------------------------------------------------------------------------


def _waves(rows: Array, columns: Array, length: int, dtype: torch.dtype, g: Builder) -> tuple[Tensor, Tensor]:
    """Cosines and sines of 2 pi rows columns / length."""
    phase = (np.outer(rows, columns) % length) * (2 * np.pi / length)
    return g.const(np.cos(phase), dtype), g.const(np.sin(phase), dtype)


def _resized(g: Builder, x: Tensor, axis: int, length: Size) -> Tensor:
    """x cut or filled with zeros to a length along an axis; -1 leaves it."""
    size = x.shape[axis]
    if length in (-1, size):
        return x
    if known_le(length, size) is not True:
        pads: list[Size] = [0] * (2 * x.rank)
        pads[x.rank + axis] = length - size  # cuts where it is negative
        padded = g.pad(x, pads, value=0)
        padded.dims = (*x.shape[:axis], length, *x.shape[axis + 1 :])
        return padded
    return g.slice(x, [0], [length], [axis])


def _transform(g: Builder, x: Parts, axis: int, inverse: bool, onesided: bool = False) -> tuple[Tensor, Tensor]:
    """The transform along an axis, not scaled."""
    a, b = x
    length = a.shape[axis]
    limit = _MATRIX_OF_POWER if isinstance(length, int) and length & (length - 1) == 0 else _MATRIX
    if isinstance(length, int) and (length <= limit or g.opset < 17):
        return _by_matrix(g, a, b, axis, length, inverse, onesided)
    return _by_op(g, a, b, axis, length, inverse, onesided)


def _by_matrix(
    g: Builder, a: Tensor, b: Tensor | None, axis: int, length: int, inverse: bool, onesided: bool
) -> tuple[Tensor, Tensor]:
    count = length // 2 + 1 if onesided else length
    cos, sin = _waves(np.arange(length), np.arange(count), length, a.dtype, g)
    if not inverse:
        sin = g.neg(sin)
    last = a.rank - 1
    a = g.swap(a, axis, last)
    if b is None:
        real, imag = g.matmul(a, cos), g.matmul(a, sin)
    else:
        b = g.swap(b, axis, last)
        real = g.sub(g.matmul(a, cos), g.matmul(b, sin))
        imag = g.add(g.matmul(a, sin), g.matmul(b, cos))
    return g.swap(real, axis, last), g.swap(imag, axis, last)


def _by_op(
    g: Builder, a: Tensor, b: Tensor | None, axis: int, length: Size, inverse: bool, onesided: bool
) -> tuple[Tensor, Tensor]:
    g.require(17, "a Fourier transform whose length is known only at run time")
    pair = g.unsqueeze(a, [a.rank]) if b is None else as_pair(g, join(g, a, b))
    options: dict[str, Any] = {"inverse": int(inverse)}
    if inverse and b is None:  # the inverse wants complex numbers
        pair = as_pair(g, join(g, *both(g, a)))
    if onesided and not inverse:
        options["onesided"] = 1
    if g.opset >= 20:
        result = g.op("DFT", pair, None, g.const(axis, torch.int64), **options)
    else:
        result = g.op("DFT", pair, axis=axis, **options)
    real, imag = g.gather(result, 0, a.rank), g.gather(result, 1, a.rank)
    if inverse:  # which divides by the length
        scale = g.cast(g.size(length), a.dtype)
        real, imag = g.mul(real, scale), g.mul(imag, scale)
    return real, imag


def _scale(
    g: Builder, parts: Sequence[Tensor], lengths: Sequence[Size], norm: str | None, inverse: bool
) -> list[Tensor]:
    """Divided by the number of elements, or its root, as the norm says."""
    mode = norm or "backward"
    if mode == ("forward" if inverse else "backward"):
        return list(parts)
    total: Size = 1
    for length in lengths:
        total = total * length
    dtype = parts[0].dtype
    if isinstance(total, int):
        factor = g.const(1 / total if mode != "ortho" else total**-0.5, dtype)
        return [g.mul(x, factor) for x in parts]
    divisor = g.cast(g.size(total), dtype)
    divisor = g.sqrt(divisor) if mode == "ortho" else divisor
    return [g.div(x, divisor) for x in parts]


def _parts(g: Builder, x: Tensor) -> Parts:
    a, b = split(g, x)
    return (a if a.is_float else g.cast(a, torch.get_default_dtype())), b


# -- several axes ---------------------------------------------------------------------------------


def _axes(rank: int, s: Sequence[Size] | None, dim: Sequence[int] | None) -> list[int]:
    if dim is None:
        count = rank if s is None else len(s)
        return list(range(rank - count, rank))
    return [d % rank for d in dim]


def _complex_to_complex(
    g: Builder, x: Tensor, s: Sequence[Size] | None, dim: Sequence[int] | None, norm: str | None, inverse: bool
) -> Tensor:
    a, b = _parts(g, x)
    axes = _axes(a.rank, s, dim)
    for axis, length in zip(axes, s or ()):
        a, b = _resized(g, a, axis, length), None if b is None else _resized(g, b, axis, length)
    lengths = [a.shape[axis] for axis in axes]
    for axis in axes:
        a, b = _transform(g, (a, b), axis, inverse)
    if b is None:
        b = g.full(a.shape, 0, a.dtype)
    return join(g, *_scale(g, (a, b), lengths, norm, inverse))


def _real_to_complex(
    g: Builder, x: Tensor, s: Sequence[Size] | None, dim: Sequence[int] | None, norm: str | None, inverse: bool = False
) -> Tensor:
    a, _ = _parts(g, x)
    axes = _axes(a.rank, s, dim)
    for axis, length in zip(axes, s or ()):
        a = _resized(g, a, axis, length)
    lengths = [a.shape[axis] for axis in axes]
    parts: Parts = _transform(g, (a, None), axes[-1], False, onesided=True)
    if inverse:
        assert parts[1] is not None
        parts = parts[0], g.neg(parts[1])
    for axis in axes[:-1]:
        parts = _transform(g, parts, axis, inverse)
    real, imag = parts
    assert imag is not None
    return join(g, *_scale(g, (real, imag), lengths, norm, inverse))


def _complex_to_real(
    g: Builder, x: Tensor, s: Sequence[Size] | None, dim: Sequence[int] | None, norm: str | None, inverse: bool = True
) -> Tensor:
    """The transform of half a spectrum, whose other half is the conjugate, to real numbers."""
    real, imag = _parts(g, x)
    a, b = real, g.full(real.shape, 0, real.dtype) if imag is None else imag
    axes = _axes(a.rank, s, dim)
    wanted = list(s) if s is not None else [-1] * len(axes)
    for axis, length in zip(axes[:-1], wanted):
        a, b = (_resized(g, p, axis, length) for p in (a, b))
    last = axes[-1]
    length = wanted[-1] if wanted[-1] != -1 else 2 * (a.shape[last] - 1)
    a, b = (_resized(g, p, last, length // 2 + 1) for p in (a, b))
    lengths = [*[a.shape[axis] for axis in axes[:-1]], length]
    for axis in axes[:-1]:
        a, b = _transform(g, (a, b), axis, inverse)
    if not isinstance(length, int):
        a, b = _with_conjugates(g, a, b, last, length)
        return _scale(g, [_transform(g, (a, b), last, inverse)[0]], lengths, norm, inverse)[0]
    # Each frequency but the first and the middle one stands for its conjugate as well.
    waves = np.arange(length // 2 + 1)
    weight = np.where((waves == 0) | (2 * waves == length), 1.0, 2.0)
    phase = (np.outer(waves, np.arange(length)) % length) * (2 * np.pi / length)
    cos = g.const(np.cos(phase) * weight[:, None], a.dtype)
    sin = g.const(np.sin(phase) * weight[:, None] * (1 if inverse else -1), a.dtype)
    end = a.rank - 1
    real = g.sub(g.matmul(g.swap(a, last, end), cos), g.matmul(g.swap(b, last, end), sin))
    return _scale(g, [g.swap(real, last, end)], lengths, norm, inverse)[0]


def _with_conjugates(g: Builder, a: Tensor, b: Tensor, axis: int, length: Size) -> tuple[Tensor, Tensor]:
    """All of a spectrum of half of it: the conjugates of the frequencies that aren't their own follow in reverse."""
    ends = [(length - 1) // 2], [0], [axis], [-1]
    whole = g.concat([a, g.slice(a, *ends)], axis), g.concat([b, g.neg(g.slice(b, *ends))], axis)
    for part in whole:
        part.dims = (*a.shape[:axis], length, *a.shape[axis + 1 :])
    return whole


# -- operators ------------------------------------------------------------------------------------


def _register(name: str, transform: Any, **options: Any) -> None:
    def one(g: Builder, self: Tensor, n: Size | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        """fft_fft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor"""
        made: Tensor = transform(g, self, None if n is None else [n], [dim], norm, **options)
        return made

    def several(g: Builder, self: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
        """fft_fftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor"""
        made: Tensor = transform(g, self, s, dim, norm, **options)
        return made

    for suffix, function in (("", one), ("2", several), ("n", several)):
        lowering(f"aten::fft_{name}{suffix}")(function)
        complex_lowering(f"aten::fft_{name}{suffix}")(function)


_register("fft", _complex_to_complex, inverse=False)
_register("ifft", _complex_to_complex, inverse=True)
_register("rfft", _real_to_complex)
_register("irfft", _complex_to_real)
_register("hfft", _complex_to_real, inverse=False)
_register("ihfft", _real_to_complex, inverse=True)


def _factor(g: Builder, x: Tensor, lengths: Sequence[Size], normalization: int) -> Tensor:
    """x scaled: 0 by nothing, 1 by the root of the number of elements, 2 by the number."""
    norm = ("backward", "ortho", "forward")[normalization]
    if x.is_complex:
        return join(g, *_scale(g, both(g, x), lengths, norm, False))
    return _scale(g, [x], lengths, norm, False)[0]


@lowering("aten::_fft_r2c")
def fft_r2c(g: Builder, self: Tensor, dim: list[int], normalization: int, onesided: bool) -> Tensor:
    """_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor"""
    if onesided:
        made = _real_to_complex(g, self, None, dim, "backward")
    else:
        made = _complex_to_complex(g, self, None, dim, "backward", False)
    return _factor(g, made, [self.shape[d] for d in dim], normalization)


@complex_lowering("aten::_fft_c2c")
def fft_c2c(g: Builder, self: Tensor, dim: list[int], normalization: int, forward: bool) -> Tensor:
    """_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor"""
    made = _complex_to_complex(g, self, None, dim, "backward" if forward else "forward", not forward)
    return _factor(g, made, [self.shape[d] for d in dim], normalization)


@complex_lowering("aten::_fft_c2r")
def fft_c2r(g: Builder, self: Tensor, dim: list[int], normalization: int, last_dim_size: Size) -> Tensor:
    """_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor"""
    sizes = [*[self.shape[d] for d in dim[:-1]], last_dim_size]
    made = _complex_to_real(g, self, sizes, dim, "forward")
    return _factor(g, made, sizes, normalization)


def _shift(g: Builder, self: Tensor, dim: Any, sign: int) -> Tensor:
    rank = self.rank
    if self.is_complex:
        return join(g, *[_shift(g, part, dim, sign) for part in both(g, self)])
    for axis in range(rank) if dim is None else [d % rank for d in ([dim] if isinstance(dim, int) else dim)]:
        size = self.shape[axis]
        cut = (size + 1) // 2 if sign > 0 else size // 2
        back = g.slice(self, [cut], [(1 << 63) - 1], [axis])
        self = g.concat([back, g.slice(self, [0], [cut], [axis])], axis)
        self.dims = (*self.shape[:axis], size, *self.shape[axis + 1 :])
    return self


@lowering("aten::fft_fftshift")
def fftshift(g: Builder, self: Tensor, dim: Any = None) -> Tensor:
    """fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor"""
    return _shift(g, self, dim, 1)


@lowering("aten::fft_ifftshift")
def ifftshift(g: Builder, self: Tensor, dim: Any = None) -> Tensor:
    """fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor"""
    return _shift(g, self, dim, -1)


complex_lowering("aten::fft_fftshift")(fftshift)
complex_lowering("aten::fft_ifftshift")(ifftshift)


def _frequencies(g: Builder, places: Tensor, n: Size, d: float, dtype: int | None) -> Tensor:
    """Whole numbers over n d, the length of the signal."""
    kind = torch.get_default_dtype() if dtype is None else from_scalar_type(dtype)
    return g.div(g.cast(places, kind), g.mul(g.cast(g.size(n), kind), d))


@lowering("aten::fft_fftfreq")
def fftfreq(g: Builder, n: Size, d: float = 1.0, dtype: int | None = None, *_: Any) -> Tensor:
    """fft_fftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, ...) -> Tensor"""
    places, positive = g.range(0, n), g.size((n + 1) // 2)
    return _frequencies(g, g.where(g.less(places, positive), places, g.sub(places, g.size(n))), n, d, dtype)


@lowering("aten::fft_rfftfreq")
def rfftfreq(g: Builder, n: Size, d: float = 1.0, dtype: int | None = None, *_: Any) -> Tensor:
    """fft_rfftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, ...) -> Tensor"""
    return _frequencies(g, g.range(0, n // 2 + 1), n, d, dtype)


# -- short-time transforms ------------------------------------------------------------------------


def _promoted(g: Builder, x: Tensor, window: Tensor | None) -> tuple[torch.dtype, Tensor]:
    """The type of real numbers that products with the window have, and x in it."""
    kind = real_of(x.dtype if window is None else torch.promote_types(x.dtype, window.dtype))
    return kind, g.cast(x, torch.promote_types(x.dtype, kind))


def _window(g: Builder, window: Tensor | None, n_fft: int, win_length: int | None, dtype: torch.dtype) -> Tensor:
    """The window, in the middle of `n_fft` places."""
    length = n_fft if win_length is None else win_length
    if window is None:
        window = g.const(np.ones(length), dtype)
    left = (n_fft - length) // 2
    kind = torch.promote_types(window.dtype, dtype) if window.is_complex else dtype
    return g.pad(g.cast(window, kind), [left, n_fft - length - left], value=0)


@lowering("aten::stft")
def stft(
    g: Builder, self: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Tensor | None = None, normalized: bool = False, onesided: bool | None = None,
    return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Tensor:  # fmt: skip
    """stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool normalized=False,
    bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor"""
    is_complex = self.is_complex or (window is not None and window.is_complex)
    whole = is_complex if onesided is None else not onesided
    count = n_fft if whole else n_fft // 2 + 1
    kind, self = _promoted(g, self, window)
    cos, sin = _waves(np.arange(count), np.arange(n_fft), n_fft, kind, g)
    shape = _window(g, window, n_fft, win_length, kind)
    if normalized:
        shape = g.mul(shape, n_fft**-0.5)
    waves = g.mul(cos, shape), g.mul(g.neg(sin), shape)
    if shape.is_complex:
        (a, b), (c, d) = (both(g, wave) for wave in waves)
        waves = g.sub(a, d), g.add(b, c)
    kernel = g.unsqueeze(g.concat(waves, 0), [1])

    def transform(signal: Tensor) -> list[Tensor]:
        signal = g.unsqueeze(signal, [0, 1] if self.rank == 1 else [1])
        made = g.op("Conv", signal, kernel, strides=[n_fft // 4 if hop_length is None else hop_length])
        return g.split(made, [count, count], 1)

    real, imag = split(g, self)
    a, b = transform(real)
    if imag is not None:
        c, d = transform(imag)
        a, b = g.sub(a, d), g.add(b, c)
    result = join(g, *[g.squeeze(x, [0]) if self.rank == 1 else x for x in (a, b)])
    return result if return_complex else as_pair(g, result)


complex_lowering("aten::stft")(stft)


@lowering("aten::stft.center")
def stft_center(
    g: Builder, self: Tensor, n_fft: int, hop_length: int | None, win_length: int | None, window: Tensor | None,
    center: bool, pad_mode: str, *rest: Any,
) -> Tensor:  # fmt: skip
    """stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True,
    str pad_mode="reflect", ...) -> Tensor"""
    if center:
        half = n_fft // 2
        before = [0] * (self.rank - 1) + [half]
        modes = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}
        if pad_mode not in modes:
            raise LoweringError(f"stft with pad_mode={pad_mode!r}; pad the signal before and use center=False")
        self = g.pad(self, [*before, *before], mode=modes[pad_mode], value=0 if pad_mode == "constant" else None)
    return stft(g, self, n_fft, hop_length, win_length, window, *rest)


complex_lowering("aten::stft.center")(stft_center)


@complex_lowering("aten::istft")
def istft(
    g: Builder, self: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Tensor | None = None, center: bool = True, normalized: bool = False, onesided: bool | None = None,
    length: Size | None = None, return_complex: bool = False,
) -> Tensor:  # fmt: skip
    """istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True,
    bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor"""
    kind, self = _promoted(g, self, window)
    spectrum = g.unsqueeze(self, [0]) if self.rank == 2 else self
    hop = n_fft // 4 if hop_length is None else hop_length
    frames, half = spectrum.shape[2], n_fft // 2 + 1
    shape = _window(g, window, n_fft, win_length, kind)
    if return_complex:
        signal = _whole_signal(g, spectrum, n_fft, hop, shape, normalized)
    else:
        # Half of the spectrum says all of a real signal: each frequency but the first and the middle one counts twice.
        a, b = (g.slice(p, [0], [half], [1]) for p in both(g, spectrum))
        waves = np.arange(half)
        weight = np.where((waves == 0) | (2 * waves == n_fft), 1.0, 2.0)[:, None] / _divisor(n_fft, normalized)
        phase = (np.outer(waves, np.arange(n_fft)) % n_fft) * (2 * np.pi / n_fft)
        basis = g.const(np.concatenate([np.cos(phase) * weight, -np.sin(phase) * weight]), kind)
        kernel = g.unsqueeze(g.mul(basis, shape), [1])
        signal = g.op("ConvTranspose", g.concat([a, b], 1), kernel, strides=[hop])
    squares = g.reshape(g.mul(shape, shape), [1, 1, n_fft])
    envelope = g.op("ConvTranspose", g.full([1, 1, frames], 1, kind), squares, strides=[hop])
    start = n_fft // 2 if center else 0
    total = n_fft + hop * (frames - 1)
    end = start + length if length is not None else total - start if center else total
    signal, envelope = (g.slice(p, [start], [end], [2]) for p in (signal, envelope))
    result = g.squeeze(g.div(signal, envelope), [1])
    if length is not None:
        result = _resized(g, result, 1, length)
    else:
        result.dims = (spectrum.shape[0], end - start)
    return g.squeeze(result, [0]) if self.rank == 2 else result


def _divisor(n_fft: int, normalized: bool) -> float:
    return float(n_fft**0.5 if normalized else n_fft)


def _whole_signal(g: Builder, spectrum: Tensor, n_fft: int, hop: int, shape: Tensor, normalized: bool) -> Tensor:
    """The complex signal of all frequencies, its windows summed up."""
    cos, sin = _waves(np.arange(n_fft), np.arange(n_fft), n_fft, real_of(spectrum.dtype), g)
    basis = g.mul(join(g, cos, sin), g.mul(shape, 1 / _divisor(n_fft, normalized)))
    return g.op("ConvTranspose", spectrum, g.unsqueeze(basis, [1]), strides=[hop])
