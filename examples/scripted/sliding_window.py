"""Windows over a signal, the last one padded; each is centred and scored."""

import torch
import torch.nn.functional as F


def windows(signal: torch.Tensor, size: int, hop: int) -> tuple[torch.Tensor, torch.Tensor]:
    frames: list[torch.Tensor] = []
    start = 0
    while start < signal.shape[0]:
        frame = signal[start : start + size]
        if frame.shape[0] < size:
            frame = F.pad(frame, [0, size - frame.shape[0]])
        frames.append(frame - frame.mean())
        start += hop
    stacked = torch.stack(frames)
    return stacked, stacked.pow(2).sum(1)


def program():
    return torch.jit.script(windows)


def arguments():
    return [(torch.randn(20), 6, 4), (torch.randn(7), 3, 3), (torch.randn(2), 8, 5)]


DYNAMIC = {0: {0: "samples"}}
