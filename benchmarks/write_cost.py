"""What writing a model costs over writing its weights: time as a ratio, memory as the growth of the peak.

    python benchmarks/write_cost.py [GiB] [folder]

The bare time is that of ``file.write(memoryview(weight))`` for each weight. Both are the best of six, in
turns that change order, since the page cache and the disk are noisy. Models above 2 GB have external data.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable

import onnx_ir as ir
import torch

from onnxport.write import write_model

WEIGHT_BYTES = 64 << 20
ROUNDS = 6


def model_of(weights: list[torch.Tensor]) -> ir.Model:
    values = []
    for i, weight in enumerate(weights):
        tensor = ir.tensor_adapters.TorchTensor(weight)
        values.append(ir.Value(name=f"w{i}", shape=tensor.shape, type=ir.TensorType(tensor.dtype)))
        values[-1].const_value = tensor
    graph = ir.Graph([], [], nodes=[], initializers=values, opset_imports={"": 20}, name="weights")
    return ir.Model(graph, ir_version=10)


def write_bare(weights: list[torch.Tensor], path: str) -> None:
    with open(path, "wb") as file:
        for weight in weights:
            file.write(memoryview(weight.numpy()))


def seconds(write: Callable[[], None]) -> float:
    start = time.perf_counter()
    write()
    return time.perf_counter() - start


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(gib: float = 1.0, folder: str | None = None) -> None:
    weights = [torch.full((WEIGHT_BYTES // 4,), float(i)) for i in range(int(gib * (1 << 30) // WEIGHT_BYTES))]
    model = model_of(weights)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        path = os.path.join(scratch, "model.onnx")
        best = {"bare": float("inf"), "write_model": float("inf")}
        growth = 0.0
        writers = [
            ("bare", lambda: write_bare(weights, path)),
            ("write_model", lambda: write_model(model, path)),
        ]
        for _ in range(ROUNDS):
            writers.reverse()
            for name, write in writers:
                before = peak_mib()
                best[name] = min(best[name], seconds(write))
                if name == "write_model":
                    growth = max(growth, peak_mib() - before)
                for file in os.listdir(scratch):
                    os.unlink(os.path.join(scratch, file))
    bare, ours = best["bare"], best["write_model"]
    print(f"{gib:g} GiB: bare {bare:.2f} s, write_model {ours:.2f} s, ratio {ours / bare:.2f}")
    print(f"peak memory grew by {growth:.1f} MiB")


if __name__ == "__main__":
    main(*[convert(argument) for convert, argument in zip((float, str), sys.argv[1:])])
