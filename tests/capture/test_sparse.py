"""Sparse tensors: dense ones stand for them in the exported model."""

import pytest
import torch
from torch import nn

import onnxport
from onnxport.errors import LoweringError

pytestmark = pytest.mark.filterwarnings("ignore:Sparse:UserWarning")

X = torch.randn(4, 3)
EDGES = torch.tensor([[0, 1, 3, 3], [1, 2, 0, 0]])
GRAPH = torch.sparse_coo_tensor(EDGES, torch.tensor([1.0, 2.0, 3.0, 4.0]), (4, 4))


class Convolved(nn.Module):
    """A layer of a graph network: what is next to each node, mixed."""

    def __init__(self, graph, form):
        super().__init__()
        self.linear = nn.Linear(3, 2)
        if form == "buffer":
            self.register_buffer("graph", graph)
        elif form == "parameter":
            self.graph = nn.Parameter(graph, requires_grad=False)
        else:
            self.graph = graph

    def forward(self, x):
        return (
            self.linear(torch.sparse.mm(self.graph, x)).relu()
            if self.graph.layout == torch.sparse_coo
            else self.graph @ x
        )


@pytest.mark.parametrize("form", ["buffer", "parameter", "attribute"])
@pytest.mark.parametrize("graph", [GRAPH, GRAPH.coalesce(), GRAPH.to_sparse_csr()], ids=["coo", "coalesced", "csr"])
def test_the_graph_of_a_layer(graph, form):
    model = Convolved(graph, form)
    result = onnxport.export(
        model, (X,), None, input_names=["x"], dynamic_axes={"x": {1: "n"}} if graph.is_sparse_csr else {}
    )
    assert result.verify([(torch.randn(4, 3),)]).ok
    assert model.graph.layout == graph.layout


def by_layout(x):
    y = x.to_sparse()
    return torch.sparse.mm(y, x.T) if y.is_sparse and y.layout == torch.sparse_coo and not x.is_sparse else x


FUNCTIONS = {
    "by_layout": by_layout,
    "to_sparse_and_back": lambda x: x.relu().to_sparse().coalesce().to_dense(),
    "csr_and_back": lambda x: x.to_sparse_csr().to_dense() @ x.T,
    "mm": lambda x: torch.sparse.mm(x.to_sparse(), x.T),
    "addmm": lambda x: torch.sparse.addmm(torch.ones(4, 4), x.to_sparse(), x.T, beta=0.5),
    "sum": lambda x: torch.sparse.sum(x.to_sparse(), 1).to_dense(),
    "of_edges": lambda x: torch.sparse.mm(torch.sparse_coo_tensor(EDGES, x.flatten()[:4], (4, 4)), x),
    "of_edges_dense": lambda x: torch.sparse_coo_tensor(EDGES, x, (4, 4, 3)).to_dense(),
    "mkldnn": lambda x: x.to_mkldnn().to_dense() * 2,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_made_in_forward(name):
    assert onnxport.export(FUNCTIONS[name], (X,)).verify([(torch.randn(4, 3),)]).ok


@pytest.mark.parametrize("name", ["mm", "of_edges", "mkldnn"])
def test_scripted(name):
    def mm(x):
        return torch.sparse.mm(x.to_sparse(), x.t())

    def of_edges(x):
        edges = torch.tensor([[0, 1, 3, 3], [1, 2, 0, 0]])
        return torch.sparse.mm(torch.sparse_coo_tensor(edges, x.flatten()[:4], [4, 4]).coalesce(), x)

    def mkldnn(x):
        return x.to_mkldnn().to_dense() * 2

    script = torch.jit.script({"mm": mm, "of_edges": of_edges, "mkldnn": mkldnn}[name])
    assert onnxport.export(script, (X,)).verify([(torch.randn(4, 3),)]).ok


def test_a_sparse_argument_is_a_dense_input():
    result = onnxport.export(lambda graph, x: torch.sparse.mm(graph, x), (GRAPH, X))
    torch.testing.assert_close(result(GRAPH.to_dense(), X), torch.sparse.mm(GRAPH, X))
    assert result.verify().ok


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: torch.sparse.softmax(x.to_sparse(), 1).to_dense(), "mask it with -inf"),
        (lambda x: torch.sparse_coo_tensor(EDGES, x.flatten()[:4]).to_dense(), "give it as an argument"),
        (lambda x: torch.sparse.mm(GRAPH, x), "sparse one that is no attribute"),
    ],
)
def test_refused(function, reason):
    with pytest.raises(LoweringError, match=reason):
        onnxport.export(function, (X,))
