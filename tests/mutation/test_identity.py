"""Which tensor is which: `is`, and views that show the whole of what they view."""

import pytest
import torch
from tests.script.harness import check_script
from torch import Tensor, nn

from onnxport.errors import LoweringError


def views_of_all(x: Tensor):
    found = 0
    if x.view(3, 4) is x:
        found += 1
    if x[:] is x:
        found += 10
    if x.expand(3, 4) is x:
        found += 100
    if x.detach() is x:
        found += 1000
    if x.reshape(3, 4) is x:
        found += 10000
    return x * found


def itself(x: Tensor):
    found = 0
    if x.contiguous() is x:
        found += 1
    if x.flatten(1) is x:
        found += 10
    if x.float() is x:
        found += 100
    if torch.dropout(x, 0.5, False) is x:
        found += 1000
    if torch.conj(x) is x:
        found += 10000
    return x * found


def equal_views(x: Tensor):
    a, b = x.unsqueeze(0), x.unsqueeze(0)
    if a is b:
        return x + 1
    if a is not b:
        return x + 2
    return x


def through_a_list(x: Tensor):
    xs = [x]
    xs.append(x[:])
    return x + int(xs[0] is x) + int(xs[1] is x) * 2


def after_a_write(x: Tensor):
    y = x + 1
    z = y.add_(1)
    return z + int(z is y) + int(y[:] is y) * 2


def one_of_two(x: Tensor):
    y = x + 1
    z = x + 2
    if bool(x.sum() > 0):
        z = y
    if z is y:
        return x + 1
    return x * 3


def one_of_an_older_choice(x: Tensor):
    y = x + 1
    z = x + 2
    a = y
    if bool(x.sum() > 0):
        a = z
    b = x
    if bool(x.min() > -5):
        b = a
    return x + int(b is y) + int(b is z) * 2 + int(b is x) * 4 + int(a is b) * 8


def element_by_index(x: Tensor, i: int):
    xs = [x + 1, x + 2]
    return xs[i] + int(xs[i] is xs[1]) * 10


def renamed_view_of_all(x: Tensor):
    y = x + 1
    a, b, c = y[:], y.expand(3, 4), y.flatten(1)
    a.unsqueeze_(0)
    b.t_()
    return y, a, b, c


def renamed_itself(x: Tensor):
    y = x + 1
    c = y.flatten(1)
    c.unsqueeze_(0)
    return y, c


def written_view_of_all(x: Tensor):
    y = x + 1
    a = y[:].view(3, 4)
    a[0] = 5.0
    y[1] = 6.0
    return y, a


UP, DOWN = torch.arange(12.0).reshape(3, 4), -torch.arange(12.0).reshape(3, 4)
ONE = [
    views_of_all, itself, equal_views, through_a_list, after_a_write, one_of_two, one_of_an_older_choice,
    renamed_view_of_all, renamed_itself, written_view_of_all,
]  # fmt: skip


@pytest.mark.parametrize("function", ONE)
def test_scripted(function):
    check_script(function, (UP,), (DOWN,))


def test_element_by_index():
    check_script(element_by_index, (UP, 0), (UP, 1))


@pytest.mark.parametrize("batch_first", [True, False])
def test_attention_without_a_batch(batch_first):
    """Its self-attention asks if query, key and value are one; each has been given a batch of its own."""
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=batch_first).eval()
    check_script(torch.jit.script(layer), (torch.randn(5, 4),), (torch.randn(3, 4),), dynamic={0: {0: "n"}})


def test_lists_are_refused():
    def lists(x: Tensor):
        a, b = [x], [x]
        if a is b:
            return x
        return x + 1

    with pytest.raises(LoweringError, match="between tensors"):
        check_script(lists, (UP,))
