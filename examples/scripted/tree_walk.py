"""Walks binary decision trees that lie in arrays: from the root to a leaf, for each row and each tree."""

import torch


def walk(
    x: torch.Tensor,
    feature: torch.Tensor,
    threshold: torch.Tensor,
    left: torch.Tensor,
    right: torch.Tensor,
    value: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    total = torch.zeros(x.shape[0])
    depths = torch.zeros(x.shape[0], feature.shape[0], dtype=torch.long)
    for row in range(x.shape[0]):
        for tree in range(feature.shape[0]):
            node = 0
            depth = 0
            while int(left[tree, node]) >= 0:
                if bool(x[row, feature[tree, node]] <= threshold[tree, node]):
                    node = int(left[tree, node])
                else:
                    node = int(right[tree, node])
                depth += 1
            total[row] += value[tree, node]
            depths[row, tree] = depth
    return total, depths


def program():
    return torch.jit.script(walk)


def arguments():
    def trees(n):
        left = torch.tensor([[1, 3, -1, -1, -1, -1, -1], [1, 3, 5, -1, -1, -1, -1]])
        right = torch.tensor([[2, 4, -1, -1, -1, -1, -1], [2, 4, 6, -1, -1, -1, -1]])
        return torch.randn(n, 4), torch.randint(0, 4, (2, 7)), torch.randn(2, 7), left, right, torch.randn(2, 7)

    return [trees(3), trees(1), trees(8)]


DYNAMIC = {0: {0: "rows"}}
