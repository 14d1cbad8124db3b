"""What goes in and out of a model, and how modules are put together."""

from __future__ import annotations

import collections
import copy
import dataclasses
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import onnxport
from tests.reports.harness import OFTEN, program, reports

TABLE, report = reports()
PT = "https://github.com/pytorch/pytorch/issues/"


class Pair(NamedTuple):
    left: torch.Tensor
    right: torch.Tensor


@dataclasses.dataclass
class Sample:
    tokens: torch.Tensor
    mask: torch.Tensor
    scale: float = 2.0


@dataclasses.dataclass
class Prediction:
    logits: torch.Tensor
    hidden: tuple[torch.Tensor, ...] | None = None
    loss: torch.Tensor | None = None


@report(PT + "105242")
def dict_of_observations():
    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            self.nets = nn.ModuleDict({"image": nn.Conv2d(1, 2, 2), "vector": nn.Linear(3, 2)})
            self.action = nn.Linear(4, 2)

        def forward(self, obs):
            parts = []
            for key, net in self.nets.items():
                y = net(obs[key])
                parts.append(y.flatten(2).mean(-1) if y.dim() == 4 else y)
            latent = torch.cat(parts, dim=1)
            return self.action(latent).tanh().clip(-0.5, 0.5), latent

    return program(
        Policy(), lambda b: ({"image": torch.randn(b, 1, 4, 4), "vector": torch.randn(b, 3)},), (1,), (5,),
        axes={0: {0: "b"}, 1: {0: "b"}},
    )  # fmt: skip


@report(PT + "100414")
def flags_and_absent_arguments():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(4, 4)

        def forward(self, x, trigger=False, y=None, *, mask=None, scale: float = 1.0):
            x = self.lin(x)
            if trigger and y is not None:
                x = x + y
            if mask is not None:
                x = x.masked_fill(mask, 0)
            return x * scale

    return program(
        Net(), lambda b: (torch.randn(b, 4), True), (2,), (5,), axes={0: {0: "b"}, 1: {0: "b"}},
        kwargs=lambda b: {"y": torch.randn(b, 4), "mask": None, "scale": 0.5},
    )  # fmt: skip


@report(PT + "39762")
def optional_inputs_left_out_in_the_middle():
    class Cross(nn.Module):
        def forward(self, q, k=None, v=None, bias=None):
            k = q if k is None else k
            v = k if v is None else v
            a = q @ k.transpose(-1, -2)
            return (a if bias is None else a + bias).softmax(-1) @ v

    return program(
        Cross(), lambda b, t: (torch.randn(b, t, 4), None, None, torch.randn(t, t)), (1, 3), (2, 5),
        axes={0: {0: "b", 1: "t"}, 1: {0: "t", 1: "t"}},
    )  # fmt: skip


@report(OFTEN)
def dataclass_in_and_out():
    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(11, 4)

        def forward(self, sample):
            h = self.embed(sample.tokens) * sample.mask.unsqueeze(-1) * sample.scale
            return Prediction(h.sum(1), hidden=(h, h.relu()))

    return program(
        Tagger(), lambda b, t: (Sample(torch.randint(0, 11, (b, t)), torch.rand(b, t) > 0.3),), (1, 3), (4, 6),
        axes={0: {0: "b", 1: "t"}, 1: {0: "b", 1: "t"}},
    )  # fmt: skip


@report(OFTEN)
def nested_tuples_and_named_ones():
    class Step(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.LSTMCell(3, 4)

        def forward(self, x, state: tuple[torch.Tensor, torch.Tensor], pair: Pair):
            h, c = self.cell(x, state)
            return h, (h, c), Pair(pair.left + h, pair.right), [h * 2, (c,)]

    def inputs(b):
        return torch.randn(b, 3), (torch.randn(b, 4), torch.randn(b, 4)), Pair(torch.randn(b, 4), torch.randn(2))

    return program(Step(), inputs, (1,), (4,), axes={i: {0: "b"} for i in range(4)}, modes="trace")


@report(PT + "87864")
def list_of_feature_maps():
    class Merge(nn.Module):
        def forward(self, maps: list[torch.Tensor], weights: torch.Tensor):
            size = maps[0].shape[-2:]
            total = torch.zeros_like(maps[0])
            for i, m in enumerate(maps):
                total = total + F.interpolate(m, size=[size[0], size[1]], mode="nearest") * weights[i]
            return total, maps[-1]

    def inputs(b, h):
        return [torch.randn(b, 2, h, h), torch.randn(b, 2, h // 2, h // 2)], torch.randn(2)

    return program(Merge(), inputs, (1, 4), (2, 6), axes={0: {0: "b", 2: "h", 3: "h"}, 1: {0: "b", 2: "g", 3: "g"}})


@report(PT + "167848")
def inputs_given_back_and_outputs_twice():
    def both(x, y):
        z = x + y
        return x, z, z, y.view_as(y), x

    return program(both, lambda n: (torch.randn(n), torch.randn(n)), (3,), (5,), axes={0: {0: "n"}, 1: {0: "n"}},
                   modes="trace script exported")  # fmt: skip


@report(OFTEN)
def constant_outputs():
    class Boxes(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(3))
            self.register_buffer("anchors", torch.arange(4.0), persistent=False)

        def forward(self, x):
            return x.sum(), self.weight, self.anchors, torch.tensor(3), x.shape[0], 2.5, True, torch.ones(2)

    return program(Boxes(), lambda n: (torch.randn(n),), (3,), (5,), axes={0: {0: "n"}}, modes="trace script")


@report("https://github.com/lucidrains/x-transformers/issues/343")
def cache_grows_by_each_step():
    @dataclasses.dataclass
    class Cache:
        keys: list[torch.Tensor]
        values: list[torch.Tensor]

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(8, 24) for _ in range(2))

        def forward(self, x, cache):
            keys, values = [], []
            past = cache.keys[0].shape[2]
            for layer, k0, v0 in zip(self.layers, cache.keys, cache.values):
                q, k, v = (t.unflatten(-1, (2, 4)).transpose(1, 2) for t in layer(x).chunk(3, -1))
                k, v = torch.cat([k0, k], 2), torch.cat([v0, v], 2)
                i = torch.arange(q.shape[2])[:, None] + past
                bias = torch.zeros(q.shape[2], k.shape[2]).masked_fill(torch.arange(k.shape[2]) > i, float("-inf"))
                x = x + F.scaled_dot_product_attention(q, k, v, bias).transpose(1, 2).flatten(2)
                keys.append(k)
                values.append(v)
            return x, Cache(keys, values)

    def inputs(b, t, p):
        new = [torch.randn(b, 2, p, 4) for _ in range(4)]
        return torch.randn(b, t, 8), Cache(new[:2], new[2:])

    past = {i: {0: "b", 2: "p"} for i in range(1, 5)}
    return program(Decoder(), inputs, (1, 2, 3), (2, 1, 7), (1, 4, 0), axes={0: {0: "b", 1: "t"}, **past})


@report(PT + "14338")
def autograd_functions_without_a_symbolic():
    class Round(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, levels, bounds):
            ctx.save_for_backward(x)
            return torch.round(x.clamp(*bounds) * levels) / levels

        @staticmethod
        def backward(ctx, grad):
            return grad, None, None

    class Split(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.mark_non_differentiable(weight)
            return x.relu(), x.sign() * weight, x.size(0)

        @staticmethod
        def backward(ctx, *grads):
            return grads[0], None

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(4))

        def forward(self, x):
            a, b, n = Split.apply(x, self.weight)
            return Round.apply(a + b, 15, (-1.0, 1.0)) / n

    return program(Net(), lambda n: (torch.randn(n, 4),), (3,), (6,), axes={0: {0: "n"}})


@report(PT + "61813")
def checkpointed_blocks():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.GELU()) for _ in range(2))

        def forward(self, x):
            x = checkpoint(self.blocks[0], x, use_reentrant=True)
            return checkpoint(self.blocks[1], x, use_reentrant=False)

    return program(Net(), lambda n: (torch.randn(n, 4, requires_grad=True),), (3,), (6,), axes={0: {0: "n"}})


@report(OFTEN)
def data_parallel_and_hooks():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
            self.kept = {}
            self.a.register_forward_hook(lambda m, i, o: self.kept.update(a=o))
            self.b.register_forward_pre_hook(lambda m, i: (i[0] * 2,))
            self.b.register_forward_hook(lambda m, i, o: o + 1)

        def forward(self, x):
            y = self.b(self.a(x))
            return y, self.kept["a"].mean(-1)

    return program(nn.DataParallel(Net()), lambda n: (torch.randn(n, 4),), (3,), (6,), axes={0: {0: "n"}})


@report(PT + "27723")
def weight_norm_spectral_norm_old_and_new():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.utils.parametrizations.weight_norm(nn.Conv1d(2, 3, 3, padding=1), dim=1)
            self.b = torch.nn.utils.spectral_norm(nn.Linear(3, 3))
            self.c = torch.nn.utils.parametrizations.spectral_norm(nn.ConvTranspose1d(3, 2, 4, 2, 1))
            self.d = torch.nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))

        def forward(self, x):
            y = self.b(self.a(x).transpose(1, 2))
            return self.c(self.d(y).transpose(1, 2))

    return program(Net(), lambda b, t: (torch.randn(b, 2, t),), (1, 6), (3, 9), axes={0: {0: "b", 2: "t"}})


@report(PT + "94604")
def batch_norm_and_dropout_left_in_training_mode():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(2, 3, 1)
            self.norm = nn.BatchNorm2d(3)
            self.frozen = nn.BatchNorm2d(3)
            self.head = nn.Sequential(nn.Dropout(0.0), nn.InstanceNorm2d(3, affine=True))

        def forward(self, x):
            return self.head(self.frozen(self.norm(self.conv(x))))

    model = Net().train()
    model.frozen.eval()
    return program(
        model, lambda b, h: (torch.randn(b, 2, h, h) * 3,), (4, 5), (3, 6), axes={0: {0: "b", 2: "h", 3: "h"}},
        training=onnxport.TrainingMode.PRESERVE,
    )  # fmt: skip


@report(PT + "75252")
def batch_norm_without_running_statistics():
    net = nn.Sequential(nn.BatchNorm1d(3, track_running_stats=False), nn.BatchNorm1d(3, affine=False))
    return program(net, lambda b, t: (torch.randn(b, 3, t) + 2,), (4, 5), (3, 7), axes={0: {0: "b", 2: "t"}})


@report(OFTEN)
def functional_call_and_vmap():
    class Ensemble(nn.Module):
        def __init__(self):
            super().__init__()
            models = [nn.Linear(3, 2) for _ in range(3)]
            params, _ = torch.func.stack_module_state(models)
            self.names = list(params)
            self.params = nn.ParameterList(params.values())
            self.base = [copy.deepcopy(models[0])]

        def forward(self, x):
            def one(params, x):
                return torch.func.functional_call(self.base[0], params, (x,))

            params = dict(zip(self.names, self.params))
            return torch.vmap(one, in_dims=(0, None))(params, x), torch.vmap(torch.dot)(x, x.flip(-1))

    return program(Ensemble(), lambda n: (torch.randn(n, 3),), (2,), (5,), axes={0: {0: "n"}})


@report(OFTEN)
def compiled_module():
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    return program(torch.compile(net, backend="eager"), lambda n: (torch.randn(n, 3),), (2,), (5,), axes={0: {0: "n"}})


@report(OFTEN)
def lazy_modules_and_parameter_containers():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.LazyConv2d(3, 3)
            self.norm = nn.LazyBatchNorm2d()
            self.out = nn.LazyLinear(2)
            self.scales = nn.ParameterList([nn.Parameter(torch.randn(3, 1, 1)) for _ in range(2)])
            self.named = nn.ParameterDict({"bias": nn.Parameter(torch.randn(2)), "gain": nn.Parameter(torch.randn(()))})

        def forward(self, x):
            x = self.norm(self.first(x))
            for scale in self.scales:
                x = x * scale
            return self.out(x.mean((2, 3))) * self.named["gain"] + self.named["bias"]

    net = Net().eval()
    net(torch.randn(1, 2, 5, 5))
    return program(net, lambda b: (torch.randn(b, 2, 5, 5),), (1,), (4,), axes={0: {0: "b"}})


@report(PT + "108342")
def shared_weights_in_embedding_and_head():
    class Lm(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(12, 6, padding_idx=0, max_norm=1.0)
            self.rnn = nn.GRU(6, 6, batch_first=True)
            self.head = nn.Linear(6, 12, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, ids, h=None):
            x, h = self.rnn(self.embed(ids), h)
            return F.log_softmax(self.head(x), -1), h

    return program(Lm(), lambda b, t: (torch.randint(0, 12, (b, t)),), (1, 3), (4, 6), axes={0: {0: "b", 1: "t"}})


@report(PT + "158658")
def autocast_inside_of_forward():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.tensor(1.5))
            self.a, self.b = nn.Linear(4, 4), nn.LayerNorm(4)

        def forward(self, x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = self.a(x * self.scale)
                with torch.autocast("cpu", enabled=False):
                    z = self.b(y.float())
            return z, y.float()

    return program(Net(), lambda n: (torch.randn(n, 4),), (2,), (5,), axes={0: {0: "n"}}, rtol=3e-2, atol=3e-2)


@report(OFTEN)
def autocast_chooses_the_types():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin, self.norm = nn.Linear(4, 4), nn.LayerNorm(4)

        def forward(self, x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = self.lin(x)
                z = self.norm(y)
                with torch.autocast("cpu", enabled=False):
                    w = self.lin(y.float())
            with torch.autocast("cuda", enabled=False):
                v = self.lin(w)
            return y, z, w, v

    return program(
        Net(), lambda n: (torch.randn(n, 4),), (2,), (5,), axes={0: {0: "n"}}, modes="trace exported", rtol=3e-2, atol=3e-2
    )  # fmt: skip


@report(OFTEN)
def autocast_around_cond():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(4, 4)

        def forward(self, x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return torch.cond(x.shape[0] > 3, lambda x: self.lin(x), lambda x: self.lin(x * 2), [x])

    return program(
        Net(), lambda n: (torch.randn(n, 4),), (2,), (5,), axes={0: {0: "n"}}, modes="exported", rtol=3e-2, atol=3e-2
    )  # fmt: skip


@report(OFTEN)
def channels_last_and_contiguous():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 3, padding=1, groups=1)

        def forward(self, x):
            y = self.conv(x.contiguous(memory_format=torch.channels_last))
            z = y.permute(0, 2, 3, 1)
            return (
                z.reshape(-1, 4),
                y.is_contiguous(),
                z.view(x.shape[0], -1),
                y.to(memory_format=torch.contiguous_format),
            )

    net = Net().to(memory_format=torch.channels_last)
    return program(net, lambda b, h: (torch.randn(b, 3, h, h),), (1, 4), (2, 6), axes={0: {0: "b", 2: "h", 3: "h"}})


@report(OFTEN)
def scalars_of_zero_dimensions_and_empty_tensors():
    def mix(x, scale, flag, empty):
        y = torch.cat([x, empty, x[:0]], 0)
        z = torch.where(flag, y * scale, y - scale)
        return z, z.numel() * scale, empty.sum(), z.mean(0), torch.stack([scale, scale * 2]), empty.shape[0]

    def inputs(n):
        return torch.randn(n, 3), torch.tensor(1.5), torch.tensor(n % 2 == 0), torch.zeros(0, 3)

    return program(mix, inputs, (2,), (5,), axes={0: {0: "n"}}, modes="trace script")


@report(PT + "60828")
def buffers_moved_along_in_forward():
    class Ema(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(3))
            self.register_buffer("count", torch.tensor(0))
            self.history = []

        def forward(self, x):
            self.count += 1
            self.mean.lerp_(x.mean(0), 0.1)
            self.history.append(x.sum())
            return (x - self.mean) / self.count

    class Fresh(nn.Module):
        def forward(self, x):
            return Ema()(x)

    return program(Fresh(), lambda n: (torch.randn(n, 3),), (2,), (5,), axes={0: {0: "n"}})


@report(OFTEN)
def unused_inputs_and_modules():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.unused = nn.Linear(3, 2), nn.Linear(3, 9)

        def forward(self, x, meta, y):
            return {"scores": self.used(x), "aux": None, "more": [y, {"deep": y + 1}]}

    return program(
        Net(),
        lambda n: (torch.randn(n, 3), torch.randn(2), torch.randn(n)),
        (2,),
        (5,),
        axes={0: {0: "n"}, 2: {0: "n"}},
    )


@report(PT + "39502")
def quantisation_simulated_by_hand():
    class Ste(torch.autograd.Function):
        @staticmethod
        def forward(ctx, w, bits):
            n = 2 ** (bits - 1) - 1
            s = w.abs().amax(dim=tuple(range(1, w.dim())), keepdim=True) / n
            return (w / s).round().clamp(-n, n) * s

        @staticmethod
        def backward(ctx, g):
            return g, None

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(2, 3, 3)
            self.observer = torch.ao.quantization.FakeQuantize(
                torch.ao.quantization.MovingAverageMinMaxObserver, 0, 255, dtype=torch.quint8
            )
            self.observer(torch.randn(1, 2, 4, 4))
            self.observer.disable_observer()

        def forward(self, x):
            x = self.observer(x)
            return F.conv2d(x, Ste.apply(self.conv.weight, 4), self.conv.bias)

    return program(Net(), lambda b, h: (torch.randn(b, 2, h, h),), (1, 5), (2, 7), axes={0: {0: "b", 2: "h", 3: "h"}})


@report("https://github.com/pytorch/ao/issues/2298")
def dynamic_quantised_linear_layers():
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    quantized = torch.ao.quantization.quantize_dynamic(net, {nn.Linear}, dtype=torch.qint8)
    return program(quantized, lambda n: (torch.randn(n, 4),), (3,), (5,), axes={0: {0: "n"}}, atol=1e-2)


@report(OFTEN)
def ordered_dict_of_outputs():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.aux = nn.Linear(3, 1)

        def forward(self, x):
            out = collections.OrderedDict()
            out["out"] = x.softmax(-1)
            out["aux"] = self.aux(x)
            return out

    return program(Net(), lambda n: (torch.randn(n, 3),), (2,), (4,), axes={0: {0: "n"}}, modes="trace exported")


@report(OFTEN)
def forces_by_autograd_in_forward():
    class Energy(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))

        def forward(self, x):
            with torch.enable_grad():
                x = x.detach().requires_grad_(True)
                d = (x[:, None] - x[None]).pow(2).sum(-1, keepdim=True)
                energy = self.net(d).sum()
                (force,) = torch.autograd.grad(energy, x)
            return energy.detach(), -force

    return program(Energy(), lambda _: (torch.randn(4, 3),), (0,), (1,))
