"""Small models that compute with complex numbers, in the way that published ones do."""

import dataclasses

import torch
from torch import nn

from tests.harness import LATEST, c64, case, cases, check, f32


class SpectralConvolution(nn.Module):
    """Of Fourier neural operators: products of the lowest frequencies with complex weights."""

    def __init__(self):
        super().__init__()
        self.low = nn.Parameter(torch.randn(3, 4, 5, 5, dtype=torch.cfloat) * 0.1)
        self.high = nn.Parameter(torch.randn(3, 4, 5, 5, dtype=torch.cfloat) * 0.1)

    def forward(self, x):
        spectrum = torch.fft.rfft2(x)
        out = torch.zeros(x.shape[0], 4, x.size(-2), x.size(-1) // 2 + 1, dtype=torch.cfloat)
        out[:, :, :5, :5] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, :5, :5], self.low)
        out[:, :, -5:, :5] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, -5:, :5], self.high)
        return torch.fft.irfft2(out, s=(x.size(-2), x.size(-1)))


class GlobalFilter(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8, 5, 4, 2) * 0.02)

    def forward(self, x):
        batch, count, channels = x.shape
        x = torch.fft.rfft2(x.view(batch, 8, 8, channels), dim=(1, 2), norm="ortho")
        x = torch.fft.irfft2(x * torch.view_as_complex(self.weight), s=(8, 8), dim=(1, 2), norm="ortho")
        return x.reshape(batch, count, channels)


class StateSpace(nn.Module):
    """The kernel of a diagonal state space model, and its convolution by transforms."""

    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.complex(-torch.rand(4, 8), torch.randn(4, 8)))
        self.c = nn.Parameter(torch.randn(4, 8, dtype=torch.cfloat))
        self.step = nn.Parameter(torch.rand(4))

    def forward(self, u):
        length = u.shape[-1]
        scaled = self.a * self.step[:, None]
        powers = torch.exp(scaled[..., None] * torch.arange(length))
        kernel = 2 * torch.einsum("hn,hnl->hl", self.c * (torch.exp(scaled) - 1.0) / self.a, powers).real
        product = torch.fft.rfft(u, n=2 * length) * torch.fft.rfft(kernel, n=2 * length)
        return torch.fft.irfft(product, n=2 * length)[..., :length]


class ComplexLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 6, dtype=torch.cfloat)
        self.conv = nn.Conv1d(2, 3, 3, dtype=torch.cfloat)

    def forward(self, x):
        y = self.conv(x)
        y = self.linear(torch.complex(torch.relu(y.real), torch.relu(y.imag))[..., :4])
        return y.abs(), y.angle(), torch.view_as_real(y), y * torch.exp(1j * y.angle())


class Whitening(nn.Module):
    """Of a covariance, by its Cholesky factor; and the solution of a system."""

    def forward(self, x):
        covariance = x @ x.mH / x.shape[-1] + 0.1 * torch.eye(x.shape[-2])
        factor = torch.linalg.cholesky(covariance)
        return torch.linalg.solve_triangular(factor, x, upper=False), torch.linalg.solve(covariance, x)


def mix(x):
    return torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real


def rotate(x, turns):
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns[None, : x.shape[1], None]).flatten(3).type_as(x)


def synthesize(magnitude, phase):
    spectrum = magnitude.exp().clip(max=100) * (torch.cos(phase) + 1j * torch.sin(phase))
    return torch.istft(spectrum, 16, 4, 16, torch.hann_window(16), center=True)


def griffin_lim(magnitude):
    window = torch.hann_window(16)
    direction = torch.ones_like(magnitude) + 0j
    for _ in range(3):
        signal = torch.istft(magnitude * direction, 16, 4, window=window)
        again = torch.stft(signal, 16, 4, window=window, return_complex=True)
        direction = again / (again.abs() + 1e-8)
    return torch.istft(magnitude * direction, 16, 4, window=window)


B, T = {0: "b"}, {2: "t"}
TURNS = torch.polar(torch.ones(16, 4), torch.arange(64.0).view(16, 4))
CASES = [
    case("spectral_convolution", SpectralConvolution(), f32(2, 3, 16, 16), dynamic=B),
    case("large_spectral_convolution", SpectralConvolution(), f32(2, 3, 32, 32)),
    case("global_filter", GlobalFilter(), f32(2, 64, 4), dynamic=B),
    case("state_space", StateSpace(), f32(2, 4, 16), dynamic=B, atol=1e-4),
    case("complex_layers", ComplexLayers(), c64(2, 2, 8), dynamic=B),
    case("whitening", Whitening(), c64(2, 3, 6), dynamic=B),
    case("mix", mix, f32(2, 6, 4), dynamic={0: {0: "b", 1: "t"}}),
    case("rotate", rotate, f32(2, 5, 2, 8), TURNS, dynamic={0: {0: "b", 1: "t"}}),
    case("synthesize", synthesize, f32(1, 9, 10), f32(1, 9, 10), dynamic={0: T, 1: T}),
    case("griffin_lim", griffin_lim, f32(1, 9, 10, low=0.1), rtol=1e-2, atol=1e-2),
]


@cases(CASES, opsets=(17, LATEST))
def test_models(case, frontend, opset):
    check(case, frontend, opset)


@cases([dataclasses.replace(c, dynamic={}) for c in CASES], frontends=("exported",), opsets=(20,))
def test_exported_models(case, frontend, opset):
    check(case, frontend, opset)
