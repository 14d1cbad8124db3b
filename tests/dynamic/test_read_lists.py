"""Lists of ints that a model reads of tensors, as long as an axis: pieces, rows and loops as many as they have numbers."""

import warnings

import pytest
import torch
import torch.nn.functional as F

import onnxport
from onnxport.errors import OnnxExporterWarning


def pieces_by_values(x):
    real = (x != 0).any(-1)
    flat = x.flatten(0, 1)[real.reshape(-1)]
    return torch.cat([part.reshape(-1, 2) for part in flat.split(real.sum(1).tolist())])


def pieces_put_together_again(x, sizes):
    return torch.cat(torch.split(x.flatten(0, 1), sizes.prod(-1).tolist()))


def pieces_by_arithmetic(x, sizes):
    """The counts are made in one loop, and used in another beside the sizes that they were made of."""
    sizes = [(size[0] // 2, size[1] // 2) for size in sizes]
    counts = [height * width for height, width in sizes]
    made = []
    for i, part in enumerate(x.flatten(0, 1).split(counts)):
        height, width = sizes[i]
        grid = part.view(height, width, 3).permute(2, 0, 1).unsqueeze(0)
        made.append(F.unfold(grid, kernel_size=1, stride=1).view(3, -1).t())
    return torch.cat(made)


def parts_in_two_loops(x, sizes):
    parts = [row[:, : size[0] // 2] for row, size in zip(x, sizes)]
    return torch.cat([part.flatten(0, 1) for part in parts]), torch.cat([torch.arange(part.shape[1]) for part in parts])


def blocks_of_a_mask(x, sizes):
    ends = torch.tensor([int(count) for count in sizes.prod(-1)]).cumsum(-1)
    mask = x.new_full((x.shape[0] * 4, x.shape[0] * 4), -1.0)
    for start, end in zip(torch.cat([ends.new_zeros(1), ends[:-1]]), ends):
        mask[start:end, start:end] = 0
    return mask


def windows(x):
    """Of one size, which follows from that of an axis."""
    ends = torch.arange(0, x.shape[0] * x.shape[1] + 1, x.shape[1])
    flat, lengths = x.flatten(0, 1)[None], ends[1:] - ends[:-1]
    queries, keys = (torch.split(t, lengths.tolist(), dim=1) for t in (flat, flat * 2))
    return torch.cat([F.softmax(q @ k.transpose(1, 2), -1) @ k for q, k in zip(queries, keys)], 1)


def padded(x):
    parts = x.flatten(0, 1).split((x != 0).any(-1).sum(1).tolist())
    return torch.nn.utils.rnn.pad_sequence(list(parts), batch_first=True)


def by_numpy(x):
    sizes = (x != 0).any(-1).sum(1).numpy().tolist()
    return torch.cat([part.cumsum(0) for part in torch.split(x.flatten(0, 1), sizes)])


def rows_cut(x, lengths):
    return torch.cat([row[:n] for row, n in zip(x, lengths.tolist())])


def last_elements(x, lengths):
    return torch.stack([x[i, n - 1] for i, n in enumerate(lengths.tolist())])


def filled_up(x, lengths):
    return torch.stack([F.pad(x[i, :n].flip(0), (0, 0, 0, 4 - n)) for i, n in enumerate(lengths.tolist())])


def two_lists(x, lengths):
    ends, starts = lengths.tolist(), (5 - lengths).tolist()
    return torch.cat([x[i, :n] * 2 for i, n in enumerate(ends)]), torch.cat(
        [x[i, : n - 1] for i, n in enumerate(starts)]
    )


def one_by_one(x, lengths):
    return torch.stack([x[i, : lengths[i].item()].sum(0) for i in range(x.shape[0])])


def written(x, lengths):
    out = torch.zeros(x.shape[0], 2)
    for i in range(x.shape[0]):
        n = int(lengths[i])
        out[i] = x[i, :n].mean(0) + n
    return out


def where_found(x, lengths):
    places = (torch.arange(4) == lengths[:, None] - 1).long().argmax(1).tolist()
    return torch.stack([x[i, place] for i, place in enumerate(places)])


def offsets(x, lengths):
    start, out = 0, []
    for n in lengths.tolist():
        out.append(x.flatten(0, 1)[start : start + n].sum(0))
        start += n
    return torch.stack(out)


def blocks_by_offsets(x, sizes):
    mask = x.new_full((x.shape[0] * 4, x.shape[0] * 4), -1.0)
    start = 0
    for count in [size[0] * size[1] for size in sizes]:
        end = start + count
        mask[start:end, start:end] = 0
        start = end
    return mask


def equal_pieces(x):
    return torch.cat([part * 2 for part in x.flatten(0, 1).split([4 for _ in x])])


def alone(b):
    return (torch.randn(b, 4, 2),)


def with_lengths(b):
    return torch.randn(b, 4, 2), torch.tensor([4, 2, 3, 1, 4])[:b]


def with_sizes(height, width, channels=3):
    return lambda b: (torch.randn(b, 4, channels), torch.tensor([[height, width]]).repeat(b, 1))


CASES = {
    pieces_by_values: alone, pieces_put_together_again: with_sizes(2, 2), pieces_by_arithmetic: with_sizes(4, 4),
    parts_in_two_loops: with_sizes(6, 6, 8), blocks_of_a_mask: with_sizes(2, 2), windows: alone, padded: alone,
    by_numpy: alone, rows_cut: with_lengths, last_elements: with_lengths, filled_up: with_lengths, two_lists: with_lengths,
    one_by_one: with_lengths, written: with_lengths, where_found: with_lengths, offsets: with_lengths,
    blocks_by_offsets: with_sizes(2, 2), equal_pieces: alone,
}  # fmt: skip


def exported(function, arguments):
    names = list(function.__code__.co_varnames[: function.__code__.co_argcount])
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        return onnxport.export(
            function, arguments, input_names=names, dynamic_axes={name: {0: "b"} for name in names}, opset_version=18
        )


@pytest.mark.parametrize("rows", [2, 3])
@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_lists_as_long_as_an_axis(function, rows):
    make = CASES[function]
    result = exported(function, make(rows))
    for b in (3, 2, 1, 5, 4):
        arguments = make(b)
        torch.testing.assert_close(result(*arguments), function(*arguments))


def test_other_numbers_than_those_of_the_example():
    result = exported(rows_cut, with_lengths(3))
    arguments = torch.randn(4, 4, 2), torch.tensor([1, 1, 4, 2])
    torch.testing.assert_close(result(*arguments), rows_cut(*arguments))


def test_numbers_that_only_look_like_those_of_a_list():
    """Three rows, whatever the lengths are; and axes, which happen to be the same numbers."""

    def rows(x, lengths):
        total = sum(lengths.tolist())
        return torch.stack([x[i].transpose(0, 1) * (i + 1) for i in (0, 1)]) + total

    example = torch.randn(2, 4, 2), torch.tensor([1, 1])
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        result = onnxport.export(
            rows, example, input_names=["x", "lengths"], dynamic_axes={"x": {0: "b"}, "lengths": {0: "b"}}
        )
    torch.testing.assert_close(result(*example), rows(*example))


def test_numbers_that_decide_keep_no_axis_from_being_dynamic():
    """Ints of the rows of a tensor, in an `if` and in arithmetic, are those of the example; the rows are as many as there are."""

    def tiled(x, sizes):
        counts = [2 if int(size[0]) > 3 else 1 for size in sizes]
        flat = torch.cat([tiles[:count] for tiles, count in zip(x, counts)])
        parts = []
        for i, part in enumerate(flat.split(counts)):
            height, width = sizes[i].tolist()
            parts.append(part.reshape(-1, 2)[: height * width // 8])
        return torch.cat(parts)

    make = with_sizes(4, 4, 2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", OnnxExporterWarning)
        result = onnxport.export(
            tiled, make(2), input_names=["x", "sizes"], dynamic_axes={"x": {0: "b"}, "sizes": {0: "b"}}
        )
    assert any("takes the value of a tensor as a Python list" in str(warning.message) for warning in caught)
    for b in (2, 3, 1, 5):
        arguments = make(b)
        torch.testing.assert_close(result(*arguments), tiled(*arguments))
