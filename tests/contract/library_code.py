"""Three programs as libraries write them: they say torch.onnx and know nothing of onnxport.

A custom operator with a symbolic function, a detection head with an autograd function, a quantised operator.
"""

import io

import torch
import torch.onnx
from torch.onnx import register_custom_op_symbolic
from torch.onnx import symbolic_helper as sym_help
from torch.onnx.symbolic_helper import parse_args, quantized_args

# -- a custom operator, as one with a CUDA kernel ---------------------------------------------------

_LIBRARY = torch.library.Library("libcode", "DEF")
_LIBRARY.define("roi_align(Tensor x, Tensor rois, float scale, int h, int w, int ratio, bool aligned) -> Tensor")
_LIBRARY.impl(
    "roi_align", lambda x, rois, scale, h, w, ratio, aligned: x.new_zeros(rois.shape[0], x.shape[1], h, w), "CPU"
)


@parse_args("v", "v", "f", "i", "i", "i", "i")
def roi_align(g, x, rois, scale, h, w, ratio, aligned):
    if sym_help._get_tensor_rank(rois) != 2:
        return sym_help._unimplemented("roi_align", "rois of rank 2 are needed")
    zero = g.op("Constant", value_t=torch.tensor([0], dtype=torch.int64))
    indices = g.op(
        "Squeeze",
        sym_help._slice_helper(g, rois, axes=[1], starts=[0], ends=[1]),
        g.op("Constant", value_t=torch.tensor([1])),
    )
    boxes = sym_help._slice_helper(g, rois, axes=[1], starts=[1], ends=[5])
    if aligned:
        half = g.op("Constant", value_t=torch.tensor([0.5 / scale], dtype=torch.float))
        boxes = g.op("Sub", boxes, half)
    indices = g.op("Cast", indices, to_i=sym_help.cast_pytorch_to_onnx["Long"])
    assert zero.node().kind() == "onnx::Constant"
    return g.op(
        "RoiAlign",
        x,
        boxes,
        indices,
        spatial_scale_f=scale,
        output_height_i=h,
        output_width_i=w,
        sampling_ratio_i=ratio,
    )


register_custom_op_symbolic("libcode::roi_align", roi_align, 13)


class RoiHead(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x, rois):
        features = self.conv(x)
        return torch.ops.libcode.roi_align(features, rois, 0.5, 2, 2, 1, True)


# -- a detection head -------------------------------------------------------------------------------


class TopBoxes(torch.autograd.Function):
    @staticmethod
    def forward(ctx, boxes, scores, limit, threshold):
        order = scores.argsort(descending=True)[:limit]
        return boxes[order], scores[order]

    @staticmethod
    def symbolic(g, boxes, scores, limit, threshold):
        k = g.op("Constant", value_t=torch.tensor([limit], dtype=torch.int64))
        best, order = g.op("TopK", scores, k, axis_i=0, outputs=2)
        if torch.onnx.is_in_onnx_export():
            best = g.op("Identity", best)
        return g.op("Gather", boxes, order, axis_i=0), best


class Detector(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.box = torch.nn.Linear(8, 4)
        self.score = torch.nn.Linear(8, 1)

    def forward(self, x):
        boxes, scores = self.box(x), self.score(x).squeeze(-1).sigmoid()
        if not torch.onnx.is_in_onnx_export():
            assert boxes.shape[0] == scores.shape[0]
        return TopBoxes.apply(boxes, scores, 3, 0.5)


# -- a quantised operator ---------------------------------------------------------------------------

_LIBRARY.define("fake_int8(Tensor x, float scale, int zero) -> Tensor")
_LIBRARY.impl("fake_int8", lambda x, s, z: torch.quantize_per_tensor(x, s, z, torch.quint8).dequantize().relu(), "CPU")


@quantized_args(True)
def _relu(g, x):
    return g.op("Relu", x)


@parse_args("v", "f", "i")
def fake_int8(g, x, scale, zero):
    packed = sym_help.quantize_helper(
        g,
        x,
        g.op("Constant", value_t=torch.tensor(scale, dtype=torch.float)),
        g.op("Constant", value_t=torch.tensor(zero, dtype=torch.uint8)),
    )
    result, _, _, _ = sym_help.dequantize_helper(g, _relu(g, packed))
    return result


torch.onnx.register_custom_op_symbolic("libcode::fake_int8", fake_int8, 13)


class Quantised(torch.nn.Module):
    def forward(self, x):
        return torch.ops.libcode.fake_int8(x * 2, 0.1, 128) + 1


def export_all():
    """What a library's script does."""
    exported = {}
    programs = {
        "roi": (RoiHead().eval(), (torch.randn(1, 3, 8, 8), torch.tensor([[0.0, 1, 1, 6, 6], [0, 2, 2, 7, 5]]))),
        "detector": (Detector().eval(), (torch.randn(6, 8),)),
        "quantised": (Quantised().eval(), (torch.randn(2, 3),)),
    }
    for name, (model, args) in programs.items():
        f = io.BytesIO()
        torch.onnx.export(
            model,
            args,
            f,
            input_names=[f"x{i}" for i in range(len(args))],
            opset_version=16,
            do_constant_folding=True,
        )
        exported[name] = model, args, f.getvalue()
    return exported
