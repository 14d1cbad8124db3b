"""What is decided only where another `if` goes elsewhere than in the example; what is equal to a number far from it; and numbers
that Python compares by itself, of which a trace has nothing."""

import math
import warnings

import pytest
import torch
import torch.nn.functional as F

import onnxport
from onnxport.errors import OnnxExporterWarning


def patches(x, n, m):
    """A table of positions that is scaled to the image, unless it is as large already."""
    count = F.avg_pool2d(x[None, None], 2).flatten().shape[0]
    if count == 16 and n == m:
        return x * 2
    scaled = F.interpolate(torch.ones(1, 1, 4, 4), scale_factor=((n // 2 + 0.1) / 4, (m // 2 + 0.1) / 4))
    assert scaled.shape[-2:] == (n // 2, m // 2)
    return x * 3 * scaled.mean()


WRONG = {
    "remainder_of_large_ones": lambda x, n, m: x * 2 if n > 16 and n % 4 == 3 else x * 3,
    "both_axes": lambda x, n, m: x * 2 if n > 8 and m > 8 else x * 3,
    "neither": lambda x, n, m: x * 3 if n < 9 or m % 5 else x * 2,
    "far_behind": lambda x, n, m: x * 2 if n % 2 == 0 and n > 600 else x * 3,
    "within": lambda x, n, m: (x * 2 if n == m else x * 3) if n > 10 else x * 3,
    "between_far_sizes": lambda x, n, m: x * 2 if 500 < n < 520 else x * 3,
    "far_image": lambda x, n, m: x * 2 if x.shape == (224, 224) else x * 3,
    "one_far_size": lambda x, n, m: x * 2 if n == 512 else x * 3,
    "remainder_by_a_large_number": lambda x, n, m: x * 2 if n % 64 == 0 else x * 3,
    "an_int": lambda x, n, m: x * 2 if int(n) == 9 else x * 3,
    "a_key": lambda x, n, m: x * {10: 2}.get(int(n), 3),
    "a_text": lambda x, n, m: x * 2 if str(m) == "9" else x * 3,
    "a_square": lambda x, n, m: x * 2 if n * m == 16 and n == m else x * 3,
    "a_square_of_pieces": lambda x, n, m: x * 2 if (n // 4) * (m // 4) == 16 and n == m else x * 3,
    "a_square_of_patches": patches,
    "in_a_list": lambda x, n, m: x * 2 if torch.tensor([n, m]).tolist()[0] > 40 else x * 3,
}
RIGHT = {
    "a_float": lambda x, n, m: x * 2 if float(n) / 3 > 10.2 else x * 3,
    "an_int_of_a_float": lambda x, n, m: x * 2 if int(n * 0.3) == 2 else x * 3,
    "remainder_of_an_int": lambda x, n, m: x * 2 if int(n) % 4 == 3 else x * 3,
    "saves_time": lambda x, n, m: x * 2 if n > 16 and n % 4 == 3 else x + x,
    "within": lambda x, n, m: (x * 3 if n == m else x + x + x) if n > 10 else x * 3,
    "an_int": lambda x, n, m: x * 2 if int(n) % 4 == 3 else x + x,
    "padded": lambda x, n, m: x * math.ceil(3 / max(int(n > 0), 1)),
}


def exported(function):
    def model(x):
        return function(x, x.shape[0], x.shape[1])

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        axes = {"x": {0: "n", 1: "m"}}
        result = onnxport.export(model, (torch.randn(5, 4),), input_names=["x"], dynamic_axes=axes)
    return model, result, [str(w.message) for w in said if issubclass(w.category, OnnxExporterWarning)]


@pytest.mark.usefixtures("one_recording")
@pytest.mark.parametrize("name", WRONG)
def test_told(name):
    _, _, said = exported(WRONG[name])
    assert any("may be" in text and __file__ in text for text in said)


@pytest.mark.usefixtures("one_recording")
@pytest.mark.parametrize("name", RIGHT)
def test_not_told(name):
    model, result, said = exported(RIGHT[name])
    assert not said
    for sizes in ((5, 4), (1, 1), (2, 9), (16, 16), (19, 3), (23, 23), (8, 9), (31, 4), (103, 2)):
        x = torch.randn(sizes)
        torch.testing.assert_close(result(x), model(x), rtol=1e-5, atol=1e-6)
