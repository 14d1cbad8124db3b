"""Exports by onnxport and by both exporters of PyTorch, side by side: time, nodes, bytes, speed, and whether they are right.

    python benchmarks/peers.py                     measure all models, write benchmarks/peers.json
    python benchmarks/peers.py --only 'bert|vit'   some of them
    python benchmarks/peers.py --draw              write docs/peers.md and docs/peers.png from the results

The models are those of the zoo (`benchmarks/zoo`) named below, with random weights and dynamic axes. Each export has its
own process; its time is processor time of a second export in it, so that imports don't count. A file is right if
onnxruntime agrees with PyTorch at the example's and at other sizes. Latencies, one thread each, are medians of runs in
turns, so that a machine whose speed drifts hurts all alike.

Needs torch, torchvision, timm, transformers, diffusers, onnxruntime, onnxscript (a peer) and, to draw, matplotlib.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import re
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "zoo"))
RESULTS = HERE / "peers.json"
DOCS = HERE.parent / "docs"
EXPORTERS = ("onnxport", "torchscript", "dynamo")
OPSET = 20
MODELS = (
    "alexnet", "resnet18", "mobilenet_v3_small", "efficientnet_b0", "densenet121", "convnext_tiny", "regnet_y_400mf",
    "shufflenet_v2_x1_0", "swin_t", "mc3_18", "lraspp_mobilenet_v3_large", "timm fastvit_t8", "timm deit_tiny_patch16_224",
    "bert text", "t5 text", "distilbert masked", "electra masked", "gpt2 causal", "llama causal", "qwen2 causal",
    "clip contrastive", "vit image classification", "segformer image classification", "wav2vec2 audio", "whisper audio",
    "UNet2DModel", "AutoencoderKL", "MelSpectrogram",
)  # fmt: skip
TIMEOUT = 300  # seconds for one export
LATENCY = 3.0  # seconds of runs for one model, all exporters together


def export(
    exporter: str, model: Any, example: dict[str, Any], names: list[str], axes: dict[str, Any], path: str
) -> None:
    import torch

    if exporter == "onnxport":
        import onnxport

        onnxport.export(model, (), path, kwargs=example, input_names=names, dynamic_axes=axes, opset_version=OPSET)
        return
    common: dict[str, Any] = {"kwargs": example, "input_names": names, "opset_version": OPSET}
    if exporter == "torchscript":
        torch.onnx.export(model, (), path, dynamo=False, dynamic_axes=axes, **common)
    else:
        leaves, structure = torch.utils._pytree.tree_flatten(example)
        shapes = [dict.fromkeys(axes.get(name, {}), torch.export.Dim.AUTO) for name in names]
        if len(shapes) != len(leaves):
            raise ValueError("arguments that are no tensors")
        torch.onnx.export(
            model, (), path, dynamo=True, verbose=False, external_data=False,
            dynamic_shapes=torch.utils._pytree.tree_unflatten(shapes, structure), **common,
        )  # fmt: skip


def measure(name: str, exporter: str, path: str) -> dict[str, Any]:
    """Export one model twice; what came out."""
    import onnx
    import torch

    import compare
    from entry import ENTRIES
    from onnxport.capture.inputs import flatten, flatten_outputs

    silence = os.open(os.devnull, os.O_WRONLY)  # the peers print graphs
    for stream in (1, 2):
        os.dup2(silence, stream)
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    zoo = ENTRIES[name].build()
    model = zoo.model.eval()
    compare.make_telling(model, zoo.calibrate or zoo.example)
    sets = (zoo.example, zoo.other)
    with torch.no_grad():
        expected = [flatten_outputs(model(**compare.copied(x))).leaves for x in sets]
    given = [flatten(model, (), x) for x in sets]
    axes = compare.dynamic_axes(*given)
    try:
        for _ in range(2):
            start = time.process_time()
            export(exporter, model, compare.copied(zoo.example), given[0].names, axes, path)
            seconds = time.process_time() - start
    except Exception as error:
        return {"status": "no export", "error": f"{type(error).__name__}: {str(error).strip().splitlines()[0][:120]}"}
    proto = onnx.load(path)
    record = {"seconds": round(seconds, 3), "nodes": _nodes(proto.graph), "bytes": Path(path).stat().st_size}
    for size, arguments, outputs in zip(("example", "other size"), given, expected):
        try:
            problem = compare.difference(outputs, compare.run(proto, arguments), zoo)
        except Exception as error:
            problem = str(error).strip().splitlines()[0][:120]
        if problem:
            return {**record, "status": f"wrong at the {size}", "error": problem}
    return {**record, "status": "right"}


def _nodes(graph: Any) -> int:
    """Nodes of a graph and of those in it."""
    inner = [a.g for node in graph.node for a in node.attribute if a.HasField("g")]
    return len(graph.node) + sum(map(_nodes, inner))


def in_own_process(name: str, exporter: str, path: str) -> dict[str, Any]:
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=lambda: sender.send(measure(name, exporter, path)))
    process.start()
    sender.close()
    try:
        return receiver.recv() if receiver.poll(TIMEOUT) else {"status": "no export", "error": f"{TIMEOUT} s"}
    except EOFError:
        return {"status": "no export", "error": "the process died"}
    finally:
        process.kill()
        process.join()


def latencies(name: str, paths: dict[str, str]) -> dict[str, float]:
    """Milliseconds of a run at the example's sizes by exporter."""
    import onnxruntime as ort
    import torch

    from entry import ENTRIES
    from onnxport.capture.inputs import flatten

    torch.manual_seed(0)
    zoo = ENTRIES[name].build()
    arguments = flatten(zoo.model.eval(), (), zoo.example)
    feed = {n: t.detach().numpy() for n, t in zip(arguments.names, arguments.leaves)}
    settings = ort.SessionOptions()
    settings.intra_op_num_threads = 1
    sessions, times = {}, {exporter: [] for exporter in paths}
    for exporter, path in paths.items():
        sessions[exporter] = ort.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    feeds = {e: {i.name: feed[i.name] for i in s.get_inputs()} for e, s in sessions.items()}
    for exporter, session in sessions.items():
        session.run(None, feeds[exporter])
    end, turn = time.monotonic() + LATENCY, list(sessions)
    while time.monotonic() < end or min(map(len, times.values())) < 6:
        for exporter in turn:
            start = time.process_time()
            sessions[exporter].run(None, feeds[exporter])
            times[exporter].append(time.process_time() - start)
        turn = [*turn[1:], turn[0]]  # who runs after whom matters: caches
    return {exporter: round(statistics.median(found) * 1e3, 3) for exporter, found in times.items()}


def compare_all(pattern: str) -> None:
    import importlib

    import onnxruntime  # noqa: F401
    import torch

    import run  # the zoo's

    torch.set_num_threads(1)
    importlib.import_module("onnxport.ops")
    run.load_tables()
    results = read()
    for name in MODELS:
        if not re.search(pattern, name):
            continue
        with tempfile.TemporaryDirectory() as folder:
            paths = {exporter: f"{folder}/{exporter}.onnx" for exporter in EXPORTERS}
            record = {exporter: in_own_process(name, exporter, path) for exporter, path in paths.items()}
            right = {e: paths[e] for e in EXPORTERS if record[e]["status"] == "right"}
            for exporter, milliseconds in (latencies(name, right) if right else {}).items():
                record[exporter]["ms"] = milliseconds
        results[name] = record
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        print(
            name,
            {e: (r["status"], r.get("seconds"), r.get("nodes"), r.get("ms")) for e, r in record.items()},
            flush=True,
        )


def read() -> dict[str, Any]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


# -- the table and the picture --------------------------------------------------------------------

QUANTITIES = {"seconds": "export time", "nodes": "nodes", "bytes": "bytes of the file", "ms": "latency in onnxruntime"}


def ratios(results: dict[str, Any], peer: str, quantity: str) -> list[float]:
    """onnxport's quantity over the peer's, for the models that both export right."""
    pairs = [(r["onnxport"], r[peer]) for r in results.values()]
    return [
        ours[quantity] / theirs[quantity] for ours, theirs in pairs if ours["status"] == theirs["status"] == "right"
    ]


def mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


def draw() -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    results = {name: record for name, record in read().items() if name in MODELS}
    right = {e: sum(r[e]["status"] == "right" for r in results.values()) for e in EXPORTERS}
    figure, axes = pyplot.subplots(1, 1 + len(QUANTITIES), figsize=(15, 3.6), constrained_layout=True)
    axes[0].bar(EXPORTERS, [right[e] for e in EXPORTERS], color=("tab:blue", "tab:gray", "tab:olive"))
    axes[0].set_title(f"right at both sizes, of {len(results)}")
    axes[0].tick_params(axis="x", labelsize=8)
    for axis, (quantity, title) in zip(axes[1:], QUANTITIES.items()):
        for at, peer, color in ((0, "torchscript", "tab:gray"), (1, "dynamo", "tab:olive")):
            found = sorted(ratios(results, peer, quantity))
            axis.scatter(
                [at + 0.3 * (i / max(len(found) - 1, 1) - 0.5) for i in range(len(found))], found, s=9, color=color
            )
            axis.plot([at - 0.3, at + 0.3], [mean(found)] * 2, color="black")
            axis.annotate(f"{mean(found):.2f}", (at + 0.32, mean(found)), fontsize=8, va="center")
        axis.axhline(1, color="tab:red", linewidth=0.8)
        axis.set_yscale("log")
        axis.set_xticks([0, 1], ["/ torchscript", "/ dynamo"])
        axis.set_xlim(-0.6, 1.8)
        axis.set_title(title)
    figure.savefig(DOCS / "peers.png", dpi=90)
    (DOCS / "peers.md").write_text(table(results, right))


def table(results: dict[str, Any], right: dict[str, int]) -> str:
    lines = [
        "# onnxport and PyTorch's exporters",
        "",
        "Written by `python benchmarks/peers.py --draw`; how it is measured says the script. **torchscript** is",
        "`torch.onnx.export(dynamo=False)`, **dynamo** `torch.onnx.export(dynamo=True)`. Ratios are geometric means over the",
        "models that both export right; below 1 is better for onnxport.",
        "",
        "![ratios](peers.png)",
        "",
        "| | onnxport | torchscript | dynamo |",
        "|---|---|---|---|",
        f"| right at both sizes, of {len(results)} | " + " | ".join(str(right[e]) for e in EXPORTERS) + " |",
    ]
    for quantity, title in QUANTITIES.items():
        means = [mean(ratios(results, peer, quantity)) for peer in EXPORTERS[1:]]
        lines.append(f"| {title}, onnxport's over theirs | | " + " | ".join(f"{m:.2f}" for m in means) + " |")
    lines += ["", "| model | " + " | ".join(f"{e}: s, nodes, ms" for e in EXPORTERS) + " |", "|---|---|---|---|"]
    for name, record in results.items():
        cells = []
        for exporter in EXPORTERS:
            r = record[exporter]
            cells.append(f"{r['seconds']:.2f}, {r['nodes']}, {r['ms']:.2f}" if r["status"] == "right" else r["status"])
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--draw", action="store_true")
    options = parser.parse_args()
    if options.draw:
        draw()
    else:
        compare_all(options.only)
