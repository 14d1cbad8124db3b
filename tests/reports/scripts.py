"""Scripted programs."""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.reports.harness import OFTEN, program, reports

TABLE, report = reports()
PT = "https://github.com/pytorch/pytorch/issues/"


@report(PT + "83721")
def membership_in_a_list_of_numbers():
    def double(x: Tensor, numbers: list[int]):
        for i in range(len(x)):
            for j in range(len(x[i])):
                if x[i, j] in numbers:
                    x[i, j] *= 2
        return x

    scripted = torch.jit.script(double)

    class Net(nn.Module):
        def forward(self, x):
            return scripted(x.clone(), [3, 4, 5])

    return program(Net(), lambda n, m: (torch.randint(0, 8, (n, m)),), (2, 4), (3, 6), axes={0: {0: "n", 1: "m"}})


@report(PT + "25510")
def stack_of_numbers():
    def walk(children: Tensor, depth: Tensor):
        stack = [0]
        total = torch.zeros(children.size(1))
        visited: list[int] = []
        while len(stack) > 0:
            a = stack.pop()
            visited.append(a)
            total = total + children[a].float() * depth
            if a + 2 < children.size(0):
                stack.append(a + 2)
        return total, len(visited)

    return program(
        walk, lambda n: (torch.randint(0, 9, (n, 3)), torch.tensor(0.5)), (5,), (9,), axes={0: {0: "n"}}, modes="script"
    )


@report(PT + "72174")
def greedy_decoding_with_caches():
    class Greedy(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(9, 6)
            self.cell = nn.GRUCell(12, 6)
            self.out = nn.Linear(6, 9)
            self.limit: int = 7

        def forward(self, memory: Tensor) -> tuple[Tensor, Tensor, list[Tensor]]:
            b = memory.size(0)
            h = memory.mean(1)
            token = torch.zeros(b, dtype=torch.long)
            done = torch.zeros(b, dtype=torch.bool)
            out: list[Tensor] = []
            scores = torch.zeros(b)
            steps: list[Tensor] = []
            i = 0
            while i < self.limit and not bool(done.all()):
                weights = torch.bmm(memory, h.unsqueeze(2)).squeeze(2).softmax(1)
                context = (memory * weights.unsqueeze(2)).sum(1)
                h = self.cell(torch.cat([self.embed(token), context], 1), h)
                logp = self.out(h).log_softmax(-1)
                best, token = logp.max(-1)
                scores = scores + torch.where(done, torch.zeros_like(best), best)
                token = token.masked_fill(done, 3)
                done = done | (token == 3)
                out.append(token)
                if i < 2:
                    steps.append(h)
                i += 1
            return torch.stack(out, 1), scores, steps

    return program(Greedy(), lambda b, t: (torch.randn(b, t, 6) * 2,), (1, 4), (3, 6), axes={0: {0: "b", 1: "t"}},
                   modes="script")  # fmt: skip


@report(OFTEN)
def beam_search_over_steps():
    class Beam(nn.Module):
        def __init__(self):
            super().__init__()
            self.step = nn.Linear(4 + 7 + 1, 7)

        def forward(self, state: Tensor, steps: int = 4, beam: int = 3):
            tokens = torch.zeros(1, 1, dtype=torch.long)
            scores = torch.zeros(1)
            for t in range(steps):
                last = F.one_hot(tokens[:, -1], 7).float()
                steps_done = torch.full((tokens.size(0), 1), 0.1 * t)
                logp = self.step(torch.cat([state.expand(tokens.size(0), -1), last, steps_done], 1)).log_softmax(-1)
                total = (scores.unsqueeze(1) + logp).view(-1)
                scores, index = total.topk(min(beam, total.size(0)))
                source = torch.div(index, 7, rounding_mode="floor")
                tokens = torch.cat([tokens[source], (index % 7).unsqueeze(1)], 1)
            return tokens, scores

    return program(Beam(), lambda s: (torch.randn(1, 4) * s,), (1.0,), (3.0,), modes="script trace")


@report("https://github.com/mlcommons/inference/issues/637")
def transducer_greedy_loop():
    class Transducer(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(6, 4)
            self.predict = nn.LSTMCell(4, 4)
            self.joint = nn.Linear(4, 6)
            self.blank: int = 0

        def forward(self, frames: Tensor) -> Tensor:
            hyp: list[int] = []
            h = torch.zeros(1, 4)
            c = torch.zeros(1, 4)
            last = torch.zeros(1, dtype=torch.long)
            for t in range(frames.size(0)):
                emitted = 0
                more = True
                while more and emitted < 2:
                    hn, cn = self.predict(self.embed(last), (h, c))
                    k = int(self.joint(frames[t : t + 1] + hn).argmax(-1).item())
                    if k == self.blank:
                        more = False
                    else:
                        hyp.append(k)
                        last = torch.full((1,), k, dtype=torch.long)
                        h, c = hn, cn
                        emitted += 1
            return torch.tensor(hyp, dtype=torch.long)

    return program(Transducer(), lambda t: (torch.randn(t, 4) * 3,), (4,), (9,), axes={0: {0: "t"}}, modes="script")


@report(PT + "45816")
def grid_decode_in_a_scripted_function():
    def predict(pred: Tensor, anchors: Tensor, stride: int, scale: float):
        na = anchors.shape[0]
        nb, nc, nh, nw = pred.shape
        attributes = int(nc / na)
        pred = pred.view(nb, na, attributes, nh, nw).permute(0, 1, 3, 4, 2).contiguous()
        gx = torch.arange(nw).view(1, 1, 1, nw)
        gy = torch.arange(nh).view(1, 1, nh, 1)
        scaled = anchors.clone().float()
        scaled[:, 0] /= nw * stride
        scaled[:, 1] /= nh * stride
        aw = scaled[:, 0].clone().view(1, na, 1, 1)
        ah = scaled[:, 1].clone().view(1, na, 1, 1)
        x = ((torch.sigmoid(pred[..., 0]) - 0.5) * scale + 0.5 + gx) / nw
        y = ((torch.sigmoid(pred[..., 1]) - 0.5) * scale + 0.5 + gy) / nh
        w = torch.exp(pred[..., 2]) * aw
        h = torch.exp(pred[..., 3]) * ah
        out = torch.cat([torch.stack([x, y, w, h], -1), torch.sigmoid(pred[..., 4:])], -1)
        return out.view(nb, -1, attributes), x, scaled

    scripted = torch.jit.script(predict)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.anchors = torch.tensor([[10, 13], [16, 30]])

        def forward(self, x):
            return scripted(x, self.anchors, 8, 1.05)

    return program(Net(), lambda b, h, w: (torch.randn(b, 14, h, w),), (1, 3, 4), (2, 5, 2),
                   axes={0: {0: "b", 2: "h", 3: "w"}}, modes="trace script")  # fmt: skip


@report(PT + "91526")
def sorting_in_a_script_around_a_recurrent_layer():
    def sort_tensor(context: Tensor, lens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        lens_sorted, ids = torch.sort(lens, descending=True)
        unsort = torch.zeros_like(ids)
        for i in range(ids.shape[0]):
            unsort[ids[i]] = i
        return context[ids], lens_sorted, unsort

    scripted = torch.jit.script(sort_tensor)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.LSTM(3, 4, batch_first=True, bidirectional=True)

        def forward(self, x, lens):
            x, lens, unsort = scripted(x, lens)
            packed = nn.utils.rnn.pack_padded_sequence(x, lens.cpu(), batch_first=True)
            out, (h, _) = self.rnn(packed)
            out, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
            return out[unsort], h[:, unsort]

    def inputs(b, t):
        lens = torch.randint(1, t + 1, (b,))
        lens[0] = t
        return torch.randn(b, t, 3), lens

    return program(Net(), inputs, (3, 5), (4, 7), axes={0: {0: "b", 1: "t"}, 1: {0: "b"}})


class Output(NamedTuple):
    boxes: Tensor
    scores: Tensor


@report(PT + "155091")
def dicts_lists_and_named_tuples():
    class Head(nn.Module):
        def __init__(self):
            super().__init__()
            self.heads = nn.ModuleDict({"a": nn.Linear(3, 2), "b": nn.Linear(3, 1)})

        def forward(self, feats: dict[str, Tensor], names: list[str]) -> dict[str, Tensor]:
            out: dict[str, Tensor] = {}
            for name, head in self.heads.items():
                out[name] = head(feats[name])
            for key, value in feats.items():
                if key not in out:
                    out[key] = value * 2
            out["sum"] = torch.stack([v.sum() for v in out.values()]).sum()
            result = Output(out["a"], out["b"])
            out["both"] = torch.cat([result.boxes, result.scores], 1)
            return out

    return program(
        Head(), lambda n: ({"a": torch.randn(n, 3), "b": torch.randn(n, 3), "z": torch.randn(n)}, ["x"]), (2,), (4,),
        axes={0: {0: "n"}, 1: {0: "n"}, 2: {0: "n"}}, modes="script",
    )  # fmt: skip


@report(PT + "143192")
def branches_returns_breaks():
    class Early(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

        def forward(self, x: Tensor, threshold: float) -> tuple[Tensor, int]:
            if x.size(0) == 0:
                return x, -1
            depth = 0
            for layer in self.layers:
                x = layer(x).relu()
                depth += 1
                if float(x.max()) < threshold:
                    return x * 2, depth
            for i in range(10):
                if i % 2 == 0:
                    continue
                x = x / 1.5
                if bool((x.abs() < 1).all()):
                    break
            return x, depth

    return program(
        Early(), lambda n, s, t: (torch.randn(n, 4) * s, t), (2, 1.0, 0.1), (3, 50.0, 0.1), (5, 1.0, 90.0), (0, 1.0, 0.1),
        (3, 1e6, 0.1), axes={0: {0: "n"}}, modes="script",
    )  # fmt: skip


@report(OFTEN)
def optional_states_in_scripts():
    class Cell(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.LSTM(3, 4, num_layers=2)

        def forward(self, x: Tensor, state: tuple[Tensor, Tensor] | None = None, bias: Tensor | None = None):
            if state is None:
                zeros = torch.zeros(2, x.size(1), 4, dtype=x.dtype)
                state = (zeros, zeros)
            y, (h, c) = self.rnn(x, state)
            if bias is not None:
                y = y + bias
            return y, h, c

    def inputs(t, b, given):
        state = (torch.randn(2, b, 4), torch.randn(2, b, 4)) if given else None
        return torch.randn(t, b, 3), state

    return program(Cell(), inputs, (3, 2, True), (5, 1, True), modes="script trace",
                   axes={0: {0: "t", 1: "b"}, 1: {1: "b"}, 2: {1: "b"}})  # fmt: skip


@report(PT + "38770")
def scripted_parts_within_a_trace():
    class Windows(nn.Module):
        def forward(self, x: Tensor, size: int, hop: int) -> Tensor:
            parts: list[Tensor] = []
            start = 0
            while start + size <= x.size(1):
                parts.append(x[:, start : start + size])
                start += hop
            return torch.stack(parts, 1)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.cut = torch.jit.script(Windows())
            self.lin = nn.Linear(4, 2)

        def forward(self, x):
            return self.lin(self.cut(x, 4, 2)).mean(1)

    return program(Net(), lambda b, t: (torch.randn(b, t),), (1, 8), (3, 13), (2, 4), axes={0: {0: "b", 1: "t"}})


@report(PT + "85757")
def padding_a_list_of_sequences():
    def pad(flat: Tensor, lengths: list[int]) -> tuple[Tensor, Tensor]:
        n = max(lengths)
        rows = []
        start = 0
        for length in lengths:
            rows.append(F.pad(flat[start : start + length], [0, 0, 0, n - length], value=-1.0))
            start += length
        return torch.stack(rows), torch.tensor(lengths) * 2

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.pad = torch.jit.script(pad)

        def forward(self, x: Tensor, lengths: Tensor):
            sizes: list[int] = lengths.tolist()
            return self.pad(x, sizes)

    return program(
        Net(), lambda *n: (torch.randn(sum(n), 2), torch.tensor(n)), (2, 3), (4, 1), axes={0: {0: "t"}}, modes="script"
    )


@report(OFTEN)
def recursion_of_a_filter():
    def lfilter(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
        n = a.size(0)
        padded = torch.zeros(x.size(0), x.size(1) + n - 1)
        out = torch.zeros_like(padded)
        padded[:, n - 1 :] = x
        af, bf = a.flip(0), b.flip(0)
        for t in range(x.size(1)):
            o = padded[:, t : t + n] @ bf
            o.addmv_(out[:, t : t + n], af, alpha=-1)
            o.div_(a[0])
            out[:, t + n - 1] = o
        return out[:, n - 1 :].clamp(-1.0, 1.0)

    return program(
        lfilter, lambda b, t: (torch.randn(b, t), torch.tensor([1.0, -0.4, 0.2]), torch.tensor([0.3, 0.2, 0.1])),
        (2, 6), (1, 11), axes={0: {0: "b", 1: "t"}}, modes="script",
    )  # fmt: skip


@report(PT + "59621")
def pointer_network_decoder():
    class Pointer(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.LSTMCell(4, 4)
            self.w1, self.w2, self.v = nn.Linear(4, 4, False), nn.Linear(4, 4, False), nn.Linear(4, 1, False)
            self.start = nn.Parameter(torch.randn(4))

        def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
            b, n, _ = inputs.shape
            mask = torch.ones(b, n, dtype=torch.bool)
            runner = torch.arange(n).unsqueeze(0).expand(b, -1)
            h = torch.zeros(b, 4)
            c = torch.zeros(b, 4)
            x = self.start.unsqueeze(0).expand(b, -1)
            pointers: list[Tensor] = []
            outputs: list[Tensor] = []
            for _ in range(n):
                h, c = self.cell(x, (h, c))
                e = self.v(torch.tanh(self.w1(inputs) + self.w2(h).unsqueeze(1))).squeeze(-1)
                a = e.masked_fill(~mask, -math.inf).softmax(-1)
                _, index = a.max(1)
                hot = (runner == index.unsqueeze(1).expand(-1, n)).float()
                mask = mask & (hot == 0)
                x = inputs[hot.unsqueeze(2).expand(-1, -1, 4).to(torch.bool)].view(b, 4)
                pointers.append(index.unsqueeze(1))
                outputs.append(a.unsqueeze(0))
            return torch.cat(outputs).permute(1, 0, 2), torch.cat(pointers, 1)

    return program(Pointer(), lambda b, n: (torch.randn(b, n, 4),), (2, 4), (3, 6), axes={0: {0: "b", 1: "n"}},
                   modes="script")  # fmt: skip


@report(OFTEN)
def frozen_and_optimised_scripts():
    net = nn.Sequential(
        nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 2)
    )
    frozen = torch.jit.freeze(torch.jit.script(net.eval()))
    return program(frozen, lambda b, h: (torch.randn(b, 2, h, h),), (1, 6), (3, 5), axes={0: {0: "b", 2: "h", 3: "h"}},
                   modes="script")  # fmt: skip


@report(OFTEN)
def asserts_formats_and_raises():
    class Checked(nn.Module):
        def __init__(self, mode: str = "mean"):
            super().__init__()
            self.mode = mode

        def forward(self, x: Tensor, k: int) -> Tensor:
            dims = [0, 1]
            assert x.dim() >= 2, f"a matrix, not {x.dim()}"
            if x.size(-1) != 4:
                raise ValueError(f"four columns, not {x.size(-1)}")
            if self.mode == "mean":
                y = x.mean(dims)
            elif self.mode == "max":
                y = x.amax(dims)
            else:
                raise RuntimeError(f"unknown mode {self.mode}")
            n = math.ceil(x.size(0) / 2) + int(math.sqrt(float(x.size(0))))
            shape = list(x.shape[:-1]) + [1, 4]
            return y.sum() * n * k + x.view(shape).squeeze(-2)[..., -1].sum() + float(n) ** 0.5

    return program(Checked(), lambda n: (torch.randn(n, 3, 4), n + 1), (2,), (7,), axes={0: {0: "n"}}, modes="script")


@report(OFTEN)
def fork_join_and_ignored_methods():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(3, 2), nn.Linear(3, 2)

        @torch.jit.unused
        def plot(self, x: Tensor) -> Tensor:
            return x.numpy()

        @torch.jit.export
        def other(self, x: Tensor) -> Tensor:
            return self.b(x)

        def forward(self, x: Tensor, debug: bool = False) -> Tensor:
            if debug:
                x = self.plot(x)
            future = torch.jit.fork(self.a, x)
            return torch.jit.wait(future) + self.other(x)

    return program(Net(), lambda n: (torch.randn(n, 3),), (2,), (4,), axes={0: {0: "n"}}, modes="script")


@report(OFTEN)
def list_juggling():
    def juggle(x: Tensor, k: int) -> tuple[Tensor, Tensor, list[Tensor]]:
        parts = list(x.split(2, 1))
        parts.reverse()
        parts.insert(0, x[:, :1])
        last = parts.pop()
        parts.extend([last * 2, last + 1])
        parts[1] = parts[1].neg()
        del parts[2]
        sizes = [p.size(1) for p in parts]
        order = sorted(sizes)
        copy = parts[1:-1] + [x]
        pairs = [a.sum() * b for a, b in zip(parts, sizes)]
        total = order[0] + 2 * order[-1] + k
        return torch.cat(parts, 1) * total, torch.stack(pairs), copy

    return program(juggle, lambda n, k: (torch.randn(n, 7), k), (2, 3), (4, 5), axes={0: {0: "n"}}, modes="script")
