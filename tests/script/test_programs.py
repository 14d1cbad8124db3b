"""Scripted programs: control flow, lists, dicts, objects. Each is exported once and run at several sizes and values."""

# ruff: noqa: B007, I001, UP006, UP035, UP045  programs are as users write them, for TorchScript
import warnings
from typing import Dict, List, Optional, Union

import pytest
import torch

from tests.script.harness import check_script

N = {0: {0: "n"}}
R = torch.randn
PROGRAMS = []


def program(*arguments, dynamic=None, opset=8):
    def add(function):
        PROGRAMS.append((function, arguments, dynamic, opset))
        return function

    return add


@program((R(5, 2),), (R(1, 2),), (R(8, 2),), dynamic=N)
def scan_list(x):
    outs: List[torch.Tensor] = []
    h = torch.zeros(x.shape[1])
    for t in range(x.shape[0]):
        h = torch.tanh(x[t] + h)
        outs.append(h)
    return torch.stack(outs), torch.stack(outs, 1), torch.cat(outs), len(outs)


@program((R(5, 2),), (R(1, 2),), dynamic=N)
def two_appends(x):
    outs: List[torch.Tensor] = [x[0]]
    for r in x:
        outs.append(r * 2)
        outs.append(r + 1)
    return torch.stack(outs)


@program((R(5, 2),), (R(1, 2),), dynamic=N)
def cond_append(x):
    outs: List[torch.Tensor] = [x[0]]
    for r in x:
        if r.sum() > 0:
            outs.append(r * 2)
    return torch.stack(outs), len(outs)


@program((R(5),), (R(1),), dynamic=N, opset=13)
def varying(x):
    outs: List[torch.Tensor] = []
    for i in range(x.shape[0]):
        outs.append(x[: i + 1])
    return torch.cat(outs), outs


@program((R(5),), (R(2),), dynamic=N)
def ints(x):
    ns: List[int] = []
    for i in range(x.shape[0]):
        ns.append(i * i)
    return torch.tensor(ns), sum(ns), ns[1], len(ns)


@program((R(5),), (R(2),), dynamic=N)
def floats(x):
    ns: List[float] = []
    for i in range(x.shape[0]):
        ns.append(float(x[i]) * 2)
    return torch.tensor(ns)


@program((R(5, 2), 3), (R(4, 2), 0), dynamic=N)
def nested(x, k: int):
    for i in range(k):
        for j in range(x.shape[0]):
            if j % 2 == 0:
                x = x + x[j]
            else:
                x = x - 1
    return x


@program((R(5),), (R(3),), (-R(4).abs(),), dynamic=N)
def early(x):
    i = 0
    while i < x.shape[0]:
        if x[i] > 0:
            return x[i], i
        i += 1
    return x[0], -1


@program((R(5),), (R(3),), dynamic=N)
def cont(x):
    s = torch.zeros(())
    for i in range(x.shape[0]):
        if x[i] < 0:
            continue
        s = s + x[i]
        if s > 2:
            break
    return s


@program((R(5, 3),), (R(2, 3),), dynamic=N)
def setit(x):
    y = torch.zeros_like(x)
    for i in range(x.shape[0]):
        y[i] = x[x.shape[0] - 1 - i]
        y[i, 1:] += 1
    return y


@program((R(5, 3), 2), (R(4, 3), 1), dynamic=N)
def pops(x, k: int):
    l = [x[0], x[1], x[2]]
    for i in range(k):
        l.pop(0)
    l.insert(0, x[0] * 2)
    return torch.stack(l), len(l)


@program((R(5, 3), 2), (R(4, 3), 1), dynamic=N, opset=11)
def setlist(x, k: int):
    l = [x[0], x[1], x[2]]
    for i in range(k):
        l[i] = l[i] + 1
    l[k] += 5
    return l


@program((R(5, 3),), (R(4, 3),), dynamic=N)
def dicts(x):
    d: Dict[str, torch.Tensor] = {}
    d["a"] = x
    d["b"] = x * 2
    for k in d:
        d[k] = d[k] + 1
    s = x
    for k, v in d.items():
        s = s + v
    if "a" in d:
        s = s * 2
    return d, s


@program((R(5, 3), True), (R(4, 3), False), dynamic=N)
def boolin(x, flag: bool):
    return x if flag else x * 2


@program((R(5, 3), 2.5), (R(4, 3), 1.0), dynamic=N)
def floatin(x, s: float):
    if s > 2:
        return x * s
    return x / s


@program(([R(2), R(3)],), ([R(2), R(3), R(5)],), opset=14)
def listin(xs: List[torch.Tensor]):
    s = torch.zeros(())
    for x in xs:
        s = s + x.sum()
    return s, torch.cat(xs), len(xs), xs


@program((R(5),), (R(3),), dynamic=N)
def dim1(x):
    if x.sum() > 0:
        y = x[:2]
    else:
        y = x
    return y + 1, y.shape[0]


@program((R(6, 2),), (R(9, 2),), dynamic=N, opset=11)
def chunks(x):
    outs: List[torch.Tensor] = []
    for c in x.split(4):
        outs.append(c.sum(0))
    return torch.stack(outs)


@program((R(6, 2),), (R(9, 2),), dynamic=N)
def unb(x):
    outs: List[torch.Tensor] = []
    for c in x.unbind(0):
        outs.append(c * 2)
    outs.reverse()
    return torch.stack(outs[1:])


@program((R(6, 2),), (R(9, 2),), dynamic=N)
def tup(x):
    a = (x, 0)
    for i in range(x.shape[0]):
        a = (a[0] + 1, a[1] + i)
    return a


@torch.jit.script
class Pt:
    def __init__(self, x: torch.Tensor):
        self.x = x
        self.n = 0

    def add(self, y: torch.Tensor):
        self.x = self.x + y
        self.n += 1


@program((R(6, 2),), (R(9, 2),), dynamic=N)
def obj(x):
    p = Pt(x)
    for i in range(x.shape[0]):
        p.add(x[i])
    return p.x, p.n


@program((R(6),), (R(9),), (R(1),), dynamic=N)
def opt2(x):
    best: Optional[torch.Tensor] = None
    for i in range(x.shape[0]):
        if x[i] > 0:
            if best is None or x[i] > best:
                best = x[i]
    if best is None:
        return torch.zeros(())
    return best


@program((R(6),), (R(9),), dynamic=N)
def whiletrue(x):
    i = 0
    while True:
        x = x * 0.5
        i += 1
        if bool(x.abs().max() < 0.1):
            break
    return x, i


@program((R(6, 3),), (R(4, 3),), dynamic=N)
def alias_loop(x):
    y = x.clone()
    v = y[1:]
    for i in range(x.shape[0] - 1):
        v[i] += y[i]
    return y, v


@program((R(6, 3),), (R(4, 3),), dynamic=N)
def alias_if(x):
    y = x.clone()
    v = y.t()[1]
    if x.sum() > 0:
        v.mul_(2)
    else:
        y[0].zero_()
    return y, v


@program((torch.tensor([3, 1, 2]),), (torch.tensor([1, 1]),), dynamic=N, opset=13)
def lens(lengths):
    outs: List[torch.Tensor] = []
    ns: List[int] = lengths.tolist()
    for m in ns:
        outs.append(torch.ones(m) * m)
    return torch.cat(outs)


@program(
    (R(3, 4),),
)
def static_unroll(x):
    s = x
    for i, k in enumerate([1, 2, 3]):
        if i != 1:
            s = s + k * x[i]
    return s


@program(
    (R(3, 4), "x"),
)
def strs(x, mode: str):
    name = f"a_{mode}" + "!"
    if name == "a_x!":
        return x + 1
    return x


@program((torch.ones(3),), (-torch.ones(3),))
def if_(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 1
    return y + 1


@program((torch.ones(3), 3), (torch.ones(3), 5))
def for_(x, n: int):
    for i in range(n):
        x = x + i
    return x


@program((torch.tensor([2.0, 9.0, 30.0]),))
def while_(x):
    y = torch.ones_like(x)
    c = torch.zeros(1, dtype=torch.long)
    while bool((y * y - x).abs().max() > 1e-3):
        y = 0.5 * (y + x / y)
        c += 1
    return y, c


@program((torch.ones(2), 5), (torch.ones(2), 2))
def break_(x, n: int):
    outs: List[torch.Tensor] = []
    for i in range(n):
        if i == 3:
            break
        outs.append(x * i)
    return torch.stack(outs)


@program((torch.ones(2),), (-torch.ones(2) * 0.5,), (-torch.ones(2) * 5,))
def ret_(x):
    if x.sum() > 0:
        return x * 2
    if x.max() > -1:
        return x * 3
    return x


@program((torch.ones(2), 3), (torch.ones(2), 0))
def cat_(x, n: int):
    y = x
    for i in range(n):
        y = torch.cat([y, x], 0)
    return y


@program((R(4, 2), 3), (R(4, 2), 1))
def mut_(x, n: int):
    y = x.clone()
    for i in range(n):
        y[i] = y[i] * 2
        v = y[0]
        v += 1
    return y, x


@program((torch.ones(2), 3), (torch.ones(2), 1))
def opt_(x, n: int):
    best: Optional[torch.Tensor] = None
    for i in range(n):
        if best is None:
            best = x
        else:
            best = best + x
    assert best is not None
    return best


@program((torch.ones(2),))
def assert_(x):
    assert x.sum() > -1000, "no"
    return x + 1


@program((R(3, 2),), (R(1, 2),), dynamic=N)
def facts_of_tensors(x):
    d = x.device
    if x.shape[0] > 20:
        warnings.warn("many rows", stacklevel=2)
    if d.type == "cpu" and d.index is None and not x.is_meta:
        return x * x.nbytes
    return x


@program((R(3, 4),), dynamic=N)
def norms(x):
    return torch.norm(x, p=1, dim=-1), torch.norm(x, p="fro", dim=(0, 1), keepdim=True), torch.norm(x, 3.0)


@program((R(3, 2), 2), (R(1, 2), 2), dynamic=N)
def kinds_of_values(x, n: int):
    pair: Union[List[int], int] = [n, n]
    if isinstance(pair, list):
        return x * pair[0]
    return x + 1


def lengths_of(x) -> List[torch.Tensor]:
    rows: List[torch.Tensor] = []
    for i in range(x.shape[0]):
        rows.append(x[i : 2 * i + 1] + i)
    return rows


@program((R(5, 2),), (R(1, 2),), (R(7, 2),), dynamic=N, opset=13)
def rows_of_lengths_padded(x):
    rows = lengths_of(x)
    right = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-1.0)
    left = torch.nn.utils.rnn.pad_sequence(rows, padding_value=0.5, padding_side="left")
    return right, left, torch.vstack(rows), torch.nn.utils.rnn.pad_sequence([r[:, 0] for r in rows])


@program((R(5, 2),), (R(1, 2),), dynamic=N)
def rows_of_a_length_padded(x):
    rows: List[torch.Tensor] = []
    for r in x:
        rows.append(r * 2)
    right = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    return right, torch.vstack(rows), torch.hstack(rows)


@program((R(5, 2, 3),), (R(1, 2, 3),), dynamic=N)
def matrices_side_by_side(x):
    parts: List[torch.Tensor] = []
    for m in x:
        parts.append(m + 1)
    return torch.hstack(parts), torch.vstack(parts)


@pytest.mark.parametrize("opset", [8, 13, 20])
@pytest.mark.parametrize(
    ("function", "arguments", "dynamic", "lowest"), PROGRAMS, ids=[p[0].__name__ for p in PROGRAMS]
)
def test_program(function, arguments, dynamic, lowest, opset):
    check_script(function, *arguments, dynamic=dynamic, opset=max(opset, lowest))
