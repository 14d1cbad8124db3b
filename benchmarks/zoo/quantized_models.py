"""Quantised models: torchao's weights, and eager, FX and dynamic quantisation of torch.ao."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from entry import Zoo, add, image, normal, tokens

FAMILY = "quantised"


class Named(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> Any:
        return self.model(x)


class Perceptron(nn.Module):
    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, 128), nn.GELU(), nn.Linear(128, width), nn.LayerNorm(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.layers(x)


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.quant, self.dequant = torch.ao.quantization.QuantStub(), torch.ao.quantization.DeQuantStub()
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.second = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.BatchNorm2d(8), nn.ReLU())
        self.add, self.out = nn.quantized.FloatFunctional(), nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(self.quant(x))
        x = self.add.add(x, self.second(x))
        return self.dequant(self.out(x.mean((2, 3))))


def of_torchao(make: Callable[[Any], Any], embedding: bool = False) -> Zoo:
    from torchao import quantization

    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(50, 64), Perceptron()) if embedding else Perceptron()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantization.quantize_(model.eval(), make(quantization))
    if embedding:
        return Zoo(Named(model), {"x": tokens(2, 7, 50)}, {"x": tokens(3, 9, 50)}, telling=False)
    return Zoo(Named(model), {"x": normal(2, 7, 64)}, {"x": normal(3, 9, 64)}, rtol=2e-2, telling=False)


TORCHAO: dict[str, Callable[[Any], Any]] = {
    "int8 weights": lambda q: q.Int8WeightOnlyConfig(),
    "int8 weights and activations": lambda q: q.Int8DynamicActivationInt8WeightConfig(),
    "int4 weights": lambda q: q.IntxWeightOnlyConfig(weight_dtype=torch.int4),
    "int8 activations, int4 weights": lambda q: q.Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4),
}


def eager(trained: bool = False) -> Zoo:
    from torch.ao import quantization as q

    torch.backends.quantized.engine = "fbgemm" if "fbgemm" in torch.backends.quantized.supported_engines else "onednn"
    torch.manual_seed(0)
    model = Convolutions().train(trained)
    parts = [[f"{part}.{i}" for i in range(3)] for part in ("first", "second")]
    if trained:
        model.qconfig = q.get_default_qat_qconfig("fbgemm")
        model = q.prepare_qat(q.fuse_modules_qat(model, parts))
    else:
        model.qconfig = q.get_default_qconfig("fbgemm")
        model = q.prepare(q.fuse_modules(model, parts))
    model(image(4, 16, 20))
    model = q.convert(model.eval())
    return Zoo(Named(model), {"x": image(2, 16, 20)}, {"x": image(3, 24, 16)}, rtol=5e-2, telling=False)


def fx() -> Zoo:
    from torch.ao import quantization as q
    from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx

    torch.manual_seed(0)
    plain = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 5)).eval()
    prepared = prepare_fx(copy.deepcopy(plain), q.get_default_qconfig_mapping("fbgemm"), (image(2, 16, 20),))
    prepared(image(4, 16, 20))
    return Zoo(Named(convert_fx(prepared)), {"x": image(2, 16, 20)}, {"x": image(3, 24, 16)}, rtol=5e-2, telling=False)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.out = nn.LSTM(8, 16, batch_first=True), nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.lstm(x)[0])


def dynamic(recurrent: bool) -> Zoo:
    torch.manual_seed(0)
    model: nn.Module = Recurrent() if recurrent else Perceptron()
    quantised = torch.ao.quantization.quantize_dynamic(model.eval(), {nn.Linear, nn.LSTM}, dtype=torch.qint8)
    width = 8 if recurrent else 64
    return Zoo(Named(quantised), {"x": normal(2, 7, width)}, {"x": normal(3, 9, width)}, rtol=3e-2, telling=False)


def fill() -> None:
    for name, make in TORCHAO.items():
        add(f"torchao {name}", FAMILY, lambda make=make: of_torchao(make))
    add("torchao embedding and int8 weights", FAMILY, lambda: of_torchao(TORCHAO["int8 weights"], embedding=True))
    add("eager quantisation", FAMILY, eager)
    add("quantisation while training", FAMILY, lambda: eager(trained=True))
    add("FX quantisation", FAMILY, fx)
    add("dynamic quantisation", FAMILY, lambda: dynamic(recurrent=False))
    add("dynamic quantisation of an LSTM", FAMILY, lambda: dynamic(recurrent=True))


fill()
