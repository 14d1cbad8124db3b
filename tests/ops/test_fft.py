import pytest
import torch
from tests.harness import LATEST, c64, case, cases, check, f32, f64, i64, operators

from onnxport.errors import OpsetError

N = {0: {0: "n"}}
LOOSE = {"rtol": 1e-3, "atol": 1e-4}


def call(name, **options):
    function = getattr(torch.fft, name)
    return lambda x: function(x, **options)


TRANSFORMS = [
    *[case(f"{name}_{norm}_{dim}", call(name, dim=dim, norm=norm), example(4, 6), dynamic=N if dim else None, **LOOSE)
      for name, example in (("fft", c64), ("ifft", c64), ("rfft", f32), ("irfft", c64), ("hfft", c64), ("ihfft", f32))
      for norm, dim in (("backward", -1), ("ortho", 0), ("forward", 1))],
    *[case(f"{name}_{n}", call(name, n=n), example(2, 7), **LOOSE)
      for name, example in (("fft", f32), ("ifft", c64), ("rfft", f32), ("irfft", c64), ("hfft", c64), ("ihfft", f32)) for n in (5, 10)],
    *[case(name, call(name), example(2, 4, 5), dynamic=N, **LOOSE)
      for name, example in (("fft2", f32), ("ifft2", c64), ("rfft2", f32), ("irfft2", c64))],
    *[case(f"{name}_s", call(name, s=(3, 6), dim=(0, 2), norm="ortho"), example(2, 4, 5), **LOOSE)
      for name, example in (("fftn", f32), ("ifftn", c64), ("rfftn", f32), ("irfftn", c64), ("hfftn", c64), ("ihfftn", f32))],
    case("integers", torch.fft.fft, i64(2, 4), **LOOSE),
    case("integers_to_real", torch.fft.irfft, i64(2, 4), **LOOSE),
    case("double", torch.fft.rfft, f64(2, 9)),
    case("fftshift", lambda x: torch.fft.fftshift(x, dim=0), f32(5, 3), dynamic=N),
    case("ifftshift", torch.fft.ifftshift, c64(5, 4)),
    case("filter", lambda x: torch.fft.irfft(torch.fft.rfft(x) * torch.fft.rfft(x), n=8), f32(2, 8), dynamic=N, **LOOSE),
]  # fmt: skip
RUN_TIME = [
    case("fft", torch.fft.fft, c64(2, 6), dynamic={0: {1: "n"}}, opset=17, **LOOSE),
    case("ifft", torch.fft.ifft, c64(2, 6), dynamic={0: {1: "n"}}, opset=17, **LOOSE),
    case("rfft", lambda x: torch.fft.rfft(x, norm="ortho").abs(), f32(2, 6), dynamic={0: {1: "n"}}, opset=17, **LOOSE),
    *[
        case(
            f"{name}_as_long_as_{wanted}",
            lambda x, name=name, length=length, norm=norm: call(name, n=length(x.shape[1]), norm=norm)(x),
            c64(3, 6),
            dynamic={0: {1: "n"}},
            opset=17,
            **LOOSE,
        )
        for name, norm in (("irfft", "backward"), ("hfft", "ortho"))
        for wanted, length in (
            ("half", lambda n: n),
            ("even", lambda n: 2 * n),
            ("odd", lambda n: 2 * n - 1),
            ("default", lambda n: None),
        )
    ],
    case(
        "irfft2",
        lambda x: torch.fft.irfft2(x, s=(x.shape[1], x.shape[2] + 1)),
        c64(2, 4, 6),
        dynamic={0: {1: "n", 2: "m"}},
        opset=17,
        **LOOSE,
    ),
    case(
        "correlation",
        lambda x: torch.fft.irfft(torch.fft.rfft(x, dim=0).abs(), n=x.shape[0], dim=0),
        f32(7, 3),
        dynamic=N,
        opset=17,
        **LOOSE,
    ),
    case("long", torch.fft.rfft, f32(1, 1024), rtol=1e-3, atol=1e-3),
    case("long_and_odd", torch.fft.rfft, f32(1, 600), **LOOSE),
]


@cases(TRANSFORMS, opsets=(13, LATEST))
def test_transforms(case, frontend, opset):
    check(case, frontend, opset)


@cases(RUN_TIME, opsets=(17, 20))
def test_length_known_at_run_time(case, frontend, opset):
    check(case, frontend, opset)


def test_length_known_at_run_time_needs_dft():
    with pytest.raises(OpsetError, match="needs opset 17"):
        check(RUN_TIME[0], opset=13)


WINDOW = torch.hann_window(16)
SIGNAL = f32(2, 100)
TIME = {0: {0: "n", 1: "t"}}


def stft(**options):
    return lambda x: torch.view_as_real(torch.stft(x, 16, return_complex=True, **options))


def back(**options):
    """There and back; `length` may be given."""
    length = options.pop("length", None)
    return lambda x: torch.istft(torch.stft(x, 16, return_complex=True, **options), 16, length=length, **options)


SHORT = [
    case("plain", stft(window=WINDOW), SIGNAL, dynamic=TIME, **LOOSE),
    case("hop", stft(window=WINDOW, hop_length=5, normalized=True), SIGNAL, dynamic=TIME, **LOOSE),
    case("window", stft(window=torch.hann_window(11), win_length=11, hop_length=4), SIGNAL, dynamic=TIME, **LOOSE),
    case("not_centered", stft(window=WINDOW, center=False), SIGNAL, dynamic=TIME, **LOOSE),
    case("constant", stft(window=WINDOW, pad_mode="constant"), SIGNAL, dynamic=TIME, **LOOSE),
    case("two_sided", stft(window=WINDOW, onesided=False), SIGNAL, dynamic=TIME, **LOOSE),
    case("one_signal", stft(window=WINDOW), f32(100), dynamic={0: {0: "t"}}, **LOOSE),
    case("power", lambda x: torch.stft(x, 16, window=WINDOW, return_complex=True).abs() ** 2, SIGNAL, dynamic=TIME, **LOOSE),
    case("back", back(window=WINDOW), SIGNAL, dynamic={0: {0: "n"}}, **LOOSE),
    case("back_dynamic", back(window=WINDOW), f32(2, 96), dynamic=TIME, **LOOSE),
    case("back_length", back(window=WINDOW, hop_length=4, length=98), SIGNAL, dynamic={0: {0: "n"}}, **LOOSE),
    case("back_normalized", back(window=torch.hamming_window(12), win_length=12, normalized=True, hop_length=3), f32(96), **LOOSE),
    case("back_two_sided", back(window=WINDOW, onesided=False), SIGNAL, **LOOSE),
]  # fmt: skip


@cases(SHORT, opsets=(13, LATEST))
def test_short_time(case, frontend, opset):
    check(case, frontend, opset)


def test_short_time_is_a_convolution():
    model = check(SHORT[3])
    assert [op for op in operators(model) if op in ("Conv", "STFT", "DFT", "MatMul")] == ["Conv"]


FREQUENCIES = [
    case("static", lambda x: (torch.fft.fftfreq(5) + x, torch.fft.fftfreq(6, 0.5), torch.fft.rfftfreq(7, 2.0)), f32(5)),
    case("dynamic", lambda x: x * torch.fft.fftfreq(x.shape[0], d=0.25), f32(5), dynamic={0: {0: "n"}}),
    case("dynamic_half", lambda x: torch.fft.rfft(x).abs() * torch.fft.rfftfreq(x.shape[-1]), f32(2, 6)),
    case("double", lambda x: torch.fft.rfftfreq(x.shape[0], dtype=torch.float64), f32(6), dynamic={0: {0: "n"}}),
]


@cases(FREQUENCIES, opsets=(7, 11, LATEST))
def test_frequencies(case, frontend, opset):
    check(case, frontend, opset)


HANN, COMPLEX_WINDOW = torch.hann_window(16), torch.randn(16, dtype=torch.complex64)


def stft(x, window=HANN, **options):
    return torch.stft(x, 16, window=window, return_complex=True, **options)


COMPLEX_SIGNALS = [
    case("signal", lambda x: stft(x, onesided=False), c64(2, 64), dynamic={0: {1: "t"}}),
    case("one_signal", lambda x: stft(x, onesided=False, center=False, normalized=True), c64(64)),
    case("window", lambda x: stft(x, COMPLEX_WINDOW), f32(2, 64)),
    case("signal_and_window", lambda x: stft(x, COMPLEX_WINDOW), c64(2, 64)),
    case("back", lambda x: torch.istft(stft(x, onesided=False), 16, window=HANN, return_complex=True, onesided=False), c64(2, 64)),
    case("back_to_length", lambda x: torch.istft(stft(x, onesided=False), 16, window=HANN, return_complex=True, onesided=False, length=60), c64(64)),
    case("whole_spectrum_of_real", lambda x: torch.istft(stft(x, onesided=False), 16, window=HANN), f32(2, 64)),
]  # fmt: skip


@cases(COMPLEX_SIGNALS, opsets=(11, LATEST))
def test_complex_signals(case, frontend, opset):
    check(case, frontend, opset)
