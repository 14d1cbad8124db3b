"""Numbers of 8 bits that are floats: what they round to, what is too large for them, and since which opset they are."""

import onnx
import pytest
import torch
from tests.harness import LATEST

import onnxport
from onnxport.errors import OpsetError

TYPES = [torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e5m2, torch.float8_e5m2fnuz]
VALUES = torch.cat(
    [
        torch.linspace(-20, 20, 41),
        torch.tensor(
            [0.0, -0.0, 240.0, 250.0, 448.0, 500.0, 57344.0, 1e6, -500.0, -1e6, torch.inf, -torch.inf, torch.nan]
        ),
        torch.tensor([2.0**-9, 2.0**-10, 1.5 * 2.0**-10, 2.0**-16, 2.0**-18]),
    ]
)


class Rounded(torch.nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.dtype = dtype
        self.register_buffer("constant", VALUES)

    def forward(self, x):
        return x.to(self.dtype).to(x.dtype), self.constant.to(self.dtype).float()


@pytest.mark.parametrize("opset", [19, 23, LATEST])
@pytest.mark.parametrize("exported", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("source", [torch.float32, torch.float16, torch.bfloat16])
def test_rounded(dtype, source, exported, opset):
    model, x = Rounded(dtype), VALUES.to(source)
    result = onnxport.export(torch.export.export(model, (x,)) if exported else model, (x,), opset_version=opset)
    onnx.checker.check_model(result.model_proto, full_check=True)
    for actual, expected in zip(result(x), model(x), strict=True):
        torch.testing.assert_close(actual, expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", TYPES)
def test_opset(dtype):
    with pytest.raises(OpsetError, match="float8 needs opset 19"):
        onnxport.export(Rounded(dtype), (VALUES,), opset_version=18)
    assert onnxport.export(Rounded(dtype), (VALUES,)).opset_version == 19
