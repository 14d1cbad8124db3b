"""Arithmetic of sizes in Python, tensors made of sizes, and sizes that depend on data."""

import math

import torch
import torch.nn.functional as F

from tests.dynamic.harness import at, check, f, i, lengths, mask, program, programs


@torch.jit.script
def summed_by_loop(x):
    total = torch.zeros_like(x[0])
    for k in range(x.shape[0]):
        total = total + x[k] * k
    return total


@torch.jit.script
def short_or_long(x):
    if x.shape[0] > 3:
        return x[:3] * 2
    return x + 1


@torch.jit.script
def rows_in_reverse(x):
    rows = []
    for row in x.unbind(0):
        rows.insert(0, row)
    return torch.stack(rows)


class Mixed(torch.nn.Module):
    """A traced module with a scripted function in its middle."""

    def forward(self, x):
        y = summed_by_loop(x * 2)
        return y + x.shape[0]


def integer_half(x):
    return x[: int(x.shape[0] / 2)]


def by_len(x):
    return x * len(x) + x.new_full((len(x), 1), 0.5)


def position_of_middle(x):
    n = x.shape[1]
    middle = n // 2
    return x[:, middle : middle + 1] + torch.tensor([1.0])


def repeated_by_list(x):
    n = x.shape[0]
    rows = torch.cat([x.sum(0, keepdim=True)] * n)
    return rows * x, torch.stack([x[0] + 1] * (2 * n + 1), 1), torch.cat(x.shape[1] * [x[0]])


def in_place_size(x):
    n = x.shape[0]
    m = n
    n += 2
    return torch.zeros(n + m)


def checked(x):
    assert x.shape[0] > 0, f"an empty batch: {x.shape}"
    if x.dim() != 2:
        raise ValueError(x.shape)
    return x * 2


def loop_over_fixed(x):
    total = x[:, 0]
    for n in range(1, x.shape[1]):
        total = total + x[:, n]
    return total


def list_of_shape(x):
    shape = list(x.shape)
    shape[-1] = shape[-1] // 2
    shape.insert(1, 2)
    return x.view(shape[0], *shape[1:])


ARITHMETIC = [
    program("half", lambda x: x[: x.shape[0] // 2], f("n"), n=5, out="n//2"),
    program("half_rounded_up", lambda x: x[: (x.shape[0] + 1) // 2], f("n"), n=5, out="(n + 1)//2"),
    program("int_of_half", integer_half, f("n"), n=5, out="n//2"),
    program("ceil_of_half", lambda x: x[: math.ceil(x.shape[0] / 2)], f("n"), n=5),
    program("floor_of_third", lambda x: torch.zeros(math.floor(x.shape[0] / 3)), f("n"), n=7),
    program("round_of_half", lambda x: torch.zeros(round(x.shape[0] / 2)), f("n"), n=4),
    program("divmod", lambda x: torch.zeros(divmod(x.shape[0], 3)), f("n"), n=7, out="n//3, n%3"),
    program("times_and_plus", lambda x: torch.ones(2 * x.shape[0] + 1, x.shape[1] - 1), f("n", "m"), n=3, m=2, out="2*n + 1, m - 1"),
    program("max_of_sizes", lambda x, y: torch.zeros(max(x.shape[0], y.shape[0])), f("n"), f("m"), n=3, m=2, others=[at(n=1, m=4), at(n=6, m=1), at(n=2, m=2)]),
    program("min_of_sizes", lambda x, y: x[: min(x.shape[0], y.shape[0])] + y[: min(x.shape[0], y.shape[0])], f("n"), f("m"), n=3, m=2, others=[at(n=1, m=4), at(n=6, m=1), at(n=2, m=2)]),
    program("at_least_four", lambda x: F.pad(x, (0, max(4 - x.shape[1], 0))), f("b", "s"), b=1, s=6, out="b, max(0, 4 - s) + s", others=[at(b=1, s=2), at(b=3, s=4), at(b=2, s=9)]),
    program("at_most_four", lambda x: x[:, : min(x.shape[1], 4)], f("b", "s"), b=1, s=6, out="b, min(4, s)", others=[at(b=1, s=2), at(b=3, s=4), at(b=2, s=9)]),
    program("max_of_many", lambda x: torch.zeros(max([x.shape[0], x.shape[1], 3])), f("n", "m"), n=5, m=2, others=[at(n=1, m=4), at(n=2, m=1), at(n=2, m=2)]),
    program("by_len", by_len, f("n", 3), n=4, out="n, 3"),
    program("numel", lambda x: x / x.numel(), f("n", "m"), n=2, m=3, out="n, m"),
    program("shape_numel", lambda x: x + x[0].shape.numel(), f("n", "m"), n=2, m=3, out="n, m"),
    program("product_of_shape", lambda x: x.reshape(math.prod(x.shape[:2]), -1), f("n", "m", 4), n=2, m=3, out="m*n, 4"),
    program("sum_of_shape", lambda x: torch.zeros(sum(x.shape)), f("n", "m"), n=2, m=3, out="m + n"),
    program("repeated_by_list", repeated_by_list, f("n", "m"), n=3, m=2, out="n, m; m, 2*n + 1; m*m"),
    program("in_place", in_place_size, f("n"), n=3, out="2*n + 2"),
    program("negative", lambda x: x[-(x.shape[0] // 2) :], f("n"), n=6, low=2),
    program("list_of_shape", list_of_shape, f("n", "m"), n=3, m=4, low={"m": 2}, multiple=2, others=[at(n=1, m=2), at(n=2, m=8), at(n=5, m=6)], out="n, 2, m//2"),
    program("scaled_by_root", lambda x: x / x.shape[-1] ** 0.5, f("n", "m"), n=2, m=3, out="n, m"),
    program("divided_by_size", lambda x: x.sum(1) / x.shape[1], f("n", "m"), n=2, m=3, out="n"),
    program("reciprocal_of_size", lambda x: x * (1.0 / x.shape[1]), f("n", "m"), n=2, m=3, out="n, m"),
    program("size_minus_values", lambda x: x.shape[1] - 1 - x, i("n", "m"), n=2, m=3, out="n, m"),
    program("modulo", lambda x: F.pad(x, (0, -x.shape[1] % 4)), f("b", "s"), b=1, s=6, others=[at(b=1, s=1), at(b=2, s=4), at(b=2, s=9)]),
    program("checked", checked, f("n", "m"), n=2, m=3, out="n, m"),
    program("loop_over_fixed", loop_over_fixed, f("n", 3), n=2, out="n"),
    program("roll_by_half", lambda x: x.roll(x.shape[0] // 2, 0), f("n", 2), n=5, out="n, 2"),
    program("roll_by_halves", lambda x: torch.roll(x, (x.shape[0] // 2, x.shape[1] // 2), (0, 1)), f("n", "m"), n=5, m=4, out="n, m"),
    program("fftshift", lambda x: torch.roll(x, shifts=x.shape[-1] // 2, dims=-1), f("n", "m"), n=5, m=4, out="n, m"),
    program("flip_if_sized", lambda x: x.flip(-1)[..., : x.shape[0]], f("n", "m"), n=2, m=4, out="n, min(m, n)"),
    program("pooled_over_time", lambda x: F.max_pool1d(x, x.shape[2]).squeeze(2), f("b", 3, "s"), b=1, s=4, out="b, 3"),
    program("averaged_over_time", lambda x: F.avg_pool1d(x, kernel_size=x.shape[2]).squeeze(2), f("b", 3, "s"), b=1, s=4, out="b, 3"),
    program("adaptive_to_size", lambda x, y: F.adaptive_avg_pool1d(x, y.shape[0]), f(1, 2, 12), f("n"), n=3, others=[at(n=1), at(n=4), at(n=6)]),
    program("kept_if_and_else", lambda x: short_or_long(x) * 2, f("n", 2), n=5, others=[at(n=1), at(n=3), at(n=8)]),
    program("scripted_loop", Mixed(), f("n", 2), n=3, out="2"),
    program("scripted_unbind", lambda x: rows_in_reverse(x) + 1, f("n", 2), n=3),
]  # fmt: skip

MADE_OF_SIZES = [
    program("arange", lambda x: torch.arange(x.shape[0]), f("n"), n=3, out="n"),
    program("arange_steps", lambda x: torch.arange(0, x.shape[0], 2), f("n"), n=5, out="(n + 1)//2"),
    program("arange_floats", lambda x: torch.arange(x.shape[0], dtype=torch.float32) / x.shape[0], f("n"), n=5, out="n"),
    program("arange_down", lambda x: torch.arange(x.shape[0] - 1, -1, -1), f("n"), n=5, out="n"),
    program("arange_between", lambda x, y: torch.arange(x.shape[0], x.shape[0] + y.shape[0]), f("n"), f("m"), n=5, m=2, out="m"),
    program("linspace", lambda x: torch.linspace(0, 1, x.shape[0]), f("n"), n=5, out="n"),
    program("linspace_to_size", lambda x: torch.linspace(0, x.shape[0] - 1, 5), f("n"), n=5, out="5"),
    program("zeros", lambda x: torch.zeros(x.shape), f("n", "m"), n=2, m=3, out="n, m"),
    program("ones_like", lambda x: torch.ones_like(x), f("n", "m"), n=2, m=3, out="n, m"),
    program("full_of_size", lambda x: torch.full((x.shape[0],), x.shape[1]), f("n", "m"), n=2, m=3, out="n"),
    program("new_zeros", lambda x: torch.cat([x, x.new_zeros(x.shape[0], 2)], 1), f("n", "m"), n=2, m=3, out="n, m + 2"),
    program("eye", lambda x: x + torch.eye(x.shape[0]), f("n", "n"), n=3, out="n, n"),
    program("identity_minus_ones", lambda x: torch.eye(x.shape[0]) - torch.ones(x.shape[0], x.shape[0]) / x.shape[0], f("n"), n=3, out="n, n"),
    program("tril_of_ones", lambda x: torch.ones(x.shape[0], x.shape[0]).tril(), f("n"), n=3, out="n, n"),
    program("triu_of_full", lambda x: torch.full((x.shape[0], x.shape[1]), -1e9).triu(1), f("n", "m"), n=3, m=4, out="n, m"),
    program("tril_by_size", lambda x, y: torch.ones(x.shape[0], y.shape[0]).tril(y.shape[0] - x.shape[0]), f("n"), f("m"), n=2, m=4, out="n, m"),
    program("meshgrid", lambda x: torch.meshgrid(torch.arange(x.shape[0]), torch.arange(x.shape[1]), indexing="ij"), f("n", "m"), n=2, m=3, out="n, m; n, m"),
    program("one_hot", lambda x: F.one_hot(torch.arange(x.shape[0]), x.shape[0]), f("n"), n=3, out="n, n"),
    program("size_as_tensor", lambda x: x * torch.tensor(x.shape[0]), f("n"), n=3, out="n"),
    program("new_tensor_of_size", lambda x: x * x.new_tensor(x.shape[0]), f("n"), n=3, out="n"),
    program("scalar_tensor", lambda x: x * torch.scalar_tensor(x.shape[0]), f("n"), n=3, out="n"),
    program("returned_size", lambda x: (x, x.shape[0]), f("n"), n=3, out="n; "),
    program("stacked_sizes", lambda x: torch.stack([torch.as_tensor(s) for s in x.shape]), f("n", "m"), n=3, m=2, out="2"),
    program("index_of_sizes", lambda x: x[torch.arange(x.shape[0]) % 2 == 0], f("n", 2), n=5, out="?, 2"),
    program("window_index", lambda x: x[(torch.arange(x.shape[0] - 2)[:, None] + torch.arange(3))], f("n"), n=5, low=3),
    program("distances", lambda x: (torch.arange(x.shape[0])[:, None] - torch.arange(x.shape[1])).abs(), f("n", "m"), n=2, m=3, out="n, m"),
    program("tril_indices", lambda x: x.masked_select(torch.ones_like(x).tril().bool()), f("n", "n"), n=3, out="?"),
    program("combined_batch", lambda x: x.flatten(0, 1).view(x.shape[0], x.shape[1], 2, -1).mean(2), f("b", "s", 4), b=1, s=3, out="b, s, 2"),
]  # fmt: skip


def nms_like(boxes, scores):
    kept = scores > scores.mean()
    boxes = boxes[kept]
    return boxes[boxes[:, 0].argsort()]


DATA_DEPENDENT = [
    program("nonzero", lambda x: x.nonzero(), mask("n", "m"), n=2, m=3, out="?, 2"),
    program("where", lambda x: torch.where(x)[1], mask("n", "m"), n=2, m=3, out="?"),
    program("boolean_mask", lambda x: x[x > 0], f("n", "m"), n=3, m=3, out="?"),
    program("rows_by_mask", lambda x, m: x[m] * 2, f("n", 3), mask("n"), n=4, out="?, 3"),
    program("masked_write", lambda x: x.clone().masked_fill_(x > 0, 1.0), f("n", 3), n=4, out="n, 3"),
    program("assign_by_mask", lambda x, m: torch.where(m[:, None], x, -x), f("n", 3), mask("n"), n=4, out="n, 3"),
    program("masked_select", lambda x, m: x.masked_select(m).sum(), f("n", 3), mask("n", 3), n=4, out=""),
    program("unique", lambda x: x.unique(), i("n", "m"), n=3, m=2, out="?"),
    program("unique_counts", lambda x: x.unique(return_inverse=True, return_counts=True), i("n"), n=6, out="?; n; ?"),
    program("repeat_interleave", lambda x, n: x.repeat_interleave(n, 0), f("n", 2), i("n"), n=4, out="?, 2"),
    program("length_regulator", lambda x, n: torch.repeat_interleave(x, n + 1, dim=0), f("s", 2), i("s"), s=4, out="?, 2"),
    program("bincount", lambda x: torch.bincount(x, minlength=5), i("n"), n=6),
    program("kept_and_sorted", nms_like, f("n", 4), f("n"), n=5, low=2, out="?, 4"),
    program("pad_to_longest", lambda x, n: x[:, : int(x.shape[1])] * (torch.arange(x.shape[1]) < n[:, None]), f("b", "s"), lengths("b", "s"), b=2, s=4, out="b, s"),
    program("top_half", lambda x: x.topk((x.shape[1] + 1) // 2, 1).indices, f("b", "s"), b=2, s=4, out="b, (s + 1)//2"),
    program("sorted_rows", lambda x: x[x[:, 0].argsort()], f("n", 3), n=4, out="n, 3"),
    program("nonzero_of_cumsum", lambda x: (x.cumsum(0) > 0).nonzero().squeeze(1), f("n"), n=4, out="?"),
    program("gather_kept", lambda x, m: x[m.nonzero().squeeze(-1)].sum(0), f("n", 3), mask("n"), n=4, out="3"),
]  # fmt: skip


@programs(ARITHMETIC)
def test_arithmetic(p, opset):
    check(p, opset)


@programs(MADE_OF_SIZES)
def test_made_of_sizes(p, opset):
    check(p, opset)


@programs(DATA_DEPENDENT)
def test_data_dependent(p, opset):
    check(p, opset)
