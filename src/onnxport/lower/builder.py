"""Builds the ONNX graph: `g.op("Add", a, b)` and the words of `emit.py` on top of it.

Each pure node exists once in its scope (hash-consing); an op whose inputs are all known is computed at
export instead (`fold`); types that the runtime has no kernel for are cast around (`kernels`). Nothing else
in the package makes nodes.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
import torch

from .. import dims as sizes
from ..dims import Dim, Size
from ..dtypes import from_onnx, real_of, to_numpy, to_onnx
from ..errors import LoweringError, OpsetError
from . import fold, kernels, shapes
from .complex import join, of_real
from .emit import Emitter
from .emit.chains import Move
from .emit.creation import FULL_LIMIT
from .facts import Claims
from .pairs import on_pairs
from .scope import Scope, SizeSource
from .values import Array, Scalar, Tensor

# Two equal nodes of these are two different results.
IMPURE = frozenset(
    {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli", "Dropout"}
)
# Above this many bytes a computed constant isn't kept in place of the op that makes it, unless it is no
# larger than what it is made of: an expanded constant must not blow up the file.
FOLD_LIMIT = 1 << 16

_LONG = 400  # characters of a size


class Builder(Emitter):
    """The graph being built, at one opset.

    Attributes:
        opset: version of the default domain.
        fold_weights: whether ops on weights alone are computed at export.
        training: whether the model is exported to be trained further.
        by_call: whether equal nodes of different module calls stay two, so that calls can become functions.
        fed: names of weights that are inputs of the exported model: their content is not known.
        origin: the program node being lowered, kept for each ONNX node made.
    """

    def __init__(self, opset: int, *, fold_weights: bool = True, training: bool = False) -> None:
        self.opset = opset
        self.fold_weights = fold_weights
        self.training = training
        self.root = self.scope = Scope()
        self.domains: dict[str, int] = {"": opset}
        self.by_call = False
        self.fed: set[str] = set()
        self.initializers: dict[Any, Tensor] = {}
        self.origin: Any = None
        self.origins: dict[ir.Node, Any] = {}
        self.by_symbolics: set[Any] = set()  # what symbolic functions made ONNX operators of
        self.squeezed: dict[ir.Value, Any] = {}  # see ranks
        self.made: list[Tensor] = []  # outputs of nodes, whose types are written down at the end
        self.ratios: dict[ir.Value, tuple[Size, int]] = {}
        self.layouts: dict[ir.Value, Move] = {}
        self.counts: dict[ir.Value, Size] = {}
        self.claims = Claims()
        self._symbols: dict[str, int] = {}  # and how many are older
        self._tensors: dict[ir.Value, Tensor] = {}  # see tensor_of
        self._indexed = 0

    # -- nodes ------------------------------------------------------------------------------------

    def node(
        self, op_type: str, inputs: list[Any], attributes: dict[str, Any], outputs: int, domain: str = ""
    ) -> tuple[Tensor, ...]:
        if not domain:
            if any([x is not None and x.dtype.is_complex for x in inputs]):
                return on_pairs(self, op_type, inputs, attributes, outputs)
            if op_type not in IMPURE:
                folded = self._fold(op_type, inputs, attributes, outputs)
                if folded is not None:
                    return folded
                same = fold.unchanged(op_type, inputs) if op_type in fold.NEUTRAL else None
                if same is not None:
                    return (same,)
            name = kernels.named(op_type, attributes)
            dtypes = tuple([None if x is None else x.dtype for x in inputs])
            wide = kernels.widened(name, self.opset, dtypes)
            if wide is not None:
                return self._through(wide, name, op_type, inputs, attributes, outputs)
        return self._make(op_type, inputs, attributes, outputs, domain)

    def _make(
        self, op_type: str, inputs: list[Any], attributes: dict[str, Any], outputs: int, domain: str
    ) -> tuple[Tensor, ...]:
        values = [None if x is None else self.value(x) for x in inputs]
        key = None
        if op_type not in IMPURE:
            items = tuple([(n, _hashable(v)) for n, v in sorted(attributes.items())]) if attributes else ()
            key = (op_type, domain, tuple(map(id, values)), items, outputs, self._call() if self.by_call else None)
            found = self.scope.find(key)
            if found is not None:
                return found
        facts = shapes.infer(op_type, inputs, attributes, self.opset, outputs, self.fresh, domain=domain)
        if not domain and any(dtype.is_complex for dtype, _ in facts):
            raise LoweringError(
                "this op has no conversion where complex tensors are involved; compute with real and imaginary part instead"
            )
        node = self.append(op_type, values, attributes, outputs, domain)
        weight = all(x is None or x.from_weight for x in inputs) and bool(inputs)
        results = tuple(
            [Tensor(dtype, dims, value, from_weight=weight) for value, (dtype, dims) in zip(node.outputs, facts)]
        )
        self.made.extend(results)
        for tensor in results:
            self.declare(tensor)
        if key is not None:
            self.scope.table[key] = results
        return results

    def _call(self) -> Any:
        """The module calls around the node being lowered."""
        return getattr(getattr(self.origin, "scope", None), "calls", None)

    def append(
        self,
        op_type: str,
        inputs: Sequence[ir.Value | None],
        attributes: dict[str, Any],
        outputs: int,
        domain: str = "",
    ) -> ir.Node:
        """Append a node as it is: no sharing, no inference. `op` is the usual way."""
        node = ir.Node(domain, op_type, inputs, [_attribute(n, v) for n, v in attributes.items()], num_outputs=outputs)
        if domain:
            self.domains.setdefault(domain, 1)
        self.scope.nodes.append(node)
        if self.origin is not None:
            self.origins[node] = self.origin
        return node

    def _through(
        self,
        wide: tuple[torch.dtype | None, ...],
        name: str,
        op_type: str,
        inputs: list[Any],
        attributes: dict[str, Any],
        outputs: int,
    ) -> tuple[Tensor, ...]:
        """The op in types that the runtime has kernels for, and its outputs cast back."""
        cast = [x if x is None or d is None else self.cast(x, d) for x, d in zip(inputs, wide)]
        results = self._make(op_type, cast, attributes, outputs, "")
        backs = kernels.casts_back(name, self.opset, outputs)
        return tuple(
            [
                r if back is None or inputs[back] is None else self.cast(r, inputs[back].dtype)
                for r, back in zip(results, backs)
            ]
        )

    def _fold(
        self, op_type: str, inputs: list[Any], attributes: dict[str, Any], outputs: int
    ) -> tuple[Tensor, ...] | None:
        """The outputs as known content, if all inputs are known and the op is one that is folded."""
        if not inputs or not all([x is None or x.is_known for x in inputs]):
            return None
        weight = any([x is not None and x.from_weight for x in inputs])
        if weight and not self.fold_weights:
            return None
        arrays = fold.fold(op_type, inputs, attributes, self.opset, outputs, limit=FOLD_LIMIT)
        if arrays is None:
            return None
        results = tuple([self.known(array, dtype, from_weight=weight) for array, dtype in arrays])
        if weight:
            origins = [x for x in inputs if x is not None and x.name is not None]
            for result in results:
                result.name = origins[0].name if origins else None
            if op_type == "Transpose" and inputs[0].source is not None:
                results[0].permuted = (inputs[0], attributes["perm"])
        return results

    def cast(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        if not dtype.is_complex or x.is_complex:
            return super().cast(x, dtype)
        return of_real(self, super().cast(x, real_of(dtype)))

    def full(self, target: Sequence[Size], value: Any, dtype: torch.dtype) -> Tensor:
        count = sizes.product(target) if dtype.is_complex else 0
        if isinstance(count, int) and count <= FULL_LIMIT:
            return super().full(target, value, dtype)
        if isinstance(value, (Tensor, Scalar)):
            raise LoweringError("fills a complex tensor with a number known only at run time; use torch.complex")
        number = complex(value)
        real, imag = (super(Builder, self).full(target, v, real_of(dtype)) for v in (number.real, number.imag))
        return join(self, real, imag, was_real=not number.imag)

    def require(self, opset: int, what: str) -> None:
        """OpsetError unless the opset is at least this one."""
        if self.opset < opset:
            raise OpsetError(
                f"{what} needs opset {opset}, the export is at {self.opset}; try opset_version={opset}", needed=opset
            )

    # -- known content ----------------------------------------------------------------------------

    def known(self, data: Array, dtype: torch.dtype, *, from_weight: bool = False) -> Tensor:
        """A tensor whose content is known: numbers, or ints and `Dim`s in an array of dtype object."""
        return Tensor(dtype, tuple(data.shape), data=data, from_weight=from_weight)

    def const(self, value: Any, dtype: torch.dtype) -> Tensor:
        """A constant of this dtype: a number (0-d), a nested list, or an array."""
        if isinstance(value, Dim):
            return self.cast(self.known(np.array(value, dtype=object), torch.int64), dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            return self.known(np.asarray(value).astype(to_numpy(dtype)), dtype)

    def scalar(self, value: Any, dtype: torch.dtype) -> Tensor:
        """A number, `Dim`, `Scalar` or tensor as a tensor of this dtype (numbers are 0-d)."""
        if isinstance(value, Tensor):
            return self.cast(value, dtype)
        if isinstance(value, Scalar):
            return self.cast(value.tensor, dtype)
        return self.const(value, dtype)

    def ints(self, values: Sequence[Size]) -> Tensor:
        """A 1-d int64 tensor of sizes; becomes nodes only when an op needs it and it isn't constant."""
        if all([isinstance(v, int) for v in values]):
            return self.known(np.array(values, dtype=np.int64), torch.int64)
        data = np.empty(len(values), dtype=object)
        data[:] = values
        return self.known(data, torch.int64)

    def size(self, value: Size) -> Tensor:
        """A size as a 0-d int64 tensor."""
        dtype = np.int64 if isinstance(value, int) else object
        return self.known(np.array(value, dtype=dtype), torch.int64)

    def weight(self, name: str, tensor: torch.Tensor) -> Tensor:
        """A parameter or buffer of the model, under its own name; its memory is never copied."""
        source = None if name in self.fed else tensor
        result = Tensor(tensor.dtype, tuple(tensor.shape), source=source, from_weight=True, name=name)
        result.value = self.value_of(name, tensor.dtype, tuple(tensor.shape))
        self.initializers[name] = result
        return result

    def value(self, tensor: Tensor) -> ir.Value:
        """The ONNX value of a tensor; known content becomes an initializer, or nodes where it has `Dim`s."""
        if tensor.value is not None:
            return tensor.value
        data = tensor.data
        assert data is not None
        if tensor.is_complex and data.dtype != object:  # stored as reals with a trailing axis of 2
            pair = np.stack([data.real, data.imag], -1).astype(to_numpy(real_of(tensor.dtype)))
            tensor.value = self.value(self.known(pair, real_of(tensor.dtype), from_weight=tensor.from_weight))
            return tensor.value
        if data.dtype == object:
            nodes = self.size_nodes(data)
            return self.value(nodes if tensor.dtype == torch.int64 else self.op("Cast", nodes, to=tensor.dtype))
        content = data.tobytes() if data.nbytes <= 1024 else (data.ctypes.data, data.strides)
        found = self.initializers.setdefault((tensor.dtype, data.shape, content), tensor)
        if found.value is None:
            found.value = self.value_of(tensor.name, tensor.dtype, data.shape)
        tensor.value = found.value
        return found.value

    def share_permuted(self) -> None:
        """A weight that is used as it is and permuted is stored once; a node permutes it."""
        for tensor in list(self.initializers.values()):
            if tensor.permuted is None or tensor.value is None or not tensor.value.uses():
                continue
            weight, perm = tensor.permuted
            if weight.value is not None and weight.value.uses():
                node = ir.Node("", "Transpose", [weight.value], [ir.AttrInt64s("perm", perm)], num_outputs=1)
                ir.convenience.replace_all_uses_with(tensor.value, node.outputs[0])
                made = Tensor(tensor.dtype, tensor.dims, node.outputs[0])
                self.made.append(made)
                self.root.nodes.insert(0, node)

    @staticmethod
    def value_of(name: str | None, dtype: torch.dtype, dims: Sequence[Size] | None) -> ir.Value:
        """A new ONNX value of this type."""
        value = ir.Value(name=name, type=ir.TensorType(ir.DataType(to_onnx(dtype))))
        if dims is not None:
            value.shape = ir.Shape([d if isinstance(d, int) else str(d) for d in dims])
        return value

    def tensor_of(self, value: ir.Value) -> Tensor:
        """The tensor whose ONNX value this is."""
        for tensor in self.made[self._indexed :]:
            if tensor.value is not None:
                self._tensors.setdefault(tensor.value, tensor)
        self._indexed = len(self.made)
        if value not in self._tensors:  # an input or a constant: they have their types from the beginning
            for tensor in self.initializers.values():
                if tensor.value is value:
                    return tensor
            dtype = from_onnx(value.dtype.value) if value.dtype is not None else torch.float32
            dims = None if value.shape is None else [d if isinstance(d, int) else self._named(d) for d in value.shape]
            self._tensors[value] = Tensor(dtype, None if dims is None else tuple(dims), value)
        return self._tensors[value]

    def _named(self, dim: ir.SymbolicDim) -> Dim:
        return Dim.symbol(dim.value) if dim.value in self._symbols else self.fresh("size")

    # -- sizes known only at run time -------------------------------------------------------------

    def fresh(self, hint: str, *, minimum: int | None = 0) -> Dim:
        """A symbol for a size or int known only at run time."""
        names = (f"{hint}_{i}" for i in itertools.count())
        name = next(name for name in names if name not in self._symbols)
        return self.symbol(name, minimum=minimum)

    def symbol(self, name: str, *, minimum: int | None = 0) -> Dim:
        self._symbols.setdefault(name, len(self._symbols))
        return Dim.symbol(name, minimum)

    def age(self, name: str) -> int:
        """How many symbols are older than this one."""
        return self._symbols.get(name, -1)

    def declare(self, tensor: Tensor) -> None:
        """Remember that the sizes of this tensor can be read from it, for symbols without a source so far.

        A size that is too long as an expression becomes such a symbol: it would be in each size that is computed from it.
        """
        for axis, dim in enumerate(tensor.dims or ()):
            if not isinstance(dim, int):
                name = str(dim)
                if name[_LONG:]:
                    name = str(dim := self.fresh("size"))
                    tensor.dims = (*tensor.dims[:axis], dim, *tensor.dims[axis + 1 :])  # type: ignore[index]
                if name in self._symbols and self.scope.source(name) is None:
                    self.scope.sizes[name] = SizeSource(tensor, axis)

    def int_of(self, tensor: Tensor, hint: str = "int", *, minimum: int | None = None) -> Size:
        """The content of a one-element integer tensor as an int or `Dim`; it stays live."""
        if tensor.is_known and tensor.data is not None:
            item = tensor.data.reshape(-1)[0]
            return item if isinstance(item, Dim) else int(item)
        tensor = self.cast(tensor, torch.int64)
        found = self.scope.int_of(tensor)
        if found is None:
            found = self.fresh(hint, minimum=minimum)
            self.scope.sizes[str(found)] = SizeSource(tensor, None)
            self.scope.ints[id(tensor)] = (tensor, found)
        return found

    def own_size(self, x: Tensor, axis: int) -> Size:
        """The size of an axis; as a symbol of its own, read from the tensor, where that is less than to compute it.

        For what uses the tensor in its plain layout anyway: onnxruntime keeps images of convolutions in blocks of
        channels, and must write them out plainly to tell their shape.
        """
        size = x.shape[axis]
        if isinstance(size, int) or x.is_known or self.scope.source(str(size)) is not None:
            return size
        return self.int_of(self._read_size(x, axis), "size", minimum=0)

    def size_nodes(self, data: Array) -> Tensor:
        """An array of ints and `Dim`s as nodes."""
        flat = list(data.reshape(-1))
        if data.ndim == 0 and isinstance(flat[0], Dim):
            found = self.scope.source(str(flat[0]))  # an int read from a 0-d tensor is that tensor
            if found is not None and found[0].axis is None and found[0].tensor.dims == ():
                return found[0].tensor
        run = self._whole_shape(flat)
        if run is None:
            pieces: list[Tensor] = []
            for plain, group in itertools.groupby(flat, key=lambda v: isinstance(v, (int, np.integer))):
                members = list(group)
                pieces += [self.ints([int(v) for v in members])] if plain else [self.size_vector(v) for v in members]
            run = pieces[0] if len(pieces) == 1 else self.op("Concat", *pieces, axis=0)
        assert run is not None
        return run if data.ndim == 1 else self.reshape(run, list(data.shape))

    def _whole_shape(self, flat: list[Any]) -> Tensor | None:
        """Neighbouring axes of one tensor in order are one Shape."""
        if len(flat) < 2:
            return None
        found = self.scope.source(str(flat[0]))
        if found is None or found[0].axis is None:
            return None
        source, axis = found[0].tensor, found[0].axis
        whole = source.dims is not None and tuple(flat) == source.dims[axis : axis + len(flat)]
        all_axes = axis == 0 and len(flat) == source.rank and not source.is_complex  # which has an axis of parts
        if not whole or (self.opset < 15 and not all_axes):
            return None
        if all_axes:
            return self._make("Shape", [source], {}, 1, "")[0]
        return self._make("Shape", [source], {"start": axis, "end": axis + len(flat)}, 1, "")[0]

    def shape_of(self, x: Tensor) -> Tensor:
        """The sizes of a tensor as nodes; of another one with the same sizes, if it was asked for before."""
        found = self.scope.find(("shape of", x.shape))
        if found is None:
            found = self.scope.table["shape of", x.shape] = self._make("Shape", [x], {}, 1, "")
        return found[0]

    def size_vector(self, size: Size) -> Tensor:
        """A size as a one-element int64 vector made by nodes, in the outermost scope that has its sources; a quotient by what
        may be 0 stays behind the `if` that may have asked for that."""
        if isinstance(size, int):
            return self.ints([size])
        scopes = [self.scope.source(name) for name in sizes.free_symbols(size)]
        if None in scopes:
            missing = [n for n in sizes.free_symbols(size) if self.scope.source(n) is None]
            raise LoweringError(f"the size {size} can't be read at run time: nothing here has {', '.join(missing)}")
        deepest = max((found[1] for found in scopes if found), key=lambda scope: scope.depth, default=self.root)
        stays = deepest is not self.scope and _may_divide_by_zero(size)
        with self.within(self.scope if stays else deepest):
            return self._polynomial(size)

    def _polynomial(self, size: Size) -> Tensor:
        total: Tensor | None = None
        constant = 0
        for coefficient, powers in sizes.terms(size):
            factors = [self._atom(atom) for atom, power in powers for _ in range(power)]
            if not factors:
                constant = coefficient
                continue
            term = factors[0]
            for factor in factors[1:]:
                term = self.op("Mul", term, factor)
            if abs(coefficient) != 1:
                term = self.op("Mul", term, self.ints([abs(coefficient)]))
            if total is None:
                total = term if coefficient > 0 else self.op("Neg", term)
            else:
                total = self.op("Add" if coefficient > 0 else "Sub", total, term)
        assert total is not None
        return self.op("Add", total, self.ints([constant])) if constant else total

    def _atom(self, atom: sizes.Atom) -> Tensor:
        if atom.kind == "symbol":
            return self._symbol(atom.name)
        parts = [self.size_vector(arg) for arg in atom.args]
        if atom.kind in ("floordiv", "mod"):
            numerator, divisor = atom.args
            positive = sizes.known_ge(numerator, 0) is True and sizes.known_ge(divisor, 0) is True
            return self.floor_divmod(parts[0], parts[1], truncates=positive)[0 if atom.kind == "floordiv" else 1]
        result = parts[0]
        for part in parts[1:]:
            if atom.kind == "broadcast":
                result = self.where(self.op("Equal", result, self.ints([1])), part, result)
            else:
                result = self.extremum("Min" if atom.kind == "min" else "Max", result, part)
        return result

    def _symbol(self, name: str) -> Tensor:
        found = self.scope.source(name)
        assert found is not None
        source, scope = found
        with self.within(scope):
            tensor = source.tensor
            if source.axis is None:
                return tensor if tensor.rank == 1 else self.reshape(tensor, [1])
            return self._read_size(tensor, source.axis)

    def _read_size(self, x: Tensor, axis: int) -> Tensor:
        """The size of an axis as a vector of one element."""
        if self.opset >= 15:
            return self._make("Shape", [x], {} if x.rank == 1 else {"start": axis, "end": axis + 1}, 1, "")[0]
        shape = self._make("Shape", [x], {}, 1, "")[0]
        return shape if x.rank == 1 else self._make("Gather", [shape, self.ints([axis])], {"axis": 0}, 1, "")[0]

    # -- bodies -----------------------------------------------------------------------------------

    @contextlib.contextmanager
    def within(self, scope: Scope) -> Iterator[None]:
        """Append to another scope for a while."""
        before, self.scope = self.scope, scope
        try:
            yield
        finally:
            self.scope = before

    @contextlib.contextmanager
    def body(self) -> Iterator[Scope]:
        """A scope for the body of an If or Loop, inside the present one."""
        scope = Scope(self.scope)
        with self.within(scope):
            yield scope


def _may_divide_by_zero(size: Size) -> bool:
    atoms = [atom for _, powers in sizes.terms(size) for atom, _ in powers]
    return any(
        (atom.kind in ("floordiv", "mod") and not sizes.known_ge(atom.args[1], 1))
        or any(map(_may_divide_by_zero, atom.args))
        for atom in atoms
    )


def _hashable(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, np.ndarray):
        return (str(value.dtype), value.shape, value.tobytes())
    if isinstance(value, torch.Tensor):
        return id(value)
    if isinstance(value, float):
        return (value, str(value))  # 0.0 and -0.0 are equal to Python, but not the same
    return id(value) if isinstance(value, ir.Graph) else value


def _attribute(name: str, value: Any) -> ir.Attr:
    if isinstance(value, np.ndarray):
        return ir.AttrTensor(name, ir.tensor(value))
    if isinstance(value, torch.Tensor):
        return ir.AttrTensor(name, ir.tensor(value.detach().cpu()))
    if isinstance(value, (bool, int, np.integer)):
        return ir.AttrInt64(name, int(value))
    if isinstance(value, list) and all([isinstance(v, (int, np.integer)) for v in value]):
        return ir.AttrInt64s(name, [int(v) for v in value])
    if isinstance(value, list) and all([isinstance(v, (int, float)) for v in value]):
        return ir.AttrFloat32s(name, value)
    if isinstance(value, (float, np.floating)):
        return ir.AttrFloat32(name, float(value))
    if isinstance(value, Dim):
        raise LoweringError(
            f"the ONNX attribute {name!r} must be a constant, but is {value}, which depends on the inputs' sizes"
        )
    if isinstance(value, str):
        return ir.AttrString(name, value)
    if isinstance(value, ir.Graph):
        return ir.AttrGraph(name, value)
    if isinstance(value, list) and all([isinstance(v, str) for v in value]):
        return ir.AttrStrings(name, value)
    if isinstance(value, (list, tuple)) and any(isinstance(x, Dim) for x in value):
        raise LoweringError(
            f"the ONNX attribute {name!r} must be constant, but is [{', '.join(map(str, value))}], which depends on the "
            "inputs' sizes; compute it from sizes that aren't dynamic, or make it an option of the model"
        )
    raise LoweringError(f"the ONNX attribute {name!r} can't be {value!r}")
