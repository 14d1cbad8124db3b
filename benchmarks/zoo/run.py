"""Export every model of the zoo, and compare onnxruntime with PyTorch at two sizes.

    python benchmarks/zoo/run.py                      all that have no result yet
    python benchmarks/zoo/run.py --only 'torchvision|gpt2' --again
    python benchmarks/zoo/run.py --failed             those that didn't pass
    python benchmarks/zoo/run.py --table              write docs/models.md from the results

Each model has its own process, forked from one that has imported the packages. Results go to `results.json`
beside this file after each model, so that a run can be stopped and gone on with. A result is

    pass        exported, valid, and equal at both sizes
    mismatch    other values, shapes or types
    runtime     onnxruntime refuses the file or fails to run it
    error       the exporter raised
    timeout, crash
    unbuilt     the model can't be built or run in PyTorch here: not counted
"""

from __future__ import annotations

import argparse
import collections
import importlib
import json
import multiprocessing
import os
import pkgutil
import re
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.json"
TABLE = HERE.parents[1] / "docs" / "models.md"
MARK = "<!-- written by benchmarks/zoo/run.py --table from here on -->"
TABLES = (
    "torchvision_models",
    "timm_models",
    "text_models",
    "multimodal_models",
    "diffusion_models",
    "diffusion_transformers",
    "speech_models",
    "transformers_models",
    "library_models",
    "library_sequences",
    "graph_models",
    "package_models",
    "vision_packages",
    "quantized_models",
    "vision_styles",
    "geometry_styles",
    "detection_styles",
    "restoration_styles",
    "speech_styles",
    "sequence_styles",
    "research_styles",
    "user_settings",
    "own_models",
)


def load_tables() -> None:
    for table in TABLES:
        if (HERE / f"{table}.py").exists():
            try:
                importlib.import_module(table)
            except ImportError as error:
                print(f"{table} is left out: {error}", file=sys.stderr)


# -- one model ------------------------------------------------------------------------------------


def check(name: str, opset: int, folder: str | None, exporter: str) -> dict[str, Any]:
    """The record of one model."""
    import torch

    import compare
    import onnxport
    from entry import ENTRIES
    from onnxport.capture.inputs import flatten, flatten_outputs

    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    try:
        zoo = ENTRIES[name].build()
        model = zoo.model.eval()
        if zoo.telling:
            compare.make_telling(model, zoo.calibrate or zoo.other)
        sets = (zoo.example, zoo.other, *zoo.further)
        with torch.no_grad():
            expected = [flatten_outputs(model(**compare.copied(x))).leaves for x in sets]
        if not expected[0]:
            return {"status": "unbuilt", "error": "the model returns nothing"}
        given = [flatten(model, (), x) for x in sets]
        axes = compare.dynamic_axes(*given[:2])
    except Exception as error:
        traceback.print_exc()
        return {"status": "unbuilt", "error": first_line(error)}
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", onnxport.errors.OnnxExporterWarning)
            if exporter == "onnxport":
                result = onnxport.export(model, (), kwargs=zoo.example, dynamic_axes=axes, opset_version=opset)
                proto = result.model_proto
            else:
                proto = compare.by_peer(exporter, model, zoo, given[0].names, axes, opset)
    except Exception as error:
        traceback.print_exc()
        return {"status": "error", "error": first_line(error)}
    record: dict[str, Any] = {"export_s": round(time.perf_counter() - start, 2)}
    if any(issubclass(w.category, onnxport.errors.OnnxExporterWarning) for w in caught):
        record["warned"] = True
    record["nodes"] = len(proto.graph.node)
    if folder:
        import onnx

        onnx.save(proto, f"{folder}/{name.replace('/', '_')}.onnx")
    places = ("example", "other size", *["further size"] * len(zoo.further))
    for where, arguments, given_as, outputs in zip(places, given, sets, expected):
        try:
            got = compare.run(proto, arguments)
        except Exception as error:
            traceback.print_exc()
            return {**record, "status": "runtime", "error": f"{where}: {first_line(error)}"}
        problem = compare.difference(outputs, got, zoo)
        if problem and compare.is_shaky(model, given_as, zoo):
            return {**record, "status": "unbuilt", "error": f"{where}: rounding decides the result: {problem}"}
        if problem:
            return {**record, "status": "mismatch", "error": f"{where}: {problem}"}
    return {**record, "status": "pass"}


def first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = f"{type(error).__name__}: {' | '.join(lines[:3])}"
    return re.sub(r"(?<![\w/])/\S+/(?=\S)", "", text)[:400]  # without the folders of this machine


def child(name: str, options: argparse.Namespace, connection: Any) -> None:
    if options.logs:
        os.makedirs(options.logs, exist_ok=True)
        log = os.open(f"{options.logs}/{name.replace('/', '_')}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
    connection.send(check(name, options.opset, options.keep, options.exporter))


def run_one(name: str, options: argparse.Namespace) -> dict[str, Any]:
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=child, args=(name, options, sender))
    start = time.perf_counter()
    process.start()
    sender.close()
    record: dict[str, Any] = {}
    try:
        if receiver.poll(options.timeout):
            record = receiver.recv()
        else:
            record = {"status": "timeout", "error": f"{options.timeout} s"}
    except EOFError:
        process.join()
        code = process.exitcode or 0
        record = {"status": "crash", "error": signal.Signals(-code).name if code < 0 else f"exit code {code}"}
    finally:
        if process.is_alive() and record.get("status") == "timeout":
            process.kill()
        process.join()
    record["seconds"] = round(time.perf_counter() - start, 1)
    return record


# -- all of them ----------------------------------------------------------------------------------


def read(path: Path = RESULTS) -> dict[str, dict[str, Any]]:
    return json.loads(path.read_text()) if path.exists() else {}


def write(results: dict[str, dict[str, Any]], path: Path = RESULTS) -> None:
    lines = [f"{json.dumps(name)}: {json.dumps(results[name])}" for name in sorted(results)]
    path.with_suffix(".part").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    os.replace(path.with_suffix(".part"), path)


def results_of(exporter: str) -> Path:
    return RESULTS if exporter == "onnxport" else RESULTS.with_name(f"results_{exporter}.json")


def sampled(chosen: list[Any], results: dict[str, dict[str, Any]], count: int) -> list[Any]:
    """So many of each family, spread over it, of those that could be built."""
    families: dict[str, list[Any]] = collections.defaultdict(list)
    for item in chosen:
        if results.get(item.name, {}).get("status", "unbuilt") != "unbuilt":
            families[item.family].append(item)
    return [items[i * len(items) // count] for i in range(count) for items in families.values() if i < len(items)]


def passes(names: list[str], results: dict[str, dict[str, Any]]) -> str:
    return f"{sum(results[n]['status'] == 'pass' for n in names)}/{len(names)}" if names else ""


def write_table() -> None:
    """docs/models.md: passes by family, and what fails; what is written above `MARK` stays."""
    from importlib.metadata import version

    results = read()
    families: dict[str, list[str]] = collections.defaultdict(list)
    for name, record in results.items():
        if record["status"] != "unbuilt":
            families[record["family"]].append(name)
    packages = ", ".join(f"{p} {version(p)}" for p in ("torch", "torchvision", "timm", "transformers", "diffusers"))
    good = [n for n, r in results.items() if r["status"] == "pass"]
    total = sum(map(len, families.values()))
    lines = [
        "## Models that were tried",
        "",
        f"Written by `python benchmarks/zoo/run.py --table`, with {packages}. Each model has random weights; it is",
        "exported once with dynamic axes, and compared with PyTorch in onnxruntime at the example's and at other sizes.",
        "",
        f"**{len(good)} of {total} pass.**",
        "",
        "The last two columns are `torch.onnx.export` without and with `dynamo`, on a few models of each family, the same for",
        "both; before them is what passes here of these.",
        "",
        "| family | pass | of | of the sample | torchscript | dynamo |",
        "|---|---|---|---|---|---|",
    ]
    peers = [read(results_of(peer)) for peer in ("torchscript", "dynamo")]
    for family in sorted(families):
        names = families[family]
        sample = [n for n in names if all(n in peer for peer in peers)]
        columns = [passes(sample, found) for found in (results, *peers)]
        lines.append(f"| {family} | {sum(n in good for n in names)} | {len(names)} | {' | '.join(columns)} |")
    lines += ["", "### What passes", ""]
    for family in sorted(families):
        names = [n for n in sorted(families[family]) if results[n]["status"] == "pass"]
        lines += [f"* {family}: {', '.join(names)}"] if names else []
    lines += [
        "",
        "### What doesn't",
        "",
        "Where the export warned, the model's Python code depends on sizes or values, which a recorded run can't follow.",
        "",
        "| model | family | result | warned | |",
        "|---|---|---|---|---|",
    ]
    for family in sorted(families):
        for name in sorted(families[family]):
            record = results[name]
            if record["status"] != "pass":
                text = re.sub(r"\s+", " ", record.get("error", "")).replace("|", "/")[:160]
                warned = "yes" if record.get("warned") else ""
                lines.append(f"| {name} | {family} | {record['status']} | {warned} | {text} |")
    above = TABLE.read_text().partition(MARK)[0]
    TABLE.write_text(above + MARK + "\n\n" + "\n".join(lines) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="names or families that match")
    parser.add_argument("--again", action="store_true", help="also those that have a result")
    parser.add_argument("--failed", action="store_true", help="those that didn't pass, but could be built")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--table", action="store_true", help="write docs/models.md and leave")
    parser.add_argument("--opset", type=int, default=20)
    parser.add_argument("--exporter", default="onnxport", choices=("onnxport", "torchscript", "dynamo"))
    parser.add_argument("--sample", type=int, metavar="N", help="N models of each family")
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--logs", metavar="DIR")
    parser.add_argument("--keep", metavar="DIR", help="keep the exported models here")
    options = parser.parse_args()
    sys.path.insert(0, str(HERE))
    if options.table:
        write_table()
        return 0
    import onnxruntime  # noqa: F401
    import torch  # noqa: F401

    import onnxport
    from entry import ENTRIES

    for module in pkgutil.walk_packages(onnxport.__path__, "onnxport."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    load_tables()
    pattern = re.compile(options.only)
    path = results_of(options.exporter)
    results = read(path)
    chosen = [e for e in ENTRIES.values() if pattern.search(e.name) or pattern.search(e.family)]
    if options.sample:
        chosen = sampled(chosen, read(), options.sample)
    if options.failed:
        chosen = [e for e in chosen if results.get(e.name, {}).get("status", "pass") not in ("pass", "unbuilt")]
    elif not options.again:
        chosen = [e for e in chosen if e.name not in results]
    for number, item in enumerate(chosen, 1):
        if options.list:
            print(item.family, item.name)
            continue
        record = {"family": item.family, **run_one(item.name, options)}
        results = {**read(path), item.name: record}
        write(results, path)
        text = (
            f"[{number}/{len(chosen)}] {item.name}: {record['status']} {record['seconds']} s {record.get('error', '')}"
        )
        print(text[:260], flush=True)
    counts = collections.Counter(results[e.name]["status"] for e in chosen if e.name in results)
    print(dict(counts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
