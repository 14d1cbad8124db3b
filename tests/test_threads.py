"""Several threads that export at a time, from the first export of a process on."""

from __future__ import annotations

import subprocess
import sys

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
