"""An `if` of Python on sizes, whose ways differ, is one of the exported model: right at all sizes on either way."""

import logging
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import onnxport
from onnxport.errors import OnnxExporterWarning
from tests.harness import LATEST

from . import test_asked_behind, test_far_sizes, test_other_ways, test_turns

ONE = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 17, 25, 33, 100)
TWO = [(a, b) for a in (1, 2, 3, 4, 5, 8, 9) for b in (1, 2, 3, 4, 6, 7, 16)]


class Model(nn.Module):
    """A function of the model, its argument and the size of the second axis."""

    def __init__(self, function):
        super().__init__()
        self.function = function
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.conv = nn.Conv1d(4, 4, 3, groups=4)
        self.norm, self.gru = nn.BatchNorm1d(4), nn.GRU(4, 4, batch_first=True)
        self.down, self.up = nn.Conv1d(4, 4, 3, 2, 1), nn.ConvTranspose1d(4, 4, 3, 2, 1)
        self.pad = nn.Embedding(2, 4)

    def forward(self, x):
        return self.function(self, x, x.shape[1])


def blocks(m, x, n):
    if n % 4:
        x = F.pad(x, (0, 0, 0, 4 - n % 4))
    y = m.a(x)
    return y.view(y.shape[0], y.shape[1] // 4, 16).softmax(-1)


def windows(m, x, n):
    """Attention in windows of four tokens; what is padded to whole windows is cut off."""
    pad = -n % 4
    if pad > 0:
        x = torch.cat([x, m.pad(torch.zeros(x.shape[0], pad, dtype=torch.long))], 1)
    parts = m.a(x).view(x.shape[0], -1, 4, 4)
    y = ((parts @ parts.mT).softmax(-1) @ parts).reshape(x.shape[0], -1, 4)
    return y[:, :-pad] if pad > 0 else y


def steps(m, x, n):
    """A state space model has one form for single tokens."""
    if n == 1:
        y = x * m.conv.weight.sum(-1).T
    else:
        y = m.conv(F.pad(x.mT, (2, 0))).mT.cumsum(1)
    return m.b(y)


def written(m, x, n):
    y = x * 2
    if n % 2:
        y[:, 0] = 0.0
    y.view(y.shape[0], -1).add_(1)
    return y


def two_results(m, x, n):
    if n % 2:
        return x[:, 1:].sum(1), torch.ones(1)
    return x.sum(1), torch.zeros(1)


def by_rest(m, x, n):
    if n % 3 == 0:
        return x
    if n % 3 == 1:
        return torch.cat([x, x[:, :2]], 1)
    return torch.cat([x, x[:, :1]], 1)


def levels(m, x, n):
    """Three times an `if` on what was computed before."""
    x, skipped = x.mT, []
    for _ in range(3):
        skipped.append(x)
        x = m.down(x).relu()
    for skip in reversed(skipped):
        x = m.up(x)
        if x.shape[-1] < skip.shape[-1]:
            x = F.pad(x, (0, skip.shape[-1] - x.shape[-1]))
        x = x + skip
    return x


def with_state(m, x, n):
    if n % 2:
        x = torch.cat([x, x[:, -1:]], 1)
    y, h = m.gru(m.norm(x.mT).mT)
    return (y + 1 if x.shape[1] > 10 else y), h


def by_numpy(m, x, n):
    if n % 2:
        return x * torch.tensor(np.linspace(0, 1, n, dtype=np.float32))[:, None]
    return x + float(np.sqrt(int(n)))


def pieces(m, x, n):
    if n > 6:
        return torch.cat([part.cumsum(1) for part in x.split((n + 1) // 2, 1)], 1)
    return x * int(n)


PROGRAMS = {
    "padded": blocks,
    "windows": windows,
    "steps": steps,
    "other_weights": lambda m, x, n: m.a(x) if n > 9 else m.b(x),
    "pairs": lambda m, x, n: (lambda y: y[:, ::2] * y[:, 1::2])(m.a(x if n % 2 == 0 else torch.cat([x, x[:, -1:]], 1))),
    "far": lambda m, x, n: (m.b(m.a(x)) if n > 64 else m.a(x)) + 1,
    "behind": lambda m, x, n: x * 2 if n > 16 and n % 4 == 1 else x + 1 if n < 5 else x.relu(),
    "elif": lambda m, x, n: x * (2 if n < 3 else 3 if n < 6 else 4 if n < 12 else 5 if n < 50 else 6),
    "behind_alike": lambda m, x, n: x.mean(1) if (n % 2 == 0 and n > 4) or n == 3 else x.amax(1),
    "early": lambda m, x, n: torch.zeros(x.shape[0], 4) if n < 3 else x[:, 2] * 2,
    "masked": lambda m, x, n: (x @ x.mT + (torch.full((n, n), -1e9).triu(1) if n > 1 else 0)).softmax(-1) @ x,
    "written": written,
    "two_results": two_results,
    "by_rest": by_rest,
    "levels": levels,
    "with_state": with_state,
    "by_numpy": by_numpy,
    "pieces": pieces,
}


def exported(model, x, axes, opset=17):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = onnxport.export(model, (x,), input_names=["x"], dynamic_axes={"x": axes}, opset_version=opset)
    return result, [str(w.message) for w in said if issubclass(w.category, OnnxExporterWarning)]


def holds(result, model, x):
    expected = model(x.clone())
    found = result(x)
    pairs = zip(found, expected) if isinstance(expected, tuple) else [(found, expected)]
    for a, b in pairs:
        torch.testing.assert_close(a, b.detach(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n", [8, 9, 1])
@pytest.mark.parametrize("name", PROGRAMS)
def test_right_on_all_ways(name, n):
    model = Model(PROGRAMS[name]).eval()
    result, said = exported(model, torch.randn(2, n, 4), {1: "n"}, opset=LATEST if n == 9 else 17)
    if (name, n) == ("by_numpy", 1):  # numbers from 0 to 1 are 0, if there is one: nothing follows from that
        assert said
        return
    assert not said
    for size in ONE:
        holds(result, model, torch.randn(2, size, 4))


def padded_image(m, x, h, w):
    if h % 4:
        x = F.pad(x, (0, 0, 0, 4 - h % 4))
    if w % 4:
        x = F.pad(x, (0, 4 - w % 4))
    return m.conv(x)


def shifted_windows(m, x, h, w):
    size = 4 if min(h, w) > 4 else min(h, w)
    shift = 2 if min(h, w) > 4 else 0
    x = x.permute(0, 2, 3, 1)
    if shift > 0:
        x = torch.roll(x, (-shift, -shift), (1, 2))
    x = F.pad(x, (0, 0, 0, -w % size, 0, -h % size))
    b, rows, columns, c = x.shape
    y = x.view(b, rows // size, size, columns // size, size, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, size * size, c)
    y = m.linear((y @ y.mT).softmax(-1) @ y).view(b, rows // size, columns // size, size, size, c)
    x = y.permute(0, 1, 3, 2, 4, 5).reshape(b, rows, columns, c)
    if shift > 0:
        x = torch.roll(x, (shift, shift), (1, 2))
    return x[:, :h, :w]


def merged(m, x, h, w):
    for _ in range(2):
        if x.shape[-2] % 2 or x.shape[-1] % 2:
            x = F.pad(x, (0, x.shape[-1] % 2, 0, x.shape[-2] % 2))
        x = m.conv(x[..., ::2, ::2] + x[..., 1::2, 1::2])
    return x


class Image(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function
        self.conv, self.linear = nn.Conv2d(3, 3, 3, padding=1), nn.Linear(3, 3)

    def forward(self, x):
        return self.function(self, x, *x.shape[-2:])


IMAGES = {
    "padded": padded_image,
    "turned": lambda m, x, h, w: (x.mT * 2 if h < w else x).cumsum(-1),
    "shifted_windows": shifted_windows,
    "merged": merged,
}


@pytest.mark.parametrize("sizes", [(8, 12), (7, 9)], ids=str)
@pytest.mark.parametrize("name", IMAGES)
def test_images(name, sizes):
    model = Image(IMAGES[name])
    result, said = exported(model, torch.randn(2, 3, *sizes), {2: "h", 3: "w"})
    assert not said
    for size in TWO:
        holds(result, model, torch.randn(2, 3, *size))


def test_other_arguments():
    """The ways have the same operations, on other inputs."""

    def model(x, y):
        return x * 2 if x.shape[0] > 9 else y * 2

    axes = {"x": {0: "n"}, "y": {0: "n"}}
    result = onnxport.export(
        model, (torch.randn(6), torch.randn(6)), input_names=["x", "y"], dynamic_axes=axes, strict=True
    )
    for n in (1, 6, 9, 10, 30):
        x, y = torch.randn(2, n)
        torch.testing.assert_close(result(x, y), model(x, y))


def test_what_ways_have_in_common_is_there_once():
    model = Model(lambda m, x, n: m.b(m.a(x) if n % 2 else m.a(x[:, 1:])).softmax(-1))
    result, said = exported(model, torch.randn(2, 8, 4), {1: "n"})
    assert not said
    nodes = [node.op_type for node in result.model_proto.graph.node]
    assert nodes.count("Softmax") == nodes.count("If") == 1
    assert len(result.model_proto.graph.initializer) < 12  # each weight once, and constants


@pytest.mark.parametrize(
    "function",
    [
        lambda m, x, n: x.sum(1) if n % 2 else x.argmax(1),  # other types
        lambda m, x, n: x.double() if n % 2 else x,
        lambda m, x, n: (x, x) if n % 2 else (x * 2,),  # other numbers of results
        lambda m, x, n: x * 2 if x.sum() > 0 and n % 2 else x * 3,  # values
    ],
)
def test_what_does_not_go_together_is_told(function):
    _, said = exported(Model(function), torch.ones(2, 8, 4), {1: "n"})
    assert any(__file__ in text for text in said)


def chosen_rows(m, x, n):
    """How many rows are chosen is checked, and said."""
    rows = x[x[:, :, 0] > -9]
    assert rows.shape[1] == 4 and rows.dim() == 2
    logging.getLogger(__name__).debug(f"{n} tokens are padded to {n + n % 2}")
    return torch.cat([rows, rows[:2]]) if n % 2 else rows


def by_value(m, x, n):
    if (x > 1e9).any().item():
        x = -x
    return x[:, 1:] if n % 2 else x


@pytest.mark.parametrize("function, told", [(chosen_rows, False), (by_value, True)])
def test_what_values_decide_stays_as_it_is(function, told):
    model = Model(function)
    result, said = exported(model, torch.randn(2, 8, 4), {1: "n"})
    assert bool(said) == told
    for size in ONE:
        holds(result, model, torch.randn(2, size, 4))


@pytest.mark.parametrize("n", [4, 5, 8])
def test_ints_behind_ways_that_give_the_same(n):
    """Above 4 whole blocks are counted, of which there is one as long as there are less than 8."""

    def blocks_of_four(m, x, n):
        for _ in range(0, n - n % 4 if n > 4 else n, 4):
            x = x * 1.5
        return x

    model = Model(blocks_of_four)
    result, said = exported(model, torch.randn(2, n, 4), {1: "n"})
    for size in () if said else ONE:
        holds(result, model, torch.randn(2, size, 4))


@pytest.mark.parametrize("shape", [(2, 6, 4), (4, 4, 4)])
def test_sizes_beside_what_decides(shape):
    """Where both sizes are 1, both ways give the same."""
    model = Model(lambda m, x, n: x[0] if x.shape[0] == 1 else x.sum(1))
    result, said = exported(model, torch.randn(shape), {0: "b", 1: "n"})
    for b, n in () if said else TWO:
        holds(result, model, torch.randn(b, n, 4))


class OneOfTwo(torch.autograd.Function):
    """Has two results, and takes a number."""

    @staticmethod
    def forward(ctx, x, times, weight):
        if x.shape[1] % 2:
            return x * times, weight * 2
        return x + 1, weight - 1


class WithNone(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return (x * 2 if x.shape[1] % 2 else x + 1), None


class OddDoubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2 if x.shape[1] % 2 else x + 1


@pytest.mark.parametrize("n", [1, 5, 8])
@pytest.mark.parametrize(
    "function",
    [
        lambda m, x, n: OddDoubled.apply(x),
        lambda m, x, n: OddDoubled.apply(x).cumsum(1),
        lambda m, x, n: OneOfTwo.apply(x, 3, m.a.weight),
        lambda m, x, n: OneOfTwo.apply(x, 3, m.a.weight)[0] - x,
        lambda m, x, n: WithNone.apply(x)[0] - x,
    ],
)
def test_autograd_functions(function, n):
    """They are called by the recording, too, and go whatever way the sizes ask for; the exported model has one of them."""
    model = Model(function)
    result, said = exported(model, torch.randn(2, n, 4), {1: "n"})
    for size in () if said else ONE:
        holds(result, model, torch.randn(2, size, 4))


def test_ways_without_end_are_told():
    def halved(m, x, n):
        while x.shape[1] > 4:
            x = F.avg_pool1d(x.mT, 2, ceil_mode=True).mT
        return x

    _, said = exported(Model(halved), torch.randn(2, 8, 4), {1: "n"})
    assert any(__file__ in text for text in said)


@pytest.mark.parametrize("opset", [7, 9, 10, 11, 13])
@pytest.mark.parametrize("name", ["by_rest", "windows", "padded", "other_weights", "two_results"])
def test_old_opsets(name, opset):
    """Whatever the sizes of what the branches give, which older opsets want to be the same, results are right or it is told."""
    model = Model(PROGRAMS[name])
    result, said = exported(model, torch.randn(2, 8, 4), {1: "n"}, opset=opset)
    assert not said or opset < 11
    for size in () if said else ONE:
        holds(result, model, torch.randn(2, size, 4))


def _tables():
    """Programs of other tests that are told if they are recorded once, the shape of an example, and further sizes."""
    for name, (function, n) in test_turns.TURNS.items():
        yield f"turns-{name}", test_turns.Model(function), (6, 8), {0: "n"}, [(n,), (n + 1,), (7,)]
    for name, function in {**test_asked_behind.WRONG, **test_asked_behind.RIGHT}.items():
        model = lambda x, f=function: f(x, *x.shape)  # noqa: E731
        sizes = [(5, 4), (9, 9), (10, 3), (19, 3), (12, 12), (510, 2), (512, 4), (224, 224), (64, 5), (640, 3)]
        yield f"behind-{name}", model, (5, 4), {0: "n", 1: "m"}, sizes
    for name, function in {**test_other_ways.WRONG, **test_other_ways.RIGHT}.items():
        sizes = [(2, 6), (1, 1), (3, 8), (8, 8), (5, 12), (2, 7), (7, 3), (2, 13), (4, 10), (2, 40)]
        yield f"ways-{name}", test_other_ways.Model(function), (2, 6, 8), {0: "b", 1: "s"}, sizes
    for function in (test_far_sizes.compared, test_far_sizes.of_arithmetic, test_far_sizes.second_of_two,
                     test_far_sizes.caught, test_far_sizes.suppressed, test_far_sizes.caught_elsewhere):  # fmt: skip
        sizes = [(n,) for n in (1, 6, 64, 65, 199, 200, 201, 1024, 1025, 1500, 1501, 2000)]
        yield f"far-{function.__name__}", function, (6, 4), {0: "n"}, sizes


@pytest.mark.parametrize("model, shape, axes, sizes", [pytest.param(*rest, id=name) for name, *rest in _tables()])
def test_right_or_told(model, shape, axes, sizes):
    result, said = exported(model, torch.randn(shape), axes)
    for at in () if said else sizes:
        x = torch.randn([at[list(axes).index(axis)] if axis in axes else n for axis, n in enumerate(shape)])
        holds(result, model, x)


class Blocks(nn.Module):
    """Has a table for one size of images, and makes one for others; images are cut into whole blocks of eight."""

    size = (48, 48)

    def __init__(self):
        super().__init__()
        self.table = self.made(self.size)

    def made(self, size):
        table = torch.zeros(*size)
        table[-4:] = 1
        table[:, -4:] += 2
        return table

    def forward(self, x):
        b, c, h, w = x.shape
        x = x.view(b, c, h // 8, 8, w // 8, 8).softmax(3).reshape(b, c, h, w)
        return x + (self.table if self.size == (h, w) else self.made((h, w)))


class MaskedBlocks(nn.Module):
    """Has masks for the blocks of one size of images, that change nothing: where there are twice as many blocks, it makes no
    difference that they are those of that size."""

    def __init__(self):
        super().__init__()
        self.masks = torch.zeros(36, 8, 8)

    def forward(self, x):
        b, c, h, w = x.shape
        blocks = x.view(b, c, h // 8, 8, w // 8, 8).transpose(3, 4).reshape(-1, 8, 8)
        masks = self.masks if (h, w) == (48, 48) else x.new_zeros(h // 8 * (w // 8), 8, 8)
        blocks = (blocks.view(-1, masks.shape[0], 8, 8) + masks).softmax(2)
        return blocks.view(b, c, h // 8, w // 8, 8, 8).transpose(3, 4).reshape(b, c, h, w)


@pytest.mark.parametrize("kind", [Blocks, MaskedBlocks])
def test_ways_on_which_only_whole_blocks_run(kind):
    model = kind()
    result, said = exported(model, torch.randn(2, 3, 48, 48), {0: "b", 2: "h", 3: "w"})
    assert not said
    for h, w in ((48, 48), (48, 56), (56, 48), (48, 8), (8, 48), (96, 16), (16, 16)):
        holds(result, model, torch.randn(1, 3, h, w))
