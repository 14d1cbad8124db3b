"""Which opset and IR version a model gets: what was asked for, or the lowest from the default on that can express it."""

from __future__ import annotations

import logging

import onnx
import pytest
import torch
from torch.nn import functional as F

import onnxport
from onnxport.errors import OpsetError
from onnxport.options import DEFAULT_OPSET, MIN_OPSET, newest_opset

# Opset -> IR version, from the table in ONNX's Versioning.md.
PAIRED = {
    7: 3, 8: 3, 9: 4, 10: 5, 11: 6, 12: 7, 13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8, 19: 9, 20: 9, 21: 10, 22: 10,
    23: 11, 24: 12, 25: 13, 26: 13, 27: 13, 28: 14,
}  # fmt: skip


class Relu(torch.nn.Module):
    def forward(self, x):
        return F.relu(x)


class Transform(torch.nn.Module):
    """A transform of a length known only at run time needs DFT, of opset 17."""

    def forward(self, x):
        return torch.view_as_real(torch.fft.fft(x))


X = torch.rand(2, 3)


def transformed(opset):
    return onnxport.export(
        Transform(), (torch.rand(2, 8),), opset_version=opset, input_names=["x"], dynamic_axes={"x": {1: "n"}}
    ).model_proto


def version(proto):
    (opset,) = [o.version for o in proto.opset_import if o.domain == ""]
    return opset


@pytest.mark.parametrize("opset", range(MIN_OPSET, newest_opset() + 1))
def test_given_opset_is_kept(opset):
    proto = onnxport.export(Relu(), (X,), opset_version=opset).model_proto
    assert version(proto) == opset
    assert proto.ir_version == PAIRED[opset]
    onnx.checker.check_model(proto, full_check=True)


def test_default():
    proto = onnxport.export(Relu(), (X,)).model_proto
    assert version(proto) == DEFAULT_OPSET == 14
    assert proto.ir_version == 7


def test_default_rises_to_what_is_needed(caplog):
    with caplog.at_level(logging.WARNING, logger="onnxport"):
        proto = transformed(None)
    assert version(proto) == 17
    assert proto.ir_version == 8
    assert "exporting at opset 17" in caplog.text
    assert "length is known only at run time" in caplog.text


@pytest.mark.parametrize("opset", [7, 14, 16])
def test_given_opset_never_rises(opset):
    with pytest.raises(OpsetError, match="opset_version=17") as raised:
        transformed(opset)
    assert raised.value.needed == 17


def test_below_and_above_are_refused():
    for opset in (MIN_OPSET - 1, newest_opset() + 1):
        with pytest.raises(ValueError, match=f"{MIN_OPSET} to {newest_opset()}"):
            onnxport.export(Relu(), (X,), opset_version=opset)
