"""silero-vad as it is shipped: its scripted archive, both sample rates, state carried over 50 chunks of sound.

Runs where the package `silero-vad` is installed (the models environment).
"""

import importlib.util
import math
import pathlib
import time

import onnx
import onnxruntime as ort
import pytest
import torch

import onnxport

SPEC = importlib.util.find_spec("silero_vad")
pytestmark = pytest.mark.skipif(SPEC is None, reason="silero-vad isn't installed here; it is in the models environment")
RATES = {16000: ("_model", 512, 64), 8000: ("_model_8k", 256, 32)}


def sound(rate, chunk, chunks):
    """Bursts of a voice-like buzz in noise, as chunks."""
    t = torch.arange(chunk * chunks) / rate
    voice = sum(torch.sin(2 * math.pi * 140 * k * t) / k for k in range(1, 12))
    bursts = (torch.sin(2 * math.pi * 1.5 * t) > 0).float()
    noise = torch.randn(len(t), generator=torch.Generator().manual_seed(0))
    return (0.2 * voice * bursts + 0.01 * noise).split(chunk)


def nodes(graph):
    return sum(
        1 + sum(nodes(a.g) for a in node.attribute if a.HasField("g"))
        for node in graph.node
        if node.op_type != "Constant"
    )


def session(model):
    settings = ort.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    settings.log_severity_level = 3
    return ort.InferenceSession(model, settings, providers=["CPUExecutionProvider"])


def seconds(run, repeats=7, runs=60):
    best = math.inf
    for _ in range(repeats):
        begin = time.perf_counter()
        for _ in range(runs):
            run()
        best = min(best, time.perf_counter() - begin)
    return best


@pytest.mark.parametrize("rate", RATES)
def test_fifty_chunks(rate):
    data = pathlib.Path(SPEC.origin).parent / "data"
    name, chunk, context = RATES[rate]
    core = getattr(torch.jit.load(str(data / "silero_vad.jit")), name).eval()
    result = onnxport.export(
        core, (torch.randn(1, context + chunk), torch.zeros(2, 1, 128)), None,
        input_names=["x", "state"], output_names=["speech", "new_state"],
        dynamic_axes={"x": {0: "batch"}, "state": {1: "batch"}}, opset_version=16,
    )  # fmt: skip
    ours = session(result.model_proto.SerializeToString())
    shipped = session(str(data / "silero_vad.onnx"))
    theirs, state, carried = [torch.zeros(2, 1, 128)] * 3
    past = torch.zeros(1, context)
    for piece in sound(rate, chunk, 50):
        x = torch.cat([past, piece[None]], 1)
        with torch.no_grad():
            expected, state = core(x, state)
        speech, new = ours.run(None, {"x": x.numpy(), "state": carried.numpy()})
        carried = torch.from_numpy(new)
        torch.testing.assert_close(torch.from_numpy(speech), expected, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(carried, state, rtol=1e-4, atol=1e-4)
        feed = {"input": x.numpy(), "state": theirs.numpy(), "sr": torch.tensor(rate).numpy()}
        theirs = torch.from_numpy(shipped.run(None, feed)[1])
        past = x[:, -context:]
    assert 0.0 < float(expected) < 1.0
    assert nodes(result.model_proto.graph) <= nodes(onnx.load(data / "silero_vad.onnx").graph)
    given = {"x": x.numpy(), "state": carried.numpy()}
    assert seconds(lambda: ours.run(None, given)) <= 1.1 * seconds(lambda: shipped.run(None, feed))


class AtRate(torch.nn.Module):
    """The whole archive at a rate that is known."""

    def __init__(self, archive, rate):
        super().__init__()
        self.archive = archive
        self.rate = rate

    def forward(self, x):
        return self.archive(x, self.rate)


@pytest.mark.parametrize("rate", RATES)
def test_the_whole_archive(rate):
    """With its own state inside, one run from the start: the state isn't kept, which is said."""
    whole = torch.jit.load(str(pathlib.Path(SPEC.origin).parent / "data" / "silero_vad.jit")).eval()
    whole.reset_states()
    _, chunk, _ = RATES[rate]
    x = sound(rate, chunk, 3)[1][None]
    with pytest.warns(onnxport.errors.OnnxExporterWarning, match="keeps nothing"):
        result = onnxport.export(torch.jit.script(AtRate(whole, rate)), (x,), None, input_names=["x"], opset_version=16)
    with torch.no_grad():
        expected = whole(x, rate)
    (actual,) = session(result.model_proto.SerializeToString()).run(None, {"x": x.numpy()})
    torch.testing.assert_close(torch.from_numpy(actual), expected, rtol=1e-4, atol=1e-5)
