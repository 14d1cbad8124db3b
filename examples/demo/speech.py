"""Silero VAD, a trained voice detector that comes as TorchScript; it is exported as it is, without a run."""

from __future__ import annotations

import importlib.util
import math
import pathlib
import warnings

import torch
from case import Case

from onnxport import ExportResult
from onnxport.verify import Session

RATE, WINDOW, CONTEXT = 16_000, 512, 64


def case() -> Case:
    spec = importlib.util.find_spec("silero_vad")
    if spec is None or spec.origin is None:
        raise ImportError("the weights are missing: pip install --no-deps -r examples/demo/requirements-no-deps.txt")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch.jit.load; the weights come in no other form
        whole = torch.jit.load(str(pathlib.Path(spec.origin).parent / "data" / "silero_vad.jit"))
    model = whole._model.eval()  # for 16 kHz; around it the package keeps the state in attributes
    sound = windows()
    state = torch.zeros(2, 1, 128)

    def judge(session: Session, result: ExportResult) -> list[str]:
        """A stream, window by window, the state going from run to run on either side."""
        ours = theirs = state
        said = []
        for window in sound:
            chance, ours = session.run({"sound": window[None], "state": ours})
            with torch.no_grad():
                expected, theirs = model(window[None], theirs)
            torch.testing.assert_close(chance, expected, rtol=1e-3, atol=1e-4)
            said.append(float(chance))
        half = len(said) // 2
        return [
            f"largest chance of speech in noise {max(said[:half]):.2f}, in a synthesised voice {max(said[half:]):.2f}"
        ]

    return Case(
        "silero-vad.onnx", model, (sound[-4:], torch.zeros(2, 4, 128)), ["sound", "state"], ["speech", "new_state"],
        judge, {"sound": {0: "batch"}, "state": {1: "batch"}}, opset=18,
    )  # fmt: skip


def windows() -> torch.Tensor:
    """A second of faint noise, then a second of a buzz with the formants of a spoken "ah", in overlapping windows."""
    generator = torch.Generator().manual_seed(0)
    time = torch.arange(RATE) / RATE
    pitch = 120 * (1 + 0.05 * torch.sin(2 * math.pi * 5 * time))
    phase = torch.cumsum(2 * math.pi * pitch / RATE, 0)
    harmonics = range(1, 30)
    loudness = [
        sum(math.exp(-(((120 * k - f) / w) ** 2)) for f, w in ((700, 130), (1220, 70), (2600, 160))) for k in harmonics
    ]
    voice = sum(a * torch.sin(k * phase) for a, k in zip(loudness, harmonics)) * torch.sin(math.pi * 3 * time) ** 2
    sound = torch.cat([0.001 * torch.randn(RATE, generator=generator), 0.2 * torch.as_tensor(voice)])
    return sound.unfold(0, CONTEXT + WINDOW, WINDOW)
