"""Scripted programs in the style of what users ask about: text, sound, boxes, states, tables."""

# ruff: noqa: B007, SIM113, UP006, UP035, UP045  as users write them, for TorchScript
from typing import Dict, List, NamedTuple, Optional, Union

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.script.harness import check_script
from torch import Tensor

torch.manual_seed(0)
N = {0: {0: "n"}}
PROGRAMS = []


def R(*sizes):
    return torch.randn(*sizes)


def ints(*values):
    return torch.tensor(values)


def prog(*arguments, dynamic=None, opset=11):
    """A program and its arguments: those of the export, and others."""

    def add(program):
        model = torch.jit.script(program().eval()) if isinstance(program, type) else program
        PROGRAMS.append(pytest.param(model, arguments, dynamic, opset, id=program.__name__))
        return program

    return add


@prog((torch.arange(10), ints(1, 2, 3, 4)), (torch.arange(6), ints(3, 3)), dynamic={0: {0: "t"}, 1: {0: "n"}})
class Padding(nn.Module):
    def forward(self, input_t, shape_t):
        output_size = [len(shape_t), int(shape_t.max())]
        m = torch.zeros(size=output_size, dtype=input_t.dtype, device=input_t.device)
        s = 0
        for i, l in enumerate(shape_t):
            m[i, :l] = input_t[s : s + l]
            s = s + l
        return m


@prog((R(3, 4),), (R(5, 4),), dynamic=N)
def stack_walk(x):
    st = [0]
    seen: List[int] = []
    while len(st):
        a = st.pop()
        seen.append(a)
        for k in range(a + 1, min(a + 3, x.size(0))):
            if float(x[k].sum()) > 0 and k not in seen and k not in st:
                st.append(k)
    return torch.tensor(seen)


@prog((ints([59, 26, 3], [8, 9, 1]),), (ints([4, 4], [60, 60]),), dynamic={0: {0: "b", 1: "t"}})
class Contains(nn.Module):
    def __init__(self):
        super().__init__()
        self.nums = [3, 4, 5, 6, 7, 8, 9, 14]

    def forward(self, x):
        x = x.clone()
        for i in range(len(x)):
            for j in range(len(x[i])):
                if x[i, j].item() in self.nums:
                    x[i, j] *= 2
        return x


@prog(([R(1, 10, 6, 8), R(1, 10, 3, 4), R(1, 10, 2, 2)],), opset=13)
def scaled_boxes(model_outs: List[Tensor]):
    strides = [8, 16, 32]
    out2: List[Tensor] = []
    i = 0
    for x in model_outs:
        x = x.clone()
        x[:, 2:4] = torch.exp(x[:, 2:4]) * strides[i]
        i += 1
        out2.append(x)
    out = [y.reshape(y.shape[0], y.shape[1], -1) for y in out2]
    return torch.cat(out, 2)


@prog((R(3, 4), 2), (R(5, 4), 1), dynamic=N)
def twod_modify(x, k: int):
    y = torch.zeros([1]).repeat([x.size(0) * x.size(1)]).reshape(x.size(0), x.size(1))
    for i in range(x.size(0)):
        y[i] = x[i] * i
        y[i, k] += 10
    return y


class Out(NamedTuple):
    logits: Tensor
    aux: Optional[Tensor]


@prog((R(3, 4),), (R(5, 4),), dynamic=N)
class NT(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 2)

    def forward(self, x) -> Out:
        if self.training:
            return Out(self.a(x), x)
        return Out(self.a(x), None)


@prog(
    (R(2, 2), R(2, 2), R(2, 2)),
)
class LD(nn.Module):
    def forward(self, x, y, z) -> List[Dict[str, Tensor]]:
        res = torch.jit.annotate(List[Dict[str, Tensor]], [])
        res.append({"xy": x + y, "xz": x + z})
        return res


class Gate(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        else:
            return -x


@prog((R(3, 4), R(3, 4)), (-R(3, 4), R(3, 4)))
class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.dg = Gate()
        self.l = nn.Linear(4, 4)

    def forward(self, h, xx):
        d: Dict[str, Tensor] = {"h": h}
        n = torch.tanh(self.dg(self.l(xx)) + d["h"])
        return n, n


@prog(
    (R(4, 3), R(4, 3)),
    (-R(4, 3), R(4, 3)),
)
def types_differ(x, y):
    n = x.numel()
    if n > 100:
        cap = torch.tensor(n)
    else:
        cap = torch.tensor(3)
    if bool((x > 0).sum() > 5):
        cap = cap.to(torch.int64) + 1
    return x[: int(cap)]


@prog((R(1, 5, 4),), (R(1, 9, 4),), dynamic={0: {1: "t"}})
class Stream(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(4, 4, 3)
        self.rnn = nn.GRU(4, 4, batch_first=True)

    def forward(self, x):
        outs: List[Tensor] = []
        cache = torch.zeros(1, 2, 4)
        h: Optional[Tensor] = None
        for t in range(x.size(1)):
            c = torch.cat([cache, x[:, t : t + 1]], 1)
            cache = c[:, 1:]
            y = self.conv(c.transpose(1, 2)).transpose(1, 2)
            y, h2 = self.rnn(y, h)
            h = h2
            outs.append(y)
        return torch.cat(outs, 1)


@prog(
    (R(3, 5), 5),
    (R(3, 5), 9),
)
def ngram_bias(x, n: int):
    bias = torch.ones((2, n, n * 2)) * float("-inf")
    for s in range(2):
        for i in range(n):
            bias[s, i, n + i] = 0
            for j in range(i - s + 1):
                bias[s, i, j] = 0
    return bias


@prog((R(6, 4), torch.rand(6)), (R(9, 4), torch.rand(9)), dynamic={0: {0: "n"}, 1: {0: "n"}})
def soft_nms(boxes, scores):
    boxes = boxes.abs()
    boxes = torch.cat([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], 1)
    scores = scores.clone()
    keep: List[int] = []
    for _ in range(boxes.size(0)):
        i = int(scores.argmax())
        if float(scores[i]) < 0.2:
            break
        keep.append(i)
        lt = torch.max(boxes[i, :2], boxes[:, :2])
        rb = torch.min(boxes[i, 2:], boxes[:, 2:])
        wh = (rb - lt).clamp(min=0)
        inter = wh[:, 0] * wh[:, 1]
        area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        iou = inter / (area[i] + area - inter)
        scores = scores * torch.exp(-iou * iou / 0.5)
        scores[i] = 0.0
    return torch.tensor(keep), scores


@prog((torch.rand(12),), (torch.rand(7),), dynamic=N)
def vad_segments(p):
    starts: List[int] = []
    ends: List[int] = []
    on = False
    for i in range(p.size(0)):
        v = float(p[i])
        if v >= 0.5 and not on:
            on = True
            starts.append(i)
        elif v < 0.35 and on:
            on = False
            ends.append(i)
    if on:
        ends.append(p.size(0))
    return torch.tensor(starts), torch.tensor(ends)


@prog((R(2, 7),), (R(3, 4),), dynamic={0: {0: "b", 1: "t"}})
def viterbi(e):
    T = e.size(1)
    score = e[:, 0].unsqueeze(1).repeat(1, 3)
    hist: List[Tensor] = []
    trans = torch.tensor([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    for t in range(1, T):
        nxt = score.unsqueeze(2) + trans
        nxt, idx = nxt.max(1)
        score = nxt + e[:, t : t + 1]
        hist.append(idx)
    best = score.argmax(1)
    path = [best]
    for i in range(len(hist) - 1, -1, -1):
        best = hist[i].gather(1, best.unsqueeze(1)).squeeze(1)
        path.append(best)
    path.reverse()
    return torch.stack(path, 1)


@prog((R(2, 3, 8),), (R(1, 3, 5),), dynamic={0: {0: "b", 2: "t"}})
class ModList(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv1d(3, 3, 3, padding=1, dilation=1) for _ in range(3)])
        self.skip = nn.ModuleDict({"a": nn.Conv1d(3, 2, 1), "b": nn.Conv1d(3, 2, 1)})

    def forward(self, x):
        total: Optional[Tensor] = None
        for i, c in enumerate(self.convs):
            x = x + F.relu(c(x))
            for k, m in self.skip.items():
                s = m(x)
                total = s if total is None else total + s
            if i == 1 and x.size(2) > 6:
                x = x[:, :, 1:]
                total = total[:, :, 1:] if total is not None else None
        assert total is not None
        return total


@prog((R(3, 4), None), (R(5, 4), None), dynamic=N)
def optnone(x, m: Optional[Tensor] = None):
    if m is not None:
        x = x * m
    return x + 1


@prog((R(3, 4), R(3, 4)), (R(5, 4), R(5, 4)), dynamic={0: {0: "n"}, 1: {0: "n"}})
def optgiven(x, m: Optional[Tensor] = None, scale: Optional[float] = None):
    if m is not None:
        x = x * m
    if scale is not None:
        x = x * scale
    return x + 1


@prog((R(6),), (R(9),), dynamic=N)
def sliced_steps(x):
    out = x.new_zeros(x.size(0) // 2)
    for i in range(0, x.size(0) - 1, 2):
        out[i // 2] = x[i] * x[i + 1]
    return out


@prog(
    (R(4, 5), 3),
    (R(4, 5), 1),
)
def topk_loop(x, k: int):
    vals: List[Tensor] = []
    y = x.clone()
    for _ in range(k):
        v, i = y.max(1)
        vals.append(v)
        y.scatter_(1, i.unsqueeze(1), -1e9)
    return torch.stack(vals, 1), y


@prog((R(5, 3), ints(0, 0, 1, 1, 2)), (R(4, 3), ints(0, 1, 1, 1)), dynamic={0: {0: "n"}, 1: {0: "n"}})
def segments(x, ids):
    g = int(ids.max()) + 1
    out = torch.zeros(g, x.size(1))
    for i in range(g):
        out[i] = x[ids == i].mean(0)
    return out


@prog((torch.rand(3, 6, 6),), (torch.rand(2, 5, 7),), dynamic={0: {0: "b", 1: "h", 2: "w"}})
def flood(x):
    m = (x > 0.5).float().unsqueeze(1)
    prev = torch.zeros_like(m)
    cur = m * torch.arange(1, m.numel() + 1).view_as(m).float()
    while not torch.equal(prev, cur):
        prev = cur
        cur = F.max_pool2d(cur, 3, 1, 1) * m
    return cur.squeeze(1)


@prog((R(5, 4), "mean"), (R(3, 4), "mean"), dynamic=N)
def reduction(x, mode: str):
    if mode == "mean":
        return x.mean(0)
    elif mode == "sum":
        return x.sum(0)
    raise ValueError(mode)


@prog((R(5, 4), 0.5), (R(3, 4), 0.0), dynamic=N)
def thresholded_lists(x, t: float):
    pos: List[Tensor] = []
    neg: List[Tensor] = []
    for r in x:
        if float(r.mean()) > t:
            pos.append(r)
        else:
            neg.append(r)
    a = torch.stack(pos) if len(pos) > 0 else torch.zeros(0, x.size(1))
    b = torch.stack(neg) if len(neg) > 0 else torch.zeros(0, x.size(1))
    return a, b


@prog((R(1, 3, 9, 9),), (R(2, 3, 12, 10),), dynamic={0: {0: "b", 2: "h", 3: "w"}})
def tiles(x):
    out = torch.zeros_like(x)
    for i in range(0, x.size(2), 4):
        for j in range(0, x.size(3), 4):
            t = x[:, :, i : i + 4, j : j + 4]
            out[:, :, i : i + 4, j : j + 4] = t - t.mean(dim=(2, 3), keepdim=True)
    return out


@prog((R(3, 4), 1), (R(3, 4), 0), (R(3, 4), 2))
class Switch(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)])

    def forward(self, x, task: int):
        out = x
        for i, m in enumerate(self.l):
            if i == task:
                out = m(x)
        return out


@prog((R(2, 3), 27), (R(2, 3), 6))
def collatz(x, n: int):
    c = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        c += 1
    return x * c


@prog((R(2, 5, 3),), (R(1, 2, 3),), dynamic={0: {0: "b", 1: "t"}})
class TeacherForcing(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 3)
        self.out = nn.Linear(3, 3)

    def forward(self, x):
        b, t, _ = x.shape
        h = torch.zeros(b, 3)
        y = torch.zeros(b, 3)
        outs = torch.empty(b, t, 3)
        for i in range(t):
            h = self.cell(y, h)
            y = self.out(h)
            outs[:, i, :] = y
            if i < t - 1:
                y = x[:, i, :]
        return outs, h


@prog(
    (R(3), None, None),
)
def opt_defaults(x, a: Optional[Tensor] = None, b: Optional[List[int]] = None):
    if a is None:
        a = x * 2
    if b is None:
        b = [1, 2]
    return a * b[1]


@prog(
    (R(3), R(3), [3, 4]),
)
def opt_given(x, a: Optional[Tensor] = None, b: Optional[List[int]] = None):
    if a is None:
        a = x * 2
    if b is None:
        b = [1, 2]
    return a * b[1]


@prog(
    (R(3),),
)
def def_args(x, a: Optional[float] = None, k: int = 3, mode: str = "a", flag: bool = True, sizes: List[int] = (2, 3)):
    if a is None:
        a = 2.0
    return x * a * k * sizes[1] if flag and mode == "a" else x


@prog((R(4, 3),), (R(6, 3),), dynamic=N)
def maybe_first(x):
    found: Optional[Tensor] = None
    idx: Optional[int] = None
    for i in range(x.size(0)):
        if float(x[i].sum()) > 0:
            found = x[i]
            idx = i
            break
    if found is not None and idx is not None:
        return found * 2, idx
    return torch.zeros(3), -1


@prog((R(4, 3), 2.0), (R(4, 3), -1.0))
def union(x, a: float):
    v: Union[float, int] = a
    if isinstance(v, float):
        return x * v
    return x


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(R(3, 3))
        self.register_buffer("mask", torch.ones(3, 3).tril())

    def forward(self, x):
        y = torch.einsum("bi,ij->bj", x, self.w * self.mask)
        for i, p in enumerate(y.unbind(1)):
            if i == 1:
                y = y + p.unsqueeze(1)
        return y


prog((R(4, 3),), (R(6, 3),), dynamic=N)(Masked)


@prog((R(4, 3), 3), (R(4, 3), 1))
def try_shapes(x, k: int):
    y = x
    while y.size(0) < k * 4:
        y = torch.cat([y, x])
    return y[: k * 4].view(k, 4, 3).sum(0)


@prog((R(2, 9), 4), (R(2, 5), 3), dynamic={0: {1: "t"}})
def frames(x, size: int):
    n = (x.size(1) + size - 1) // size
    pad = n * size - x.size(1)
    if pad > 0:
        x = F.pad(x, [0, pad])
    return x.view(x.size(0), n, size).sum(-1)


@prog((R(3, 5), R(3, 5)), (R(3, 8), R(3, 8)), dynamic={0: {1: "t"}, 1: {1: "t"}})
def dtw(a, b):
    n, m = a.size(1), b.size(1)
    D = torch.full((n + 1, m + 1), float("inf"))
    D[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            c = (a[:, i] - b[:, j]).abs().sum()
            D[i + 1, j + 1] = c + torch.min(torch.min(D[i, j + 1], D[i + 1, j]), D[i, j])
    return D[n, m]


@prog((R(5), ints(3, 1)), (R(4), ints(0, 2)), dynamic=N)
def unique_counts(x, i):
    vals, inv, cnt = torch.unique((x * 2).long(), return_inverse=True, return_counts=True)
    for k in range(vals.size(0)):
        if int(cnt[k]) > 1:
            x = x + vals[k]
    return x[i]


@prog((R(6), R(6)), (R(3), R(3)), dynamic={0: {0: "n"}, 1: {0: "n"}})
def newton(a, b):
    x = torch.zeros_like(a)
    it = 0
    err = torch.tensor(1.0)
    while it < 20 and err.item() > 1e-4:
        nx = x - (x**3 + a.abs() * x - b) / (3 * x * x + a.abs() + 0.1)
        err = (nx - x).abs().max()
        x = nx
        it += 1
    return x, it


@prog((R(3, 4),), (R(5, 4),), dynamic=N)
def any_row(x):
    for r in x:
        if (r > 1).any():
            return r
    return x.new_full((4,), -1.0)


@prog((R(3, 4), "a"), (R(3, 4), "a"))
def fstr(x, name: str):
    key = f"{name}_{x.size(1)}"
    d = {"a_4": x, "b_4": -x}
    return d[key]


@prog((R(8, 4),), (R(6, 4),), dynamic=N)
def kmeans(x):
    c = x[:3].clone()
    for _ in range(4):
        d = torch.cdist(x, c)
        a = d.argmin(1)
        for k in range(3):
            m = a == k
            if m.sum() > 0:
                c[k] = x[m].mean(0)
    return c


@prog(
    (R(4, 4),),
)
def inplace_chain(x):
    y = x.clone()
    for i in range(y.size(0)):
        row = y[i]
        row /= row.abs().max()
        y[:, i].clamp_(min=-0.5)
        y.diagonal().add_(0.1)
    return y


@prog((R(2, 3, 4),), (R(2, 5, 4),), dynamic={0: {1: "t"}})
class Attn(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.MultiheadAttention(4, 2, batch_first=True)
        self.n = nn.LayerNorm(4)

    def forward(self, x, mask: Optional[Tensor] = None):
        y, w = self.q(x, x, x, key_padding_mask=mask)
        return self.n(x + y), w


@pytest.mark.parametrize("opset", [11, 18, 28])
@pytest.mark.parametrize(("model", "arguments", "dynamic", "lowest"), PROGRAMS)
def test_program(model, arguments, dynamic, lowest, opset):
    check_script(model, *arguments, dynamic=dynamic, opset=max(opset, lowest))
