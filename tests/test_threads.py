"""Several threads that export at a time, from the first export of a process on."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest
import torch
from torch import nn

import onnxport

PROGRAM = """
import threading
import torch
import onnxport

models = [
    (torch.nn.Linear(3, 4), torch.randn(2, 3)),
    (torch.nn.Conv1d(3, 4, 1), torch.randn(2, 3, 5)),
    (torch.nn.LSTM(3, 4), torch.randn(2, 5, 3)),
    (torch.nn.Softmax(-1), torch.randn(2, 3)),
    (torch.fft.rfft, torch.randn(2, 4)),
    (torch.abs, torch.randn(2, 3, dtype=torch.complex64)),
]
start, failures = threading.Barrier(len(models) * 2), []

def export(model, x):
    start.wait()
    try:
        onnxport.export(model, x).verify()
    except BaseException as error:
        failures.append(error)

threads = [threading.Thread(target=export, args=case) for case in models * 2]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failures, failures
"""


def test_first_exports_of_a_process_in_threads():
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


class Stateful(nn.Module):
    """An export changes what it has: its mode, an attribute, a buffer."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(20))
        self.dropout, self.kept = nn.Dropout(0.5), None
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x):
        if self.kept is None:
            self.kept = torch.arange(4.0)
        self.count += 1
        for layer in self.layers:
            x = torch.relu(layer(x)) + self.kept
        return self.dropout(x) + self.count


@pytest.mark.filterwarnings("ignore:the model writes to")
def test_one_model_in_several_threads():
    """They wait for each other, also where only a part of the model is the same."""
    shared = Stateful()
    models, x = [shared, shared, nn.Sequential(shared)], torch.randn(3, 4)
    before, interval = {name: tensor.clone() for name, tensor in shared.state_dict().items()}, sys.getswitchinterval()
    results = []

    def export(model):
        results.append(onnxport.export(model, x, input_names=["x"], dynamic_axes={"x": {0: "n"}})(x))

    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=export, args=[model]) for model in models]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert shared.training and shared.kept is None
    assert all(torch.equal(tensor, before[name]) for name, tensor in shared.state_dict().items())
    with torch.no_grad():
        expected = shared.eval()(x)
    assert len(results) == 3
    for result in results:
        torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)
