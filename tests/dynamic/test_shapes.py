"""Reshaping, joining, cutting, broadcasting, sorting and scattering along axes of any size."""

import torch
import torch.nn.functional as F

from tests.dynamic.harness import at, check, f, i, mask, program, programs


def halves_of(first, second):
    return torch.cat([second, first], 0)


def halves(x):
    n = x.shape[1] // 2
    return x[:, :n] * x[:, n : 2 * n]


def channel_shuffle(x, groups=2):
    b, c, h, w = x.shape
    return x.view(b, groups, c // groups, h, w).transpose(1, 2).contiguous().view(b, -1, h, w)


def flat_attention_mask(x):
    b, s = x.shape
    return x.view(1, b, 1, s).expand(3, -1, 2, -1).reshape(3 * b * 2, s)


def blocks(x, size=2):
    b, s, c = x.shape
    return x.view(b, -1, size, c).transpose(1, 2).flatten(0, 1)


def outer_by_expand(x, y):
    n, m = x.shape[0], y.shape[0]
    return torch.cat([x.unsqueeze(1).expand(n, m, 4), y.expand(n, m, 4)], -1)


def every_nth_written(x, y):
    """Steps of a slice that are sizes."""
    n, x = y.shape[0], x.clone()
    x[n - 1 : x.shape[0] : n].masked_fill_(torch.tensor([True, False, True, False]), -1.0)
    x[::n] += 1
    return x


RESHAPES = [
    program("flatten", lambda x: x.flatten(1), f("b", "s", 4), b=2, s=3, out="b, 4*s"),
    program("flatten_all", lambda x: x.flatten(), f("b", "s", 4), b=1, s=1, out="4*b*s"),
    program("view_minus_one", lambda x: x.view(-1, 4), f("b", "s", 4), b=2, s=3, out="b*s, 4"),
    program("view_sizes", lambda x: x.view(x.size(0) * x.size(1), -1), f("b", "s", 4), b=2, s=3, out="b*s, 4"),
    program("view_back", lambda x: x.view(-1, 4).relu().view(x.shape), f("b", "s", 4), b=1, s=3, out="b, s, 4"),
    program("view_head", lambda x: x.view(*x.shape[:-1], 2, 2), f("b", "s", 4), b=2, s=3, out="b, s, 2, 2"),
    program("reshape_to_other", lambda x, y: x.reshape(y.shape[0], -1), f("b", "s", 4), f("b", 3), b=2, s=3, out="b, 4*s"),
    program("unflatten", lambda x: x.unflatten(1, (-1, 2)), f("b", "s"), b=2, s=4, multiple=2, low=2, out="b, s//2, 2",
            others=[at(b=1, s=2), at(b=3, s=10), at(b=2, s=6)]),
    program("channel_shuffle", channel_shuffle, f("b", 4, "h", "w"), b=1, h=2, w=3, out="b, 4, h, w"),
    program("flat_mask", flat_attention_mask, f("b", "s"), b=1, s=3, out="6*b, s"),
    program("blocks", blocks, f("b", "s", 3), b=2, s=4, others=[at(b=1, s=2), at(b=3, s=10), at(b=2, s=6)]),
    program("permute", lambda x: x.permute(2, 0, 1).contiguous().view(3, -1), f("b", "s", 3), b=2, s=4, out="3, b*s"),
    program("transpose_flatten", lambda x: x.transpose(1, 2).flatten(1), f("b", "s", 3), b=2, s=1, out="b, 3*s"),
    program("unsqueeze_squeeze", lambda x: x.unsqueeze(0).unsqueeze(-1).squeeze(0).squeeze(-1), f("b", "s"), b=2, s=4, out="b, s"),
    program("squeeze_fixed", lambda x: x.squeeze(1), f("b", 1, "s"), b=2, s=4, out="b, s"),
    program("movedim", lambda x: x.movedim(0, -1), f("b", "s", 3), b=2, s=4, out="s, 3, b"),
    program("as_vectors", lambda x: x.reshape(-1, x.shape[-1]).norm(dim=-1).reshape(x.shape[:-1]), f("b", "s", "c"), b=2, s=3, c=4, out="b, s"),
    program("numel", lambda x: x.sum() / x.numel(), f("b", "s"), b=2, s=3, out=""),
    program(
        "numel of functions", lambda x: x.reshape(torch.numel(x)) / x.nelement(), f("b", "s"), b=2, s=3, out="b*s"
    ),
    program("empty_batch", lambda x: F.relu(x).flatten(1), f("b", 2, 3), b=0, out="b, 6", others=[at(b=1), at(b=2), at(b=5)]),
]  # fmt: skip

JOINS = [
    program("cat", lambda x, y: torch.cat([x, y], 1), f("b", "s", 4), f("b", "t", 4), b=2, s=3, t=2, out="b, s + t, 4"),
    program("cat_itself", lambda x: torch.cat([x, x, x[:, :1]], 1), f("b", "s"), b=2, s=3, out="b, 2*s + min(1, s)"),
    program("cat_then_cut", lambda x, y: torch.cat([x, y], 1)[:, x.shape[1] :], f("b", "s"), f("b", "t"), b=2, s=3, t=2, out="b, t"),
    program("cat_then_split", lambda x, y: torch.cat([x, y], 0).split([x.shape[0], y.shape[0]]), f("s", 3), f("t", 3), s=3, t=2, out="s, 3; t, 3"),
    program("stack", lambda x, y: torch.stack([x, y], 1), f("b", "s"), f("b", "s"), b=2, s=3, out="b, 2, s"),
    program("split_in_halves", lambda x: x.split(x.shape[1] // 2, 1)[0], f("b", "s"), b=2, s=4, multiple=2, low={"s": 2}, out="b, ?"),
    program("split_by_sizes", lambda x, y: x.split([y.shape[0], x.shape[0] - y.shape[0]]), f("s", 2), f("t", 2), s=5, t=2, out="t, 2; s - t, 2",
            others=[at(s=2, t=1), at(s=9, t=3), at(s=4, t=4)]),
    program("chunk_fixed_axis", lambda x: x.chunk(3, -1), f("b", "s", 6), b=2, s=3, out="b, s, 2; b, s, 2; b, s, 2"),
    program("chunk_dynamic_axis", lambda x: halves_of(*x.chunk(2, 1)), f("b", "s"), b=2, s=4, others=[at(b=1, s=2), at(b=2, s=8), at(b=3, s=6)]),
    program("unbind_fixed", lambda x: x.unbind(1)[1], f("b", 3, "s"), b=2, s=4, out="b, s"),
    program("halves", halves, f("b", "s"), b=2, s=5, out="b, s//2"),
    program("repeat", lambda x: x.repeat(2, 3), f("b", "s"), b=1, s=2, out="2*b, 3*s"),
    program("repeat_by_size", lambda x, y: x.repeat(y.shape[0], 1), f(1, "s"), f("b", 2), b=1, s=2, out="b, s"),
    program("tile", lambda x: x.tile((2,)), f("b", "s"), b=1, s=2, out="b, 2*s"),
    program("repeat_interleave_fixed", lambda x: x.repeat_interleave(3, 1), f("b", "s"), b=1, s=2, out="b, 3*s"),
    program("block_diagonal", lambda x, y: torch.block_diag(x, y), f("s", "s"), f("t", 2), s=3, t=2, out="s + t, s + 2"),
]  # fmt: skip

BROADCASTS = [
    program("against_one", lambda x, y: x + y, f("b", "s"), f(1, "s"), b=1, s=3, out="b, s"),
    program("against_label", lambda x, y: x * y, f("b", "s"), f("b", "t"), b=2, s=1, t=4, others=[at(b=1, s=1, t=1), at(b=2, s=1, t=7), at(b=3, s=5, t=1)]),
    program("against_batch_of_one", lambda x, y: x + y, f("b", 3), f("c", 3), b=1, c=1, others=[at(b=1, c=4), at(b=5, c=1), at(b=3, c=3)]),
    program("outer", lambda x, y: x[:, None] - y[None, :], f("n", 2), f("m", 2), n=3, m=2, out="n, m, 2"),
    program("outer_by_expand", outer_by_expand, f("n", 4), f("m", 4), n=3, m=1, out="n, m, 8"),
    program("expand_to_sizes", lambda x, y: x.expand(y.shape[0], -1, y.shape[1]), f(1, 3, 1), f("b", "s"), b=1, s=3, out="b, 3, s"),
    program("expand_as", lambda x, y: x.expand_as(y) + 1, f("b", 1), f("b", "s"), b=2, s=1, out="b, s"),
    program("expand_dynamic_by_one", lambda x: x.unsqueeze(1).expand(-1, 4, -1), f("b", "s"), b=1, s=1, out="b, 4, s"),
    program("where", lambda m, x, y: torch.where(m, x, y), mask("b", 1), f("b", "s"), f(1, "s"), b=2, s=3, out="b, s"),
    program("masked_fill", lambda x, m: x.masked_fill(m[:, None], -1e9), f("b", "h", "s"), mask("b", "s"), b=1, h=1, s=3, out="b, h, s"),
    program("matmul_broadcast", torch.matmul, f("b", 1, "s", 4), f("h", 4, "t"), b=1, h=2, s=3, t=2, out="b, h, s, t"),
    program("bmm", torch.bmm, f("b", "s", 4), f("b", 4, "t"), b=1, s=3, t=2, out="b, s, t"),
    program("matmul_vector", lambda x, y: x @ y, f("b", "s", "k"), f("k"), b=1, s=3, k=4, out="b, s"),
    program("einsum", lambda x, y: torch.einsum("bqc,bkc->bqk", x, y), f("b", "s", 4), f("b", "t", 4), b=2, s=3, t=2, out="b, s, t"),
    program("einsum_sum", lambda x, y: torch.einsum("bnhd,bmhd->bhnm", x, y).sum(-1), f("b", "n", 2, 3), f("b", "m", 2, 3), b=1, n=2, m=3, out="b, 2, n"),
    program("einsum_outer", lambda x, y: torch.einsum("i,j->ij", x, y), f("n"), f("m"), n=1, m=3, out="n, m"),
    program("einsum_ellipsis", lambda x, y: torch.einsum("...ij,jk->...ik", x, y), f("b", "s", "i", 3), f(3, 5), b=1, s=2, i=2, out="b, s, i, 5"),
    program("cdist", torch.cdist, f("b", "n", 3), f("b", "m", 3), b=1, n=3, m=2, out="b, n, m"),
    program("linear", lambda x, w: F.linear(x, w), f("b", "s", 4), f("o", 4), b=1, s=2, o=3, out="b, s, o"),
    program("cosine", lambda x, y: F.cosine_similarity(x[:, None], y[None], -1), f("n", 4), f("m", 4), n=3, m=2, out="n, m"),
]  # fmt: skip


def scatter_ones(index, x):
    return torch.zeros(index.shape[0], x.shape[1]).scatter_(1, index, 1.0)


def segment_sum(x, at):
    return torch.zeros(4, x.shape[1]).index_add_(0, at, x)


def write_first(x):
    y = torch.zeros_like(x)
    y[:, 0] = x[:, -1]
    y[:, 1:] = x[:, :-1]
    return y


def write_to_front(x, y):
    out = x.new_zeros(x.shape[0] + y.shape[0], 3)
    out[: x.shape[0]] = x
    out[x.shape[0] :] = y
    return out


INDEXING = [
    program("gather", lambda x, at: x.gather(1, at), f("b", 4), i("b", "k"), b=2, k=3, out="b, k"),
    program("gather_rows", lambda x, at: x[torch.arange(x.shape[0])[:, None], at], f("b", 4, 3), i("b", "k"), b=2, k=3, out="b, k, 3"),
    program("index_select", lambda x, at: x.index_select(0, at), f(4, "s"), i("k"), k=3, s=2, out="k, s"),
    program("embedding", lambda at, w: F.embedding(at, w), i("b", "s"), f(4, 3), b=2, s=3, out="b, s, 3"),
    program("take_along", lambda x: torch.take_along_dim(x, x.argsort(1), 1), f("b", "s"), b=2, s=3, out="b, s"),
    program("scatter_ones", scatter_ones, i("b", "k"), f(1, "s"), b=2, k=1, s=6, low={"s": 4}, out="b, s"),
    program("one_hot", lambda at: F.one_hot(at, 4), i("b", "s"), b=2, s=3, out="b, s, 4"),
    program("one_hot_by_size", lambda at, w: F.one_hot(at, w.shape[0]), i("b"), f("n", 2), b=2, n=6, low={"n": 4}, out="b, n"),
    program("segment_sum", segment_sum, f("n", "c"), i("n"), n=5, c=2, out="4, c"),
    program("scatter_reduce", lambda x, at: torch.zeros(x.shape[0], 4).scatter_reduce(1, at, x, "amax", include_self=False), f("b", "n"), i("b", "n"), b=2, n=5, out="b, 4"),
    program("topk_of_dynamic", lambda x: x.topk(2, 1), f("b", "s"), b=2, s=5, low={"s": 2}, out="b, 2; b, 2"),
    program("topk_by_size", lambda x: x.topk(x.shape[1] // 2, 1).values, f("b", "s"), b=2, s=5, low={"s": 2}, out="b, s//2"),
    program("topk_at_most", lambda x: x.topk(min(x.shape[0], 3), 0).values, f("s", 2), s=5, out="min(3, s), 2"),
    program("sort", lambda x: x.sort(1), f("b", "s"), b=1, s=4, out="b, s; b, s"),
    program("argsort_descending", lambda x: x.argsort(0, descending=True), f("n", 2), n=1, out="n, 2"),
    program("argmax", lambda x: x.argmax(1), f("b", "s"), b=1, s=4, out="b"),
    program("max_over_dynamic", lambda x: x.max(1).values, f("b", "s", 3), b=1, s=1, out="b, 3"),
    program("median", lambda x: x.median(1).values, f("b", "s"), b=1, s=4, out="b"),
    program("cumsum", lambda x: x.cumsum(1), f("b", "s"), b=1, s=4, out="b, s"),
    program("cumsum_exclusive", lambda x: x.cumsum(0) - x, f("n", 2), n=3, out="n, 2"),
    program("cumprod", lambda x: x.cumprod(1), f("b", "s"), b=1, s=4, out="b, s"),
    program("softmax", lambda x: x.log_softmax(1), f("b", "s"), b=1, s=4, out="b, s"),
    program("std", lambda x: x.std(1, unbiased=False), f("b", "s"), b=1, s=4, out="b"),
    program("var_unbiased", lambda x: x.var(1), f("b", "s"), b=1, s=4, low={"s": 2}, out="b"),
    program("normalize", lambda x: F.normalize(x, dim=1), f("b", "s"), b=1, s=4, out="b, s"),
    program("flip", lambda x: x.flip(1), f("b", "s"), b=1, s=4, out="b, s"),
    program("roll", lambda x: x.roll(1, 1), f("b", "s"), b=1, s=4, out="b, s"),
    program("write_first", write_first, f("b", "s"), b=2, s=4, out="b, s"),
    program("write_to_front", write_to_front, f("n", 3), f("m", 3), n=2, m=3, out="n + m, 3"),
    program("fill_diagonal", lambda x: x.clone().fill_diagonal_(0), f("n", "n"), n=3, out="n, n"),
    program(
        "diagonal_at_a_size",
        lambda x: (x.diagonal(x.shape[0] - 6), x.diag(3 - x.shape[0]), torch.diag_embed(x, x.shape[0] - 3)),
        f("n", 6),
        n=5,
        others=[at(n=1), at(n=3), at(n=8), at(n=13)],
    ),
    program("diagonal", lambda x: x.diagonal(dim1=1, dim2=2), f("b", "n", "n"), b=1, n=3, out="b, n"),
    program("tril", lambda x: x.tril(-1), f("n", "m"), n=3, m=2, out="n, m"),
    program("pad_constant", lambda x: F.pad(x, (1, 2), value=3.0), f("b", "s"), b=1, s=3, out="b, s + 3"),
    program("pad_reflect", lambda x: F.pad(x, (1, 1), mode="reflect"), f("b", 2, "s"), b=1, s=3, low={"s": 2}, out="b, 2, s + 2"),
    program("pad_replicate", lambda x: F.pad(x, (1, 1), mode="replicate"), f("b", 2, "s"), b=1, s=3, out="b, 2, s + 2"),
    program("pad_circular", lambda x: F.pad(x, (1, 1), mode="circular"), f("b", 2, "s"), b=1, s=3),
]  # fmt: skip

SLICES = [
    program("every_second", lambda x: x[:, ::2], f("b", "s"), b=1, s=5, out="b, (s + 1)//2"),
    program("odd_places", lambda x: x[:, 1::2], f("b", "s"), b=1, s=5),
    program("last_two", lambda x: x[:, -2:], f("b", "s"), b=1, s=5, low={"s": 2}, out="b, min(2, s)"),
    program("all_but_last", lambda x: x[..., :-1], f("b", "s"), b=1, s=5, out="b, max(0, s - 1)"),
    program("from_three", lambda x: x[3:], f("n"), n=5, out="max(0, n - 3)"),
    program("up_to_three", lambda x: x[:3], f("n"), n=5, out="min(3, n)"),
    program("as_long_as", lambda x, y: x[:, : y.shape[1]], f("b", "s"), f("b", "t"), b=1, s=5, t=3, out="b, min(s, t)", others=[at(b=1, s=1, t=4), at(b=2, s=9, t=1), at(b=2, s=3, t=3)]),
    program("last_as_long_as", lambda x, y: x[:, -y.shape[1] :], f("b", "s"), f("b", "t"), b=1, s=5, t=3, others=[at(b=1, s=4, t=4), at(b=2, s=9, t=1), at(b=2, s=3, t=2)]),
    program("middle", lambda x: x[x.shape[0] // 4 : -(x.shape[0] // 4)], f("n", 2), n=8, low=4),
    program("narrow", lambda x: x.narrow(1, 1, x.shape[1] - 1), f("b", "s"), b=1, s=5, out="b, s - 1"),
    program("select_last", lambda x: x.select(1, x.shape[1] - 1), f("b", "s", 2), b=1, s=5, out="b, 2"),
    program("select_middle", lambda x: x[:, x.shape[1] // 2], f("b", "s", 2), b=1, s=5, out="b, 2"),
    program("differences", lambda x: x[1:] - x[:-1], f("n", 2), n=5, out="max(0, n - 1), 2"),
    program("diff", lambda x: torch.diff(x, dim=1), f("b", "s"), b=1, s=5),
    program("of_weight", lambda x: torch.arange(20.0)[: x.shape[0]] * x, f("n"), n=3, out="n"),
    program("rows_by_flipped_range", lambda x: x[torch.arange(x.shape[0] - 1, -1, -1)], f("n", 2), n=3, out="n, 2"),
    program("write_last", lambda x: x.clone().index_fill_(1, torch.tensor([0]), 5.0), f("b", "s"), b=2, s=3, out="b, s"),
    program("every_nth_written", every_nth_written, f("n", 4), f("m", 2), n=6, m=2, out="n, 4", opset=11),
]  # fmt: skip


@programs(RESHAPES)
def test_reshapes(p, opset):
    check(p, opset)


@programs(JOINS)
def test_joins(p, opset):
    check(p, opset)


@programs(BROADCASTS)
def test_broadcasts(p, opset):
    check(p, opset)


@programs(INDEXING)
def test_indexing(p, opset):
    check(p, opset)


@programs(SLICES)
def test_slices(p, opset):
    check(p, opset)
