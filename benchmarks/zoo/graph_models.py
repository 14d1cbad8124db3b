"""torch-geometric: its convolutions, aggregations, poolings and models, over graphs with any nodes and edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch_geometric.nn as G
import torch_geometric.utils as U
from torch import nn

from entry import Zoo, add, normal, uniform

FAMILY = "torch-geometric"
WIDTH = 8


class Calls(nn.Module):
    """A layer, or a function, called with its arguments by name."""

    def __init__(self, call: Callable[..., Any]) -> None:
        super().__init__()
        self.call = call

    def forward(self, **arguments: Any) -> Any:
        return self.call(**arguments)


def edges(n: int, m: int, seed: int = 0) -> torch.Tensor:
    """m edges between n nodes, each pair at most once, none from a node to itself."""
    generator = torch.Generator().manual_seed(n * 100 + m + seed)
    codes = torch.randperm(n * (n - 1), generator=generator)[:m]
    source, target = codes // (n - 1), codes % (n - 1)
    return torch.stack([source, target + (target >= source)])


def both_ways(n: int, m: int) -> torch.Tensor:
    return U.to_undirected(edges(n, m), num_nodes=n)


def batch(n: int, graphs: int) -> torch.Tensor:
    return torch.arange(n) * graphs // n


SIZES = ((9, 20, 2), (13, 31, 3))


def graph(make: Callable[[], Callable[..., Any]], *wanted: str, **more: Callable[[int, int, int], torch.Tensor]) -> Zoo:
    """What the layer wants: nodes, edges, weights and features of edges, and the graph that each node is in."""
    known: dict[str, Callable[[int, int, int], torch.Tensor]] = {
        "x": lambda n, m, b: normal(n, WIDTH),
        "edge_index": lambda n, m, b: edges(n, m),
        "edge_weight": lambda n, m, b: uniform(m),
        "edge_attr": lambda n, m, b: normal(m, 4),
        "edge_type": lambda n, m, b: torch.arange(m) % 3,
        "index": lambda n, m, b: batch(n, b),
        "batch": lambda n, m, b: batch(n, b),
        "pos": lambda n, m, b: normal(n, 3),
        **more,
    }
    example, other = ({name: known[name](*size) for name in [*wanted, *more]} for size in SIZES)
    return Zoo(Calls(make()), example, other)


def mlp(a: int, b: int = WIDTH) -> nn.Module:
    return nn.Sequential(nn.Linear(a, 16), nn.ReLU(), nn.Linear(16, b))


W = WIDTH
PLAIN: dict[str, Callable[[], Any]] = {
    "GCNConv": lambda: G.GCNConv(W, 6),
    "GATConv": lambda: G.GATConv(W, 6, heads=2),
    "GATv2Conv": lambda: G.GATv2Conv(W, 6, heads=2),
    "SAGEConv": lambda: G.SAGEConv(W, 6),
    "SAGEConv max": lambda: G.SAGEConv(W, 6, aggr="max"),
    "GINConv": lambda: G.GINConv(mlp(W)),
    "TransformerConv": lambda: G.TransformerConv(W, 6, heads=2, beta=True),
    "EdgeConv": lambda: G.EdgeConv(mlp(2 * W)),
    "GraphConv": lambda: G.GraphConv(W, 6),
    "ChebConv": lambda: G.ChebConv(W, 6, K=3),
    "TAGConv": lambda: G.TAGConv(W, 6),
    "SGConv": lambda: G.SGConv(W, 6, K=2),
    "SSGConv": lambda: G.SSGConv(W, 6, alpha=0.1, K=2),
    "ARMAConv": lambda: G.ARMAConv(W, 6, num_stacks=2, num_layers=2),
    "APPNP": lambda: G.APPNP(3, 0.1),
    "MFConv": lambda: G.MFConv(W, 6, max_degree=4),
    "FeaStConv": lambda: G.FeaStConv(W, 6, heads=2),
    "LEConv": lambda: G.LEConv(W, 6),
    "ClusterGCNConv": lambda: G.ClusterGCNConv(W, 6),
    "GENConv": lambda: G.GENConv(W, 6),
    "FiLMConv": lambda: G.FiLMConv(W, 6),
    "SuperGATConv": lambda: G.SuperGATConv(W, 6, heads=2),
    "EGConv": lambda: G.EGConv(W, 6, num_heads=2, num_bases=2),
    "AGNNConv": lambda: G.AGNNConv(),
    "LGConv": lambda: G.LGConv(),
    "GatedGraphConv": lambda: G.GatedGraphConv(W, 2),
    "ResGatedGraphConv": lambda: G.ResGatedGraphConv(W, 6),
    "GeneralConv": lambda: G.GeneralConv(W, 6),
    "AntiSymmetricConv": lambda: G.AntiSymmetricConv(W),
    "MixHopConv": lambda: G.MixHopConv(W, 6),
    "DirGNNConv": lambda: G.DirGNNConv(G.SAGEConv(W, 6)),
    "SimpleConv": lambda: G.SimpleConv(aggr="mean"),
    "GCN": lambda: G.GCN(W, 16, 3, 5, norm="batch", jk="cat"),
    "GAT": lambda: G.GAT(W, 16, 2, 5, v2=True),
    "GraphSAGE": lambda: G.GraphSAGE(W, 16, 2, 5, norm="layer"),
    "GIN": lambda: G.GIN(W, 16, 2, 5),
    "EdgeCNN": lambda: G.EdgeCNN(W, 16, 2, 5),
    "PMLP": lambda: G.PMLP(W, 16, 5, 2),
}  # fmt: skip
WITH_EDGES: dict[str, Callable[[], Any]] = {
    "GINEConv": lambda: G.GINEConv(mlp(W), edge_dim=4),
    "GATConv with edges": lambda: G.GATConv(W, 6, heads=2, edge_dim=4, concat=False),
    "NNConv": lambda: G.NNConv(W, 6, mlp(4, W * 6), aggr="mean"),
    "CGConv": lambda: G.CGConv(W, dim=4),
    "PDNConv": lambda: G.PDNConv(W, 6, edge_dim=4, hidden_channels=8),
    "GMMConv": lambda: G.GMMConv(W, 6, dim=4, kernel_size=3),
    "TransformerConv with edges": lambda: G.TransformerConv(W, 6, heads=2, edge_dim=4),
    "PNAConv": lambda: G.PNAConv(
        W, 6, ["mean", "min", "max", "std"], ["identity", "amplification", "attenuation"],
        deg=torch.tensor([0, 3, 5, 2]), edge_dim=4,
    ),
    "GPSConv": lambda: G.GPSConv(W, G.GINEConv(mlp(W), edge_dim=4), heads=2),
}  # fmt: skip
AGGREGATIONS: dict[str, Callable[[], Any]] = {
    **{
        name: lambda name=name: getattr(G, name)()
        for name in (
            "SumAggregation", "MeanAggregation", "MaxAggregation", "MinAggregation", "MulAggregation", "VarAggregation",
            "StdAggregation", "SoftmaxAggregation", "PowerMeanAggregation", "MedianAggregation",
            "VariancePreservingAggregation",
        )
    },
    "QuantileAggregation": lambda: G.QuantileAggregation([0.25, 0.75]),
    "SortAggregation": lambda: G.SortAggregation(k=3),
    "LSTMAggregation": lambda: G.LSTMAggregation(W, 6),
    "GRUAggregation": lambda: G.GRUAggregation(W, 6),
    "Set2Set": lambda: G.Set2Set(W, processing_steps=2),
    "AttentionalAggregation": lambda: G.AttentionalAggregation(nn.Linear(W, 1)),
    "SetTransformerAggregation": lambda: G.SetTransformerAggregation(W, heads=2),
    "DeepSetsAggregation": lambda: G.DeepSetsAggregation(mlp(W), nn.Linear(W, 5)),
    "MultiAggregation": lambda: G.MultiAggregation(["mean", "max", "std"]),
    "GraphMultisetTransformer": lambda: G.GraphMultisetTransformer(W, k=3, heads=2),
}  # fmt: skip
NORMS = ("GraphNorm", "InstanceNorm", "PairNorm", "LayerNorm", "MeanSubtractionNorm", "GraphSizeNorm", "DiffGroupNorm")


class Pooled(nn.Module):
    """Convolutions and a pooling between, and a readout: a classifier of graphs."""

    def __init__(self, pool: nn.Module, edge_features: bool = False) -> None:
        super().__init__()
        self.first, self.pool, self.second = G.GraphConv(WIDTH, 16), pool, G.GraphConv(16, 16)
        self.out = nn.Linear(48, 5)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor, batch: torch.Tensor) -> torch.Tensor:
        x = self.first(x, edge_index).relu()
        if self.pool is not None:
            x, edge_index, _, batch = self.pool(x, edge_index, None, batch)[:4]
            x = self.second(x, edge_index).relu()
        parts = [G.global_mean_pool(x, batch), G.global_max_pool(x, batch), G.global_add_pool(x, batch)]
        return self.out(torch.cat(parts, 1))


def dense(x: torch.Tensor, batch: torch.Tensor, edge_index: torch.Tensor) -> Any:
    filled, mask = U.to_dense_batch(x, batch)
    return filled, mask, U.to_dense_adj(edge_index, batch)


def utilities(x: torch.Tensor, edge_index: torch.Tensor, edge_weight: torch.Tensor) -> Any:
    n = x.size(0)
    looped, weights = U.add_self_loops(edge_index, edge_weight, fill_value=2.0, num_nodes=n)
    laplacian, values = U.get_laplacian(edge_index, edge_weight, normalization="sym", num_nodes=n)
    return [
        looped, weights, laplacian, values, U.degree(edge_index[1], n), U.softmax(edge_weight, edge_index[1], num_nodes=n),
        U.scatter(x[edge_index[0]], edge_index[1], 0, n, reduce="max"), *U.remove_self_loops(looped, weights),
        *U.coalesce(looped, weights, num_nodes=n), U.to_undirected(edge_index, num_nodes=n),
    ]  # fmt: skip


class Heterogeneous(nn.Module):
    """Two kinds of nodes and edges, as dictionaries."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = G.HeteroConv(
            {
                ("user", "rates", "item"): G.SAGEConv((WIDTH, 6), 16),
                ("item", "rated", "user"): G.GATConv((6, WIDTH), 16, add_self_loops=False),
            }
        )
        self.out = nn.Linear(16, 3)

    def forward(
        self, user: torch.Tensor, item: torch.Tensor, rates: torch.Tensor, rated: torch.Tensor
    ) -> dict[str, torch.Tensor]:
        h = self.conv(
            {"user": user, "item": item}, {("user", "rates", "item"): rates, ("item", "rated", "user"): rated}
        )
        return {kind: self.out(x.relu()) for kind, x in h.items()}


def heterogeneous() -> Zoo:
    def arguments(users: int, items: int, m: int) -> dict[str, Any]:
        code = torch.arange(m)
        rates = torch.stack([code * 7 % users, code * 5 % items])
        return {"user": normal(users, WIDTH), "item": normal(items, 6), "rates": rates, "rated": rates.flip(0)}

    return Zoo(Heterogeneous(), arguments(9, 5, 20), arguments(12, 7, 31))


def dense_layers() -> Zoo:
    class Dense(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(
                [G.DenseGCNConv(WIDTH, 8), G.DenseSAGEConv(8, 8), G.DenseGINConv(mlp(8)), G.DenseGATConv(8, 4, heads=2)]
            )
            self.assign = G.DenseGraphConv(8, 3)

        def forward(self, x: torch.Tensor, adj: torch.Tensor, mask: torch.Tensor) -> Any:
            for layer in self.layers:
                x = layer(x, adj, mask).relu()
            return (
                x,
                G.dense_diff_pool(x, adj, self.assign(x, adj), mask),
                G.dense_mincut_pool(x, adj, self.assign(x, adj), mask),
            )

    def arguments(b: int, n: int) -> dict[str, Any]:
        mask = torch.arange(n) < torch.arange(n - b + 1, n + 1)[:, None]
        adj = (uniform(b, n, n) > 0.6).float()
        return {"x": normal(b, n, WIDTH), "adj": (adj + adj.transpose(1, 2)).clamp(max=1), "mask": mask}

    return Zoo(Dense(), arguments(2, 7), arguments(3, 9))


def light() -> Zoo:
    class Embedding(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = G.LightGCN(13, 8, 2)

        def forward(self, edge_index: torch.Tensor) -> torch.Tensor:
            return self.model.get_embedding(edge_index)

    return Zoo(Embedding(), {"edge_index": edges(13, 20)}, {"edge_index": edges(13, 31)})


def fill() -> None:
    for name, make in PLAIN.items():
        add(f"pyg {name}", FAMILY, lambda make=make: graph(make, "x", "edge_index"))
    for name, make in WITH_EDGES.items():
        add(f"pyg {name}", FAMILY, lambda make=make: graph(make, "x", "edge_index", "edge_attr"))
    weighted = {"GCNConv": PLAIN["GCNConv"], "GraphConv": PLAIN["GraphConv"], "ChebConv": PLAIN["ChebConv"],
                "TAGConv": PLAIN["TAGConv"], "ARMAConv": PLAIN["ARMAConv"], "GCN": PLAIN["GCN"]}  # fmt: skip
    for name, make in weighted.items():
        add(f"pyg {name} weighted", FAMILY, lambda make=make: graph(make, "x", "edge_index", "edge_weight"))
    relations = {
        "RGCNConv": lambda: G.RGCNConv(WIDTH, 6, 3, num_bases=2),
        "FastRGCNConv": lambda: G.FastRGCNConv(WIDTH, 6, 3),
        "RGATConv": lambda: G.RGATConv(WIDTH, 6, 3, heads=2),
    }
    for name, make in relations.items():
        add(f"pyg {name}", FAMILY, lambda make=make: graph(make, "x", "edge_index", "edge_type"))
    for name, make in AGGREGATIONS.items():
        add(f"pyg {name}", FAMILY, lambda make=make: graph(make, "x", "index"))
    for name in NORMS:
        options = (WIDTH,) if name in ("GraphNorm", "InstanceNorm", "LayerNorm") else ()
        options = (WIDTH, 2) if name == "DiffGroupNorm" else options
        wanted = ("x",) if name == "DiffGroupNorm" else ("x", "batch")
        add(f"pyg {name}", FAMILY, lambda n=name, o=options, w=wanted: graph(lambda: getattr(G, n)(*o), *w))
    pools = {
        "none": lambda: None, "TopKPooling": lambda: G.TopKPooling(16, 0.5), "SAGPooling": lambda: G.SAGPooling(16, 0.5),
        "ASAPooling": lambda: G.ASAPooling(16, 0.5),
    }  # fmt: skip
    for name, make in pools.items():
        add(f"pyg pooled {name}", FAMILY, lambda make=make: graph(lambda: Pooled(make()), "x", "edge_index", "batch"))
    points = {
        "PointNetConv": lambda: G.PointNetConv(mlp(WIDTH + 3), mlp(WIDTH)),
        "PointTransformerConv": lambda: G.PointTransformerConv(WIDTH, 6),
    }
    for name, make in points.items():
        add(f"pyg {name}", FAMILY, lambda make=make: graph(make, "x", "pos", "edge_index"))
    add("pyg dense batch", FAMILY, lambda: graph(lambda: dense, "x", "batch", "edge_index"))
    add("pyg utilities", FAMILY, lambda: graph(lambda: utilities, "x", "edge_index", "edge_weight"))
    add("pyg HeteroConv", FAMILY, heterogeneous)
    add("pyg dense layers", FAMILY, dense_layers)
    add(
        "pyg HypergraphConv",
        FAMILY,
        lambda: graph(lambda: G.HypergraphConv(WIDTH, 6), "x", hyperedge_index=lambda n, m, b: edges(n, m)),
    )
    add(
        "pyg GCN2Conv",
        FAMILY,
        lambda: graph(lambda: G.GCN2Conv(WIDTH, 0.1), "x", "edge_index", x_0=lambda n, m, b: normal(n, WIDTH, seed=1)),
    )
    add(
        "pyg FAConv",
        FAMILY,
        lambda: graph(lambda: G.FAConv(WIDTH), "x", "edge_index", x_0=lambda n, m, b: normal(n, WIDTH, seed=1)),
    )
    add(
        "pyg AttentiveFP",
        FAMILY,
        lambda: graph(lambda: G.AttentiveFP(WIDTH, 16, 3, 4, 2, 2), "x", "edge_index", "edge_attr", "batch"),
    )
    add("pyg LightGCN", FAMILY, light)
    add("pyg Linear", FAMILY, lambda: graph(lambda: G.MLP([WIDTH, 16, 3], norm="batch_norm"), "x", "batch"))
    add(
        "pyg JumpingKnowledge",
        FAMILY,
        lambda: Zoo(
            Calls(G.JumpingKnowledge("lstm", 8, 3)),
            {"xs": [normal(5, 8, seed=i) for i in range(3)]},
            {"xs": [normal(7, 8, seed=i) for i in range(3)]},
        ),
    )


fill()
