"""An `if` that goes one way in the example and another at some other sizes, wherever these are."""

import io
import operator
import warnings

import onnxruntime as ort
import pytest
import torch
import torch.nn.functional as F

import onnxport
from onnxport.errors import OnnxExporterWarning


class Model(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function
        self.table = torch.nn.Parameter(torch.randn(10, 8))
        self.scales, self.shapes, self.odd = {3: 2.0, 30: 4.0}, {(2, 9): 2.0}, {7}

    def forward(self, x):
        return self.function(self, x, x.shape[1])


def regrown(m, x, n):
    table = m.table if n <= m.table.shape[0] else F.interpolate(m.table.T[None], size=n)[0].T
    return x + table[:n]


def checked(n):
    assert n < 100
    return n


WRONG = {
    "padded_to_multiples": lambda m, x, n: (
        (F.pad(x, (0, 0, 0, 4 - n % 4)) if n % 4 else x).unflatten(1, (-1, 4)).mean(2)
    ),
    "one_size": lambda m, x, n: x * 2 if n == 7 else x,
    "larger_of_two": lambda m, x, n: x * 2 if x.shape[0] > n else x,
    "as_square": lambda m, x, n: x * 2 if x.shape == x.mT.shape else x,
    "least": lambda m, x, n: x * sorted(x.shape)[0],
    "place_in_shape": lambda m, x, n: x * list(x.shape).index(8),
    "table_too_short": regrown,
    "bucket": lambda m, x, n: x * (1.0 if n < 13 else 2.0),
    "sizes_in_a_set": lambda m, x, n: x * len(set(x.shape)),
    "pieces_by_a_size": lambda m, x, n: torch.cat([part[:, :2].cumsum(1) for part in x.chunk(n // 2, 1)], 1),
    "least_of_an_index": lambda m, x, n: x * min(operator.index(n), 5),
    "largest_of_pairs": lambda m, x, n: x * max((x.shape[0], 1.0), (n, 2.0))[1],
    "a_table": lambda m, x, n: x * m.scales.get(n, 1.0),
    "a_table_by_shape": lambda m, x, n: x * m.shapes.get((x.shape[0], n), 1.0),
    "a_set_of_the_model": lambda m, x, n: x * 2 if n in m.odd else x,
    "third": lambda m, x, n: x * (2.0 if n % 3 == 1 else 1.0),
}
RIGHT = {
    "padded_by_nothing": lambda m, x, n: F.pad(x, (0, 0, 0, -n % 4)).unflatten(1, (-1, 4)).mean(2),
    "checked": lambda m, x, n: x + torch.arange(checked(n))[:, None],
    "same_either_way": lambda m, x, n: x[:, :5] if n > 5 else x[:, :5].clone(),
    "only_width": lambda m, x, n: x * 2 if x.shape[2] % 4 == 0 else x,
    "least": lambda m, x, n: x * min(size for size in x.shape),
    "least_of_an_int": lambda m, x, n: x * min(int(n), 5),
    "cut_by_an_index": lambda m, x, n: x[:, : min(operator.index(n), 5)],
    "cut_by_an_int": lambda m, x, n: x[:, : min(int(n), 5)],
    "ifs_beside_an_int": lambda m, x, n: (x * int(x.shape[2]) if n > 1 else 8 * x) + x.sum(),
    "saves_time": lambda m, x, n: x.sum(1) if n % 2 else x.flip(1).sum(1),
}


def warnings_of(function):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        target = io.BytesIO()
        model, x = Model(function), torch.randn(2, 6, 8)
        onnxport.export(model, (x,), target, input_names=["x"], dynamic_axes={"x": {0: "b", 1: "s"}}, opset_version=17)
    return model, target.getvalue(), [str(w.message) for w in caught if issubclass(w.category, OnnxExporterWarning)]


@pytest.mark.usefixtures("one_recording")
@pytest.mark.parametrize("name", WRONG)
def test_wrong_somewhere(name):
    _, _, messages = warnings_of(WRONG[name])
    assert len(messages) == 1
    assert "may be" in messages[0] and __file__ in messages[0]


@pytest.mark.parametrize("name", RIGHT)
def test_right_everywhere(name):
    model, file, messages = warnings_of(RIGHT[name])
    assert not messages
    session = ort.InferenceSession(file, providers=["CPUExecutionProvider"])
    for sizes in ((2, 6), (1, 1), (3, 8), (8, 8), (5, 12), (2, 7)):
        x = torch.randn(*sizes, 8)
        (found,) = session.run(None, {"x": x.numpy()})
        torch.testing.assert_close(torch.from_numpy(found), model(x).detach(), rtol=1e-4, atol=1e-5)


UNUSED = {
    "constant": lambda m, x, n: (x + n**0.5 * int(n), x * 2)[1],
    "numbers": lambda m, x, n: (x + torch.tensor([float(i) for i in range(n)])[:, None], x * 2)[1],
    "loop": lambda m, x, n: (sum(x[:, i] for i in range(n)), x * 2)[1],
    "branch": lambda m, x, n: (x * 2 if n % 2 else x + 1, x * 2)[1],
}


@pytest.mark.parametrize("name", UNUSED)
def test_what_nobody_uses(name):
    """What differs at other sizes, but isn't returned, is no reason to warn."""
    assert not warnings_of(UNUSED[name])[2]


@pytest.mark.parametrize("example", [4, 8, 20])
def test_what_differs_neither_where_a_way_begins_nor_where_it_ends(example):
    """All but the last three rows, where there are more: `x[-1:]` are not all of two rows, as `x[0:]` are of three, and `x[-2:]`
    of one."""

    def last(x):
        n = x.shape[0]
        return x[n - 3 if n > 3 else 0 :]

    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        result = onnxport.export(last, (torch.randn(example),), input_names=["x"], dynamic_axes={"x": {0: "n"}})
    for n in range(1, 30):
        x = torch.randn(n)
        torch.testing.assert_close(result(x), last(x))


@pytest.mark.parametrize("take", [lambda p: p[-1], lambda p: p[0] * len(p), lambda p: torch.cat([-t for t in p])])
def test_fewer_pieces_of_small_sizes(take):
    """Four rows are two pieces of two rows each."""
    with pytest.warns(OnnxExporterWarning, match="n=4"):
        onnxport.export(lambda x: take(x.chunk(3)), (torch.randn(8),), input_names=["x"], dynamic_axes={"x": {0: "n"}})


def test_pieces_that_have_names_are_as_many_everywhere():
    def thirds(x):
        a, b, c = x.chunk(3, 1)
        return a + b[:, : c.shape[1]].sum(1, keepdim=True) * c.sum(1, keepdim=True)

    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        onnxport.export(thirds, (torch.randn(2, 8),), input_names=["x"], dynamic_axes={"x": {0: "m", 1: "n"}})
