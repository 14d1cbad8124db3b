"""Random programs over small tensors: views, writes through them, reads, ifs and loops.

A program is a list of statements, drawn from a generator of numbers; it is written down as Python source, so that
the very same text runs in eager PyTorch, in a trace and in TorchScript. Every statement is valid for
the shapes that it meets, which are tracked while the program is drawn.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

Shape = tuple[int, ...]
Choose = Callable[[int], int]  # a number in [0, n)


@dataclasses.dataclass
class Draft:
    """A program being drawn: its lines, and the shape of each name."""

    choose: Choose
    lines: list[str] = dataclasses.field(default_factory=list)
    shapes: dict[str, Shape] = dataclasses.field(default_factory=dict)
    listed: set[str] = dataclasses.field(default_factory=set)  # names that a list held, or that came from one
    expanded: set[str] = dataclasses.field(default_factory=set)  # names whose elements may overlap
    count: int = 0

    def pick(self, options: list[str]) -> str:
        return options[self.choose(len(options))]

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def write(self, line: str, depth: int) -> None:
        self.lines.append("    " * depth + line)


def draw(choose: Choose, *, statements: int, control: bool) -> str:
    """The source of a random function `f(x, y)` of two 3 x 4 tensors.

    `control` allows ifs and loops that depend on values, which a trace can't record.
    """
    draft = Draft(choose)
    draft.shapes = {"x": (3, 4), "y": (3, 4)}
    draft.write("def f(x, y):", 0)
    draft.write("a = x.clone()", 1)
    draft.write("b = y * 2", 1)
    draft.shapes |= {"a": (3, 4), "b": (3, 4)}
    for _ in range(statements):
        statement(draft, 1, control)
    names = list(draft.shapes)
    draft.write(f"return {', '.join(names)}", 1)
    return "\n".join(draft.lines) + "\n"


def statement(draft: Draft, depth: int, control: bool) -> None:
    kind = draft.choose(13 if control and depth < 3 else 9)
    if kind == 12:
        pick(draft, depth)
    elif kind < 3:
        view(draft, depth)
    elif kind < 7:
        mutate(draft, depth)
    elif kind < 9:
        read(draft, depth)
    elif kind < 11:
        branch(draft, depth)
    else:
        loop(draft, depth)


def view(draft: Draft, depth: int) -> None:
    """A new name for a view of another."""
    base = draft.pick(list(draft.shapes))
    shape = draft.shapes[base]
    fixed = base in draft.listed or base[0] != "v"
    if depth == 1 and not fixed and len(shape) in (1, 2) and draft.choose(3) == 0:
        reshape(draft, base)
        return
    options: list[tuple[str, Shape]] = []
    for axis, size in enumerate(shape):
        rest = (*shape[:axis], *shape[axis + 1 :])
        if size > 1:
            cut = draft.choose(size - 1) + 1
            options.append((f"{base}.select({axis}, {draft.choose(size)})", rest))
            options.append((f"{base}.narrow({axis}, {size - cut}, {cut})", (*shape[:axis], cut, *shape[axis + 1 :])))
            stepped = len(range(0, size, 2))
            slices = ", ".join([":"] * axis + ["::2"])
            options.append((f"{base}[{slices}]", (*shape[:axis], stepped, *shape[axis + 1 :])))
            options.append((f"{base}.unbind({axis})[{draft.choose(size)}]", rest))
            options.append((f"{base}.split(1, {axis})[0]", (*shape[:axis], 1, *shape[axis + 1 :])))
        if size == 1:
            options.append((f"{base}.squeeze({axis})", rest))
    if len(shape) == 2:
        options.append((f"{base}.t()", shape[::-1]))
        options.append((f"{base}.diagonal()", (min(shape),)))
    if len(shape) >= 2:
        options.append((f"{base}.transpose(0, -1)", (shape[-1], *shape[1:-1], shape[0])))
    if len(shape) < 3:
        options.append((f"{base}.unsqueeze(0)", (1, *shape)))
    if len(shape) == 1 and shape[0] > 1:
        options.append((f"{base}.unfold(0, 2, 2)", (shape[0] // 2, 2)))
    if base in ("a", "b"):
        options.append((f"{base}.view(2, 6)", (2, 6)))
        options.append((f"{base}.view(-1)", (12,)))
        options.append((f"{base}.reshape(4, 3)", (4, 3)))
        options.append((f"{base}.chunk(2, 1)[1]", (3, 2)))
    source, made = options[draft.choose(len(options))]
    name = draft.name()
    draft.write(f"{name} = {source}", depth)
    draft.shapes[name] = made


def reshape(draft: Draft, name: str) -> None:
    """Another shape for a name in place: a view of what it was."""
    shape = draft.shapes[name]
    options = [(f"{name}.unsqueeze_(0)", (1, *shape)), (f"{name}.t_()", shape[::-1])]
    options += [(f"{name}.squeeze_(0)", shape[1:])] if shape[0] == 1 else []
    options += [(f"{name}.transpose_(0, 1)", shape[::-1])] if len(shape) == 2 else []
    line, draft.shapes[name] = options[draft.choose(len(options))]
    draft.write(line, 1)


def pick(draft: Draft, depth: int) -> None:
    """A new name for one of two names, by a value."""
    one = draft.pick(list(draft.shapes))
    other = draft.pick([n for n, shape in draft.shapes.items() if shape == draft.shapes[one]])
    source = draft.pick(list(draft.shapes))
    name = draft.name()
    draft.write(f"{name} = [{one}, {other}][int(({source} > 0).sum()) % 2]", depth)
    draft.shapes[name] = draft.shapes[one]
    draft.listed |= {one, other, name}


def operand(draft: Draft, shape: Shape) -> str:
    """Something that broadcasts to a shape: another name, a copy, a number."""
    fitting = [n for n, s in draft.shapes.items() if s == shape]
    choice = draft.choose(4)
    if choice == 0 or not fitting:
        return str(draft.choose(5) / 2 + 0.5)
    other = fitting[draft.choose(len(fitting))]
    return f"{other}.clone()"  # memory that overlaps partly is undefined in PyTorch


def mutate(draft: Draft, depth: int) -> None:
    """A write to a name."""
    target = draft.pick([n for n in draft.shapes if n not in draft.expanded])
    shape = draft.shapes[target]
    value = operand(draft, shape)
    forms = [
        f"{target}.add_({value})",
        f"{target}.mul_({value})",
        f"{target} += {value}" if depth == 1 else f"{target}.sub_({value})",
        f"{target}.relu_()",
        f"{target}.zero_()",
        f"{target}.fill_({draft.choose(4)})",
        f"{target}.clamp_(-2, 2)",
        f"{target}.copy_(torch.tanh({value if value[-1] == ')' else target}))",
        f"{target}.masked_fill_({target} > 1, 0.25)",
        f"{target}[{target} < -1] = 0.5" if shape else f"{target}.neg_()",
        f"torch.sin({target}.clone(), out={target})",
    ]
    if shape and shape[0] > 1:
        forms.append(f"{target}[{draft.choose(shape[0])}] = {draft.choose(4)}.5")
        forms.append(f"{target}[1:] *= 2")
        forms.append(f"{target}.index_fill_(0, torch.tensor([{draft.choose(shape[0])}]), 1.5)")
        forms.append(f"{target}[torch.tensor([0, {shape[0] - 1}])] = -1.0")
    draft.write(draft.pick(forms), depth)


def read(draft: Draft, depth: int) -> None:
    """A new tensor from others, or a name for another value."""
    source = draft.pick(list(draft.shapes))
    name = draft.name()
    form = draft.choose(4)
    if form == 0:
        draft.write(f"{name} = {source} * 2 - 1", depth)
    elif form == 1:
        draft.write(f"{name} = torch.tanh({source})", depth)
    elif form == 2:
        draft.write(f"{name} = {source}.clone()", depth)
    else:
        draft.write(f"{name} = {source} + {operand(draft, draft.shapes[source])}", depth)
    draft.shapes[name] = draft.shapes[source]


def branch(draft: Draft, depth: int) -> None:
    """An if on values: what is new inside isn't seen outside."""
    outer = dict(draft.shapes)
    source = draft.pick(list(draft.shapes))
    draft.write(f"if bool({source}.sum() > {draft.choose(3) - 1}):", depth)
    block(draft, depth + 1, outer)
    if draft.choose(2):
        draft.write("else:", depth)
        block(draft, depth + 1, outer)


def loop(draft: Draft, depth: int) -> None:
    """A loop whose count depends on values."""
    outer = dict(draft.shapes)
    source = draft.pick(list(draft.shapes))
    draft.write(f"for i{depth} in range(int(({source} > 0).sum()) % 3):", depth)
    block(draft, depth + 1, outer)


def block(draft: Draft, depth: int, outer: dict[str, Shape]) -> None:
    for _ in range(1 + draft.choose(3)):
        statement(draft, depth, True)
    if draft.choose(3) == 0:  # another value for an older name
        name = draft.pick([n for n in outer if n not in ("x", "y")])
        draft.write(f"{name} = {name} * 0.5", depth)
    draft.shapes = dict(outer)
