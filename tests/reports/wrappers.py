"""Optional values, quantised and sparse layers, parts and methods of models, sizes that are read as numbers."""

# ruff: noqa: UP006, UP035, UP045  programs are as users write them, for TorchScript

from __future__ import annotations

from typing import Dict, List, Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.reports.harness import OFTEN, program, reports

TABLE, report = reports()
PT = "https://github.com/pytorch/pytorch/issues/"
IMAGE = {0: {0: "b", 2: "h", 3: "w"}}
BATCH = {0: {0: "b"}}


def image(channels):
    return lambda b, h, w: (torch.randn(b, channels, h, w),)


def rows(*shape):
    return lambda b: (torch.randn(b, *shape),)


@report(PT + "110255")
def transformer_that_detects_a_causal_mask():
    class Translate(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)

        def forward(self, source, target):
            mask = nn.Transformer.generate_square_subsequent_mask(target.size(1))
            return self.layers(source, target, tgt_mask=mask)

    return program(
        Translate(), lambda b, s, t: (torch.randn(b, s, 8), torch.randn(b, t, 8)), (2, 3, 4), (3, 5, 2), (1, 1, 1),
        axes={0: {0: "b", 1: "s"}, 1: {0: "b", 1: "t"}}, modes="trace script",
    )  # fmt: skip


@report(PT + "109532")
def encoder_with_padded_sequences():
    class Encode(nn.Module):
        def __init__(self):
            super().__init__()
            layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu")
            self.layers = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8))

        def forward(self, x, lengths):
            pad = torch.arange(x.shape[1])[None] >= lengths[:, None]
            return self.layers(x, src_key_padding_mask=pad)

    def inputs(b, t):
        return torch.randn(b, t, 8), torch.cat([torch.tensor([t]), torch.randint(1, t + 1, (b - 1,))])

    return program(Encode(), inputs, (2, 5), (4, 7), axes={0: {0: "b", 1: "t"}, 1: {0: "b"}})


@report("https://github.com/pytorch/pytorch/pull/191749")
def norm_of_the_weights_of_a_vector():
    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.v, self.g = nn.Parameter(torch.randn(4)), nn.Parameter(torch.rand(4))

        def forward(self, x):
            return x * torch._weight_norm(self.v, self.g, 0)

    return program(Scale(), rows(4), (2,), (3,), axes=BATCH, modes="trace script exported")


@report(OFTEN)
def up_to_the_size_of_a_skip_connection():
    class Skip(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.Conv2d(2, 4, 3, stride=2, padding=1)
            self.up = nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1)

        def forward(self, x):
            return torch.cat([x, self.up(self.down(x), output_size=x.size()[2:])], 1)

    return program(Skip(), image(2), (2, 8, 7), (1, 9, 10), axes=IMAGE, modes="trace script exported")


@report(PT + "59293")
def convolutions_modulated_for_each_image():
    class Modulate(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.style = nn.Parameter(torch.randn(1, 4, 3, 3, 3)), nn.Linear(5, 3)

        def forward(self, x, style):
            b, c, h, w = x.shape
            weight = self.weight * self.style(style).view(b, 1, c, 1, 1)
            weight = weight * torch.rsqrt(weight.pow(2).sum([2, 3, 4], keepdim=True) + 1e-8)
            same = F.conv2d(x.reshape(1, b * c, h, w), weight.view(b * 4, c, 3, 3), padding=1, groups=b)
            swapped = weight.transpose(1, 2).reshape(b * c, 4, 3, 3)
            larger = F.conv_transpose2d(x.reshape(1, b * c, h, w), swapped, stride=2, groups=b)
            return same.view(b, 4, h, w), larger.view(b, 4, *larger.shape[2:])

    return program(
        Modulate(), lambda b, h, w: (torch.randn(b, 3, h, w), torch.randn(b, 5)), (2, 4, 5), (3, 6, 4),
        axes={**IMAGE, 1: {0: "b"}}, modes="trace exported", atol=1e-4,
    )  # fmt: skip


@report(OFTEN)
def halves_that_are_read_as_numbers():
    class Halve(nn.Module):
        def forward(self, x):
            half = x.shape[1] // 2
            rolled = torch.roll(x, shifts=half, dims=1)
            pooled = F.adaptive_avg_pool1d(x, output_size=half)
            columns = torch.stack([c * i for i, c in enumerate(x.transpose(0, 1)[:half])])
            return rolled, pooled, columns, F.conv1d(x[:, None], torch.ones(1, 1, 3), padding=half)

    return program(Halve(), lambda b, n: (torch.randn(b, n),), (2, 6), (3, 8), (1, 11), axes={0: {0: "b", 1: "n"}})


@report(OFTEN)
def graph_convolution_with_a_sparse_graph():
    class Convolve(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 2)
            edges = torch.tensor([[0, 1, 3, 3], [1, 2, 0, 1]])
            self.register_buffer("graph", torch.sparse_coo_tensor(edges, torch.rand(4), (4, 4)))

        def forward(self, x):
            mixed = torch.sparse.mm(self.graph, self.linear(x))
            return torch.sparse.mm(self.graph.t(), mixed.relu()) if self.graph.is_sparse else mixed

    return program(Convolve(), lambda: (torch.randn(4, 3),))


@report(PT + "39502")
def quantisation_aware_training_with_observers_off():
    from torch.ao import quantization

    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3)).train()
    net = quantization.fuse_modules_qat(net, [["0", "1", "2"]])
    net.qconfig = quantization.get_default_qat_qconfig("x86")
    quantization.prepare_qat(net, inplace=True)
    net(torch.randn(4, 3, 8, 8))
    net.apply(quantization.disable_observer)
    return program(net.eval(), rows(3, 8, 8), (2,), (3,), axes=BATCH, modes="trace exported", atol=0.02)


@report("https://github.com/pytorch/ao/issues/2298")
def quantised_program_with_integer_weights():
    import torch.ao.quantization.fx._decomposed  # defines the operators

    ops = torch.ops.quantized_decomposed

    class Quantised(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("weight", torch.randint(-127, 128, (4, 3), dtype=torch.int8))
            self.register_buffer("scale", torch.rand(4) / 100)
            self.register_buffer("zero", torch.zeros(4, dtype=torch.int64))

        def forward(self, x):
            scale, zero = ops.choose_qparams.tensor(x, -128, 127, 1e-5, torch.int8)
            q = ops.quantize_per_tensor.tensor(x, scale, zero, -128, 127, torch.int8)
            x = ops.dequantize_per_tensor.tensor(q, scale, zero, -128, 127, torch.int8)
            weight = ops.dequantize_per_channel(self.weight, self.scale, self.zero, 0, -127, 127, torch.int8)
            return F.linear(x, weight)

    return program(Quantised(), rows(3), (2,), (5,), axes=BATCH, modes="trace exported", atol=0.02)


@report(PT + "153063")
def batched_functions_in_an_exported_program():
    class Batched(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 2)

        def forward(self, x):
            return torch.vmap(self.linear)(x), torch.vmap(lambda a, b: (a * b).sum(), in_dims=(0, 1))(x, x.T)

    return program(Batched(), rows(3), (4,), modes="trace exported")


@report(OFTEN)
def masks_and_features_that_may_be_missing():
    class Mix(nn.Module):
        def forward(self, x, flag: bool, features: Dict[str, Tensor]):
            mask: Optional[Tensor] = torch.ones(x.size(1)) if flag else None
            extra: List[Tensor] = []
            if "bias" in features:
                extra.append(features["bias"])
            if mask is not None:
                if mask.dim() == 1:
                    mask = mask.unsqueeze(0)
                x = x * mask
            for e in extra:
                x = x + e
            return torch.sort(x, dim=1, descending=flag)[0]

    def inputs(b, flag):
        return torch.randn(b, 4), flag, {"bias": torch.randn(4)}

    return program(Mix(), inputs, (2, True), (3, False), (4, True), axes=BATCH, modes="script")


@report(PT + "25251")
def loop_whose_number_joins_floats():
    class Add(nn.Module):
        def forward(self, x, y):
            for i in range(y.size(0)):
                x = x + i
            return x

    return program(
        Add(), lambda n, m: (torch.randn(n), torch.randint(0, 5, (m,))), (3, 3), (2, 5), (4, 1),
        axes={0: {0: "n"}, 1: {0: "m"}}, modes="trace script", opset=11,
    )  # fmt: skip


@report(PT + "191855")
def two_directions_by_hand():
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.ahead, self.back = nn.LSTM(4, 5, batch_first=True), nn.GRU(4, 5, batch_first=True)

        def forward(self, x, mask):
            x = x * mask.unsqueeze(-1)
            ahead, back = self.ahead(x)[0], self.back(torch.flip(x, [1]))[0]
            return torch.cat([ahead, torch.flip(back, [1])], -1)

    return program(
        Both(), lambda b, t: (torch.randn(b, t, 4), (torch.rand(b, t) > 0.3).float()), (2, 5), (3, 8),
        axes={0: {0: "b", 1: "t"}, 1: {0: "b", 1: "t"}}, modes="trace script",
    )  # fmt: skip


@report(PT + "122956")
def mask_of_float_lengths():
    class Pad(nn.Module):
        def forward(self, x, lengths):
            positions = torch.arange(x.shape[1], dtype=lengths.dtype).expand(lengths.shape[0], x.shape[1])
            pad = positions >= lengths.unsqueeze(1)
            return x.masked_fill(pad.unsqueeze(-1), 0.0), pad

    return program(
        Pad(), lambda b, t: (torch.randn(b, t, 3), torch.randint(1, t + 1, (b,)).float()), (2, 4), (3, 6),
        axes={0: {0: "b", 1: "t"}, 1: {0: "b"}}, modes="trace script exported",
    )  # fmt: skip


@report("https://github.com/onnx/onnx/issues/627")
def angles_by_renormalised_weights():
    class Sphere(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(4, 5))

        def forward(self, x):
            unit = self.weight.renorm(2, 1, 1e-5).mul(1e5)
            cosine = (x.mm(unit) / x.pow(2).sum(1).pow(0.5).view(-1, 1)).clamp(-1, 1)
            return cosine, (cosine.acos() * 4 / 3.14159265).floor()

    return program(Sphere(), rows(4), (2,), (3,), axes=BATCH, modes="trace exported", atol=1e-4)


@report(OFTEN)
def vmap_along_other_axes():
    def spread(x, y):
        outer = torch.vmap(lambda a, c: torch.outer(a, c), in_dims=(1, None), out_dims=1)(x, y)
        pairs = torch.vmap(lambda a: a.reshape(2, 2) + a.sum(), in_dims=1)(x)
        return outer, pairs, torch.func.vmap(torch.dot)(x.t(), x.t())

    return program(spread, lambda n: (torch.randn(4, n), torch.randn(3)), (2,), (5,), (1,), axes={0: {1: "n"}})
