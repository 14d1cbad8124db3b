"""Splits a line of character codes into words, one character after the other, and hashes each word."""

import torch


def words(text: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, int]:
    hashes: list[int] = []
    lengths: list[int] = []
    value = 0
    length = 0
    for i in range(text.shape[0]):
        code = int(text[i])
        if code == 32 or code == 10:
            if length > 0:
                hashes.append(value)
                lengths.append(length)
            value = 0
            length = 0
            continue
        if code >= 65 and code <= 90:
            code += 32  # lower case
        value = (value * 31 + code) % 100003
        length += 1
    if length > 0:
        hashes.append(value)
        lengths.append(length)
    return torch.tensor(hashes), torch.tensor(lengths), len(hashes)


def program():
    return torch.jit.script(words)


def arguments():
    return [(torch.tensor(list(line.encode())),) for line in ("The quick brown fox", "a", " two  words \n")]


DYNAMIC = {0: {0: "characters"}}
