"""The example of the classic torch.onnx page: AlexNet at (10, 3, 224, 224), with the names given there."""

from __future__ import annotations

import torch
from case import Case
from torch import nn

from onnxport import ExportResult
from onnxport.verify import Session


class AlexNet(nn.Module):
    """A. Krizhevsky, "One weird trick for parallelizing convolutional neural networks", 2014."""

    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, kernel_size=11, stride=4, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(64, 192, kernel_size=5, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(192, 384, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(384, 256, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(256, 256, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
        )
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential(
            nn.Dropout(),
            nn.Linear(256 * 6 * 6, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Linear(4096, classes),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.avgpool(self.features(x))
        return self.classifier(torch.flatten(x, 1))


def case() -> Case:
    model, x = AlexNet().eval(), torch.randn(10, 3, 224, 224)
    names = ["actual_input_1"] + [f"learned_{i}" for i in range(16)]

    def judge(session: Session, result: ExportResult) -> list[str]:
        (output,) = session.run({"actual_input_1": x})
        with torch.no_grad():
            expected = model(x).argmax(1).tolist()
        assert output.argmax(1).tolist() == expected, "the classes differ"
        learned = [name for name in result.model.graph.initializers if name.startswith("learned_")]
        assert learned == names[1:], "the parameters have other names"
        return [f"classes of the {len(expected)} images are those of PyTorch"]

    return Case("alexnet.onnx", model, (x,), names, ["output1"], judge)
