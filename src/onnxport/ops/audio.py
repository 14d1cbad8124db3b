"""Operators of torchaudio."""

from __future__ import annotations

from ..lower.builder import Builder
from ..lower.recurrence import loop
from ..lower.registry import lowering
from ..lower.values import Tensor


@lowering("torchaudio::_lfilter_core_loop")
def lfilter_core_loop(
    g: Builder, input_signal_windows: Tensor, a_coeff_flipped: Tensor, padded_output_waveform: Tensor
) -> Tensor:
    """_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped, Tensor(a!) padded_output_waveform)
    -> Tensor(a!)

    Each sample less the weighted outputs before it: a recursive filter, with a Loop over time. Inputs are (batch, channel,
    time); the output has as many samples in front as the filter looks back.
    """
    x, weight, output = input_signal_windows, a_coeff_flipped, padded_output_waveform
    back = weight.shape[1] - 1
    first = g.slice(output, [0], [back], [2])
    own = g.slice(output, [back], [output.shape[2]], [2])
    before, now = g.slice(weight, [0], [back], [1]), g.slice(weight, [back], [back + 1], [1])
    rows = g.transpose(g.sub(x, g.mul(own, now)), [2, 0, 1])  # a step takes its sample from the first axis

    def step(i: Tensor, state: Tensor) -> list[Tensor]:
        made = g.sub(g.gather(rows, i, 0), g.reduce("ReduceSum", g.mul(state, before), [2]))
        later = g.slice(state, [1], [back], [2])
        return [g.concat([later, g.unsqueeze(made, [2])], 2), made]

    _, filtered = loop(g, x.shape[2], [first], step)
    return g.concat([first, g.transpose(filtered, [1, 2, 0])], 2)
