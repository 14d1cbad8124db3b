import torch
import torch.nn.functional as F
from tests.harness import LATEST, case, cases, check, f32, f64, i64

CASES = [
    case("cdist", lambda a, b: (torch.cdist(a, b), torch.cdist(a, b, 1.0), torch.cdist(a, b, 3.0)), f32(2, 4, 5), f32(3, 5)),
    case("cdist_product", torch.cdist, f32(30, 5), f32(40, 5)),
    case("cdist_dynamic", torch.cdist, f32(4, 5), f32(3, 5), dynamic={0: {0: "n"}, 1: {0: "m"}}),
    case("pdist", lambda a: (F.pdist(a), F.pdist(a, 1.0)), f32(4, 5)),
    case("pdist_dynamic", F.pdist, f32(4, 5), dynamic={0: "n"}),
    case("dist", lambda a, b: (torch.dist(a, b), torch.dist(a, b, 1)), f32(4, 5), f32(5)),
    case("pairwise", lambda a, b: (F.pairwise_distance(a, b), F.pairwise_distance(a, b, 1.0, keepdim=True)), f32(4, 5), f32(4, 5)),
    case("pairwise_ints", F.pairwise_distance, i64(4, 5), i64(4, 5)),
    case("cosine", lambda a, b: (F.cosine_similarity(a, b), F.cosine_similarity(a, b, 0)), f32(4, 5), f32(4, 5)),
    case("cosine_broadcast", lambda a, b: F.cosine_similarity(a[:, None], b[None], -1), f64(4, 5), f64(3, 5)),
    case("cosine_one_against_many", lambda a, b: [F.cosine_similarity(a, b, d) for d in (0, 1, -1)], f32(1, 2, 3), f32(2, 1, 3)),
    case("cosine_ranks", lambda a, b: [F.cosine_similarity(a, b, d) for d in (0, 1, -1)], f32(3), f32(2, 4, 1)),
    case("cosine_unknown", lambda a, b: F.cosine_similarity(a, b, 0), f32(4, 3), f32(4, 3), dynamic={0: {0: "n"}, 1: {0: "m"}},
         others=[(torch.rand(1, 3), torch.rand(5, 3)), (torch.rand(5, 3), torch.rand(1, 3)), (torch.rand(5, 3), torch.rand(5, 3))]),
    case("cosine_of_numbers", lambda a, b: F.cosine_similarity(a, b, 0), f32(), f32()),
    case("cosine_zero", lambda a: F.cosine_similarity(a, torch.zeros(4, 5)), f32(4, 5)),
    case("renorm", lambda a: (torch.renorm(a, 2, 0, 1.0), torch.renorm(a, 1, 1, 2.0)), f32(4, 5)),
]  # fmt: skip


@cases(CASES, opsets=(9, 13, 18, LATEST))
def test_distances(case, frontend, opset):
    check(case, frontend, opset)
