"""Results that share memory with an argument, or don't, where the schema alone doesn't say so."""

import pytest
import torch
from tests.harness import LATEST, case, cases, check, f32

import onnxport
from onnxport.errors import LoweringError


def at_least(a):
    b = a * 1
    torch.atleast_3d(b).mul_(2)
    torch.atleast_2d(b[0]).add_(1)
    torch.atleast_1d(b[1, 1]).sub_(3)
    return b


def pieces(a):
    b = a * 1
    torch.unsafe_chunk(b, 2, 1)[1].mul_(2)
    b.unsafe_split(2)[0].add_(1)
    torch.unsafe_split(input=b, split_size=2)[1].add_(2)
    torch.unsafe_split_with_sizes(b, [1, 2])[1].sub_(3)
    return b


def sums(a):
    b = a * 1
    torch.einsum("ij->i", b).mul_(2)
    return b, torch.einsum("ij->", [b])


def raveled(a):
    b = a * 1
    b.t().ravel().add_(1)
    b.ravel().mul_(2)
    c = torch.complex(b, b)
    torch.real(c).ravel().add_(1)
    return b, c


def strided(a):
    b = a * 1
    c = b.as_strided((2, 2), (1, 2))
    c.mul_(2)
    b.as_strided((2, 2), (4, 1), 1).add_(1)
    b[0] += 1
    return b, c


def conjugated(a):
    b = torch.complex(a, a)
    b.cfloat().add_(1)
    b.conj().resolve_conj().mul_(2)
    a.conj_physical().sin()
    return b.to(torch.complex64, copy=True).mul_(3)


SHARED = [case(f.__name__, f, f32(3, 4)) for f in (at_least, sums, raveled, strided, conjugated)]


@cases(SHARED, opsets=(9, LATEST))
def test_shared_memory(case, frontend, opset):
    check(case, frontend, opset)


def test_unsafe_pieces():
    check(case("pieces", pieces, f32(3, 4)))


@pytest.mark.parametrize("equation", ["ij->ji", "ji", "...j->j...", "ij->ij", "..."])
def test_orders_of_axes(equation):
    def program(a):
        b = a * 1
        torch.einsum(equation, b).mul_(2)
        return b, torch.einsum(equation, [b])

    check(case("order", program, f32(3, 4), dynamic={0: "n", 1: "m"}))


def test_diagonals():
    def program(a):
        b = a * 1
        torch.einsum("iji->ji", b).mul_(2)
        torch.cartesian_prod(b[0, 0]).add_(1)
        return b

    check(case("diagonals", program, f32(3, 4, 3)))


def test_layouts():
    def program(x):
        y = x * 1
        y.contiguous(memory_format=torch.channels_last).add_(1)
        y.float(memory_format=torch.channels_last).add_(1)
        y.float().add_(1)
        y.contiguous().mul_(2)
        z = y.mT
        z.float(memory_format=torch.contiguous_format).mul_(2)
        return y

    check(case("layouts", program, f32(2, 3, 4, 5)))


@pytest.mark.parametrize(
    "write",
    [
        lambda b: b.unfold(1, 2, 1).mul_(2),
        lambda b: b.as_strided((2, 2), (1, 1)).mul_(2),
    ],
)
def test_windows_that_overlap_are_not_written(write):
    def program(a):
        b = a * 1
        write(b)
        return b

    with pytest.raises(LoweringError, match="share places"):
        onnxport.export(program, (torch.randn(3, 4),), None)


def test_windows_side_by_side_are_written():
    def program(a):
        b = a * 1
        b.unfold(1, 2, 2).mul_(2)[:, 0].add_(1)
        return b

    check(case("windows", program, f32(3, 4)))


def test_pieces_of_unknown_number():
    def program(a, n):
        b = a * 1
        torch.tensor_split(b, n)[0].mul_(2)
        return b

    with pytest.raises(LoweringError, match="shares its memory"):
        onnxport.export(program, (torch.randn(4, 4), torch.tensor(2)), None)


def test_all_axes_reversed():
    def program(a):
        b = a * 1
        b.T[0] = 5
        b.T.mul_(torch.arange(3.0))
        return b, b[:, None].T

    with pytest.warns(UserWarning, match="T"):  # of PyTorch, on more than two axes
        check(case("reversed", program, f32(3, 3, 3)))


def test_nothing_is_written_to_no_elements():
    def program(a):
        b = a * 1
        c = b.narrow(1, 0, 0)
        c.add_(1).mul_(2)
        b.narrow(1, -2, 2).add_(1)
        return b, c

    check(case("none", program, f32(3, 3)))
