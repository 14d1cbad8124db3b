"""Layers with unusual options, and types of numbers."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.reports.harness import OFTEN, program, reports

TABLE, report = reports()
PT = "https://github.com/pytorch/pytorch/issues/"
BCHW = {0: {0: "b", 2: "h", 3: "w"}}


def image(channels, dtype=torch.float32):
    return lambda b, h, w: (torch.randn(b, channels, h, w).to(dtype),)


class Each(nn.Module):
    """All layers on one input."""

    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        return [layer(x) for layer in self.layers]


@report(PT + "108975")
def convolutions_with_same_padding_and_modes():
    return program(
        Each(
            nn.Conv2d(4, 6, (3, 4), padding="same", dilation=(2, 1)), nn.Conv2d(4, 4, 3, padding="valid", groups=4),
            nn.Conv2d(4, 2, 3, padding=(1, 2), padding_mode="circular"), nn.Conv2d(4, 2, 3, 2, 1, padding_mode="reflect"),
            nn.Conv2d(4, 2, 3, padding=1, padding_mode="replicate", bias=False),
            nn.ConvTranspose2d(4, 6, 3, (2, 1), 1, (1, 0), groups=2, dilation=1), nn.ConvTranspose2d(4, 2, 2, 2, dilation=2),
        ),
        image(4), (1, 6, 7), (2, 8, 5), axes=BCHW, modes="trace script",
    )  # fmt: skip


@report(PT + "183528")
def pools_with_all_options():
    return program(
        Each(
            nn.MaxPool2d(3, 2, 1, ceil_mode=True), nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False),
            nn.LPPool2d(2, 3, 2), nn.MaxPool2d((2, 3), (1, 2), (1, 0), dilation=(1, 1)),
            nn.AvgPool2d(2, divisor_override=3), nn.AdaptiveMaxPool2d((None, 2)), nn.AdaptiveAvgPool2d((2, None)),
            nn.Upsample(scale_factor=(1.5, 2), mode="bilinear", align_corners=True), nn.UpsamplingNearest2d(scale_factor=2),
            nn.Softmax2d(), nn.LocalResponseNorm(3), nn.ZeroPad2d((1, 0, 2, 1)), nn.ReflectionPad2d(1), nn.ChannelShuffle(2),
        ),
        lambda b, h, w: (torch.randn(b, 4, h, w).abs(),), (1, 6, 7), (2, 9, 8), axes=BCHW, atol=1e-4,
    )  # fmt: skip


@report(OFTEN)
def unpooling_by_indices():
    class Segnet(nn.Module):
        def __init__(self):
            super().__init__()
            self.pool, self.unpool = nn.MaxPool2d(2, 2, return_indices=True), nn.MaxUnpool2d(2, 2)

        def forward(self, x):
            y, where = self.pool(x)
            z, other = F.max_pool2d(x, 3, 2, 1, return_indices=True)
            return self.unpool(y, where, output_size=x.size()), other, self.unpool(y * 2, where)

    return program(Segnet(), image(2), (1, 4, 6), (2, 6, 8), axes=BCHW)


@report(PT + "131279")
def norms_of_several_kinds():
    layer = nn.LayerNorm([4, 3])
    nn.init.normal_(layer.weight)

    class Norms(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.group = layer, nn.GroupNorm(2, 4)
            self.instance = nn.InstanceNorm1d(4, affine=True, track_running_stats=True)
            self.rms = nn.RMSNorm(3, eps=1e-4)

        def forward(self, x):
            a = F.normalize(x, p=1, dim=1), x / (x.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt()
            b = F.layer_norm(x, (3,)), F.group_norm(x, 4), F.instance_norm(x), F.rms_norm(x, (4, 3))
            return self.layer(x), self.group(x), self.instance(x), self.rms(x), *a, *b, x.var(0, unbiased=False)

    return program(Norms(), lambda b: (torch.randn(b, 4, 3),), (2,), (5,), axes={0: {0: "b"}})


@report(OFTEN)
def activations_of_all_kinds():
    return program(
        Each(
            nn.CELU(0.5), nn.ELU(1.5), nn.GELU("tanh"), nn.GLU(1), nn.Hardshrink(), nn.Hardsigmoid(), nn.Hardswish(),
            nn.Hardtanh(-0.5, 2.0), nn.LeakyReLU(), nn.LogSigmoid(), nn.LogSoftmax(1), nn.Mish(), nn.PReLU(4), nn.ReLU6(),
            nn.RReLU(), nn.SELU(), nn.SiLU(), nn.Softmin(-1), nn.Softplus(2, 5), nn.Softshrink(0.3), nn.Softsign(),
            nn.Tanhshrink(), nn.Threshold(0.1, 20.0),
        ),
        image(4), (1, 2, 3), (2, 4, 2), axes=BCHW, modes="trace script",
    )  # fmt: skip


@report(OFTEN)
def losses_within_a_model():
    class Losses(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("weight", torch.tensor([1.0, 2.0, 0.5]))

        def forward(self, x, y):
            hot = F.one_hot(y, 3).float()
            return (
                F.cross_entropy(x, y, self.weight, label_smoothing=0.1), F.nll_loss(F.log_softmax(x, 1), y, reduction="none"),
                F.binary_cross_entropy_with_logits(x, hot, pos_weight=self.weight), F.smooth_l1_loss(x, hot, beta=0.5),
                F.kl_div(x.log_softmax(1), hot, reduction="batchmean"), F.huber_loss(x, hot, delta=0.3),
                F.triplet_margin_loss(x, hot, x.flip(0)), F.cosine_embedding_loss(x, hot, y.sign() * 2 - 1),
                F.multi_margin_loss(x, y), F.gaussian_nll_loss(x, hot, x.abs() + 0.1), F.margin_ranking_loss(x, hot, hot * 2 - 1),
                F.cross_entropy(x, hot, reduction="sum"), F.nll_loss(x, y, ignore_index=1), F.poisson_nll_loss(x, hot),
            )  # fmt: skip

    return program(
        Losses(), lambda b: (torch.randn(b, 3), torch.arange(b) % 3), (4,), (7,), axes={0: {0: "b"}, 1: {0: "b"}}
    )


@report("https://github.com/Lightning-AI/pytorch-lightning/issues/19337")
def half_precision_block():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.attn = nn.LayerNorm(8), nn.MultiheadAttention(8, 2, batch_first=True)
            self.mlp = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))

        def forward(self, x):
            t = x.shape[1]
            y = self.norm(x)
            mask = torch.full((t, t), torch.finfo(x.dtype).min, dtype=x.dtype).triu(1)
            x = x + self.attn(y, y, y, attn_mask=mask, need_weights=False)[0]
            ramp = torch.arange(end=t, dtype=x.dtype) / t
            x = x + self.mlp(x) * ramp[None, :, None] + torch.linspace(0, 1, 8, dtype=x.dtype)
            return x.float().softmax(-1).type_as(x), x.clamp(-1, 1).sqrt().nan_to_num(0.5), x.argmax(-1), x.cumsum(1)

    return program(Block().half(), lambda b, t: (torch.randn(b, t, 8).half(),), (1, 3), (2, 6), axes={0: {0: "b", 1: "t"}},
                   rtol=2e-2, atol=2e-2)  # fmt: skip


@report("https://github.com/nod-ai/AMD-SHARK-ModelDev/issues/378")
def bfloat16_inside_of_a_float_model():
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin, self.conv = nn.Linear(4, 4).bfloat16(), nn.Conv1d(2, 2, 3, padding=1).bfloat16()

        def forward(self, x):
            y = self.lin(x.to(torch.bfloat16))
            z = self.conv(y).float()
            return z.softmax(-1), (y.sum(-1) + 1).float(), torch.where(y > 0, y, y * 2).float()

    return program(Mixed(), lambda b: (torch.randn(b, 2, 4),), (1,), (3,), axes={0: {0: "b"}}, rtol=5e-2, atol=5e-2)


@report(PT + "48739")
def double_precision_and_python_numbers():
    class Doubles(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(3, 3)
            self.scale = math.pi

        def forward(self, x, n):
            y = self.lin(x) * self.scale + n
            z = torch.where(y > 0, 1.0, y) ** 2 % 3
            return (
                z,
                n / 3,
                n // 2,
                -n // 2,
                n**2,
                y.sum().to(torch.int32) % 7,
                torch.remainder(-n, 3),
                2**n,
                n.float().pow(0.5),
            )

    return program(
        Doubles().double(), lambda b: (torch.randn(b, 3).double(), torch.tensor(b)), (2,), (5,), axes={0: {0: "b"}}
    )


@report(PT + "58367")
def small_integers_and_bools():
    def mix(u, i, b):
        total = u.sum(), b.sum(), i.prod(), b.any(-1), b.all(0), (u > 3) & b | ~b, u.float() / 255
        moves = (i << 1) | (i & 3), i >> 1, i ^ 5, ~i, u + 250, u * 2 - 1, i.abs(), -i, i.clamp(-2, 2), b * i, b + 1
        return *total, *moves, i.float().mean().int(), u.max(0)[0], i.sort()[0], torch.cat([u.int(), i]), i == u, i % 3

    def inputs(n):
        return (
            torch.randint(0, 9, (n, 4), dtype=torch.uint8),
            torch.randint(-9, 9, (n, 4), dtype=torch.int32),
            torch.rand(n, 4) > 0.5,
        )

    return program(mix, inputs, (3,), (5,), axes={i: {0: "n"} for i in range(3)}, modes="trace script")


@report(OFTEN)
def image_preprocessing_of_bytes():
    class Pre(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1))

        def forward(self, x):
            x = (
                x.permute(0, 3, 1, 2)[:, [2, 1, 0]]
                .float()
                .div_(255)
                .sub_(self.mean)
                .div(torch.tensor([0.2, 0.2, 0.3])[:, None, None])
            )
            h, w = x.shape[-2:]
            s = min(h, w)
            crop = x[..., (h - s) // 2 : (h - s) // 2 + s, (w - s) // 2 : (w - s) // 2 + s]
            y = F.interpolate(crop, size=(8, 8), mode="bilinear", antialias=True)
            gray = (y * torch.tensor([0.299, 0.587, 0.114]).view(3, 1, 1)).sum(1, keepdim=True)
            out = (gray * 50 + 128).round().clamp(0, 255).to(torch.uint8)
            return y, out.permute(0, 2, 3, 1).contiguous(), torch.flip(x, [-1]), torch.rot90(x, 1, [2, 3])

    return program(Pre(), lambda b, h, w: (torch.randint(0, 256, (b, h, w, 3), dtype=torch.uint8),), (1, 12, 14), (2, 11, 9),
                   axes={0: {0: "b", 1: "h", 2: "w"}}, opset=18, atol=1.0)  # fmt: skip


@report(OFTEN)
def rearrangements_of_axes():
    def arrange(x):
        b, c, h, w = x.shape
        a = x.reshape(b, c, h // 2, 2, w // 2, 2).permute(0, 2, 4, 3, 5, 1).reshape(b, (h // 2) * (w // 2), -1)
        d = a.unflatten(1, (h // 2, w // 2)).movedim(-1, 1).flatten(2)
        e = torch.einsum("bchw,bdhw->bcd", x, x), torch.tensordot(x, x, dims=([1, 2], [1, 2]))
        f = x.swapaxes(1, -1).ravel(), x.mT @ x, torch.kron(x[0, 0, :2], torch.eye(2)), x.view(b, -1).t().unsqueeze(0)
        g = (
            torch.atleast_3d(x[0, 0]),
            torch.stack(torch.meshgrid(x[0, 0, :, 0], x[0, 0, 0], indexing="xy")),
            x.expand(2, *x.shape),
        )
        i = (
            torch.hstack([x, x]),
            torch.dstack([x[0], x[0]]),
            torch.tile(x, (1, 2, 1, 1)),
            torch.column_stack([x[0, 0], x[0, 1]]),
        )
        j = *x.chunk(2, 1), *torch.split(x, [1, 3], 1), *x.hsplit(2), x.diagonal(dim1=-2, dim2=-1)
        return a, d, *e, *f, *g, *i, *j, torch.broadcast_to(x[:, :1], x.shape), x.squeeze(0), x.narrow_copy(1, 1, 2)

    return program(arrange, image(4), (2, 4, 6), (3, 6, 8), axes=BCHW)


@report(OFTEN)
def numbers_from_tensors_in_scripts():
    def mix(x: torch.Tensor, k: int, s: float, flag: bool):
        n = x.size(0)
        half = n // 2 + k % 3
        y = x[:half].sum() * s + (1 if flag else 2)
        z = torch.full((n, k), s) + torch.arange(k)
        t = float(x[0, 0]) * 2 + int(y) + round(s)
        u = x.new_full((k,), float(n)) + max(n, k) - min(half, 3) + abs(-k) + pow(2, k) + n % 2
        return y, z, t, u, n > k and flag, x.dim(), x.numel(), list(x.shape), s / k, k / 2, k // 2

    return program(mix, lambda n, k, s, f: (torch.randn(n, 3), k, s, f), (3, 2, 1.5, True), (6, 4, -2.25, False),
                   axes={0: {0: "n"}}, modes="script")  # fmt: skip


@report(OFTEN)
def linear_algebra():
    def solve(a, b):
        s = a @ a.mT + 3 * torch.eye(3)
        low = torch.linalg.cholesky(s)
        x = torch.linalg.solve(s, b)
        y = torch.cholesky_solve(b, low)
        z = torch.linalg.solve_triangular(low, b, upper=False)
        sign, logdet = torch.linalg.slogdet(s)
        return (
            x,
            y,
            z,
            torch.det(s),
            sign,
            logdet,
            torch.linalg.inv(s),
            torch.trace(s[0]),
            torch.matrix_power(s, 2),
            low.tril(-1),
        )

    return program(solve, lambda b: (torch.randn(b, 3, 3), torch.randn(b, 3, 2)), (1,), (4,), axes={0: {0: "b"}, 1: {0: "b"}},
                   rtol=1e-3, atol=1e-3)  # fmt: skip


@report(OFTEN)
def spectral_convolution():
    class Spectral(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(2, 3, 2, 2, dtype=torch.cfloat))

        def forward(self, x):
            f = torch.fft.rfft2(x)
            out = torch.zeros(x.shape[0], 3, x.size(-2), x.size(-1) // 2 + 1, dtype=torch.cfloat)
            out[:, :, :2, :2] = torch.einsum("bixy,ioxy->boxy", f[:, :, :2, :2], self.w)
            out[:, :, -2:, :2] = torch.einsum("bixy,ioxy->boxy", f[:, :, -2:, :2], self.w.conj())
            y = torch.fft.irfft2(out, s=(x.size(-2), x.size(-1)))
            shifted = torch.fft.fftshift(torch.fft.fft2(x, norm="ortho"), dim=(-2, -1))
            return (
                y,
                shifted.abs().log1p(),
                torch.view_as_real(torch.fft.ifft2(torch.fft.ifftshift(shifted, (-2, -1)), norm="ortho")),
            )

    return program(Spectral(), image(2), (1, 6, 8), (3, 6, 8), axes={0: {0: "b"}}, rtol=1e-3, atol=1e-4)
