"""Vectors of four doubles for kernels.

Numba does not vectorise sums over actions or over several problems, and keeps them in memory. The functions of this
file give kernels a vector of four doubles, which stays in one register (or in two narrower ones), while loops remain
Python. Each function has a plain form, which runs if compilation is off, and straight-line LLVM code with the same
result.

With plain loops over twelve lanes instead, the inner loops of the tasks take 3 to 8 times as long, because LLVM unrolls
them before it could vectorise them (`benchmarks/lanes.py`).

A *bundle* is a tuple of vectors. Functions of vectors also take bundles, element by element; a single vector is then
repeated.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

from berlyne.engine.jit import CHECKING, COMPILING
from berlyne.validation import FloatArray

LANES = 4
"""Number of doubles in a vector."""
LINE = 8
"""Number of doubles in a cache line."""

_FOUR = ir.VectorType(ir.DoubleType(), LANES)
_I32 = ir.IntType(32)
_CONTRACT = ("contract",)
_tools: Any = cgutils
_tuple_of: Any = types.UniTuple


def aligned_zeros(n: int) -> FloatArray:
    """Array of `n` zeros, aligned to a cache line, so that no group of four crosses a line."""
    buffer = np.zeros(n + LINE)
    first = -(buffer.__array_interface__["data"][0] // buffer.itemsize) % LINE
    return buffer[first : first + n]


class _Four(types.Type):
    def __init__(self) -> None:
        super().__init__("four doubles")


FOUR = _Four()


@register_model(_Four)
class _FourModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _FOUR)  # type: ignore[no-untyped-call]  # Numba has no types


def _argument_type(kind: Any) -> Any:
    """Return the type that an argument is converted to: int64 for integers, float64 for other numbers."""
    if isinstance(kind, types.UniTuple):
        return _tuple_of(_argument_type(kind.dtype), kind.count)
    return types.int64 if isinstance(kind, types.Integer) else types.float64 if kind in types.number_domain else kind


def _unpack(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Return the data pointer of an array, the elements of a tuple as a list, and any other value unchanged."""
    if isinstance(kind, types.Array):
        return context.make_array(kind)(context, builder, value).data
    return _tools.unpack_tuple(builder, value) if isinstance(kind, types.UniTuple) else value


def _check_bounds(context: Any, builder: Any, size: Any, ranges: list[tuple[Any, int]]) -> None:
    """Raise an `IndexError` in the kernel if one of the ranges `first : first + n` leaves an array of this size."""
    for first, n in ranges:
        last = builder.sub(size, ir.Constant(size.type, n))
        outside = builder.icmp_signed("<", first, ir.Constant(first.type, 0))
        with builder.if_then(builder.or_(outside, builder.icmp_signed(">", first, last))):
            context.call_conv.return_user_exc(builder, IndexError, ("index of a kernel is out of bounds",))


def _primitive(
    result: Callable[..., Any], write: Callable[..., Any], touched: Callable[..., Any] | None = None
) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles calls of a plain function to LLVM code.

    Parameters
    ----------
    result : callable
        Return type as a function of the argument types.
    write : callable
        `write(builder, *arguments)` writes the LLVM code and returns its value.
    touched : callable, optional
        `touched(builder, *arguments)` lists the ranges of the array that the call reads or writes. They are checked
        if NUMBA_BOUNDSCHECK is set.
    """

    def decorate(plain: Callable[..., Any]) -> Any:
        def typed(typingctx: Any, *kinds: Any) -> Any:
            def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
                pairs = list(zip(sig.args, args, strict=True))
                parts = [_unpack(context, builder, kind, value) for kind, value in pairs]
                if CHECKING and touched is not None:
                    kind, value = next(pair for pair in pairs if isinstance(pair[0], types.Array))
                    size = context.make_array(kind)(context, builder, value).nitems
                    _check_bounds(context, builder, size, touched(builder, *parts))
                written = write(builder, *parts)
                if isinstance(written, list):
                    return context.make_tuple(builder, sig.return_type, written)
                return context.get_dummy_value() if sig.return_type == types.void else written

            return result(*kinds)(*map(_argument_type, kinds)), generate

        first = inspect.Parameter("typingctx", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters = inspect.signature(plain).parameters.values()
        typed.__signature__ = inspect.Signature([first, *parameters])  # type: ignore[attr-defined]  # for Numba to read
        if not COMPILING:
            return plain
        compiled: Any = intrinsic(typed)
        compiled.plain = plain
        return compiled

    return decorate


def _each(write: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Return such a decorator for a function of vectors, which is applied to each element of a bundle."""

    def apply(function: Callable[..., Any], bundles: tuple[Any, ...]) -> Any:
        n = max((len(b) for b in bundles if isinstance(b, list | tuple)), default=0)
        calls = zip(*(b if isinstance(b, list | tuple) else [b] * max(n, 1) for b in bundles), strict=True)
        results = [function(*column) for column in calls]
        return results if n else results[0]

    def result(*kinds: Any) -> Any:
        n = max(kind.count if isinstance(kind, types.UniTuple) else 0 for kind in kinds)
        return _tuple_of(FOUR, n) if n else FOUR

    def decorate(plain: Callable[..., Any]) -> Any:
        def each(*bundles: Any) -> Any:
            results = apply(plain, bundles)
            return tuple(results) if isinstance(results, list) else results

        each.__signature__ = inspect.signature(plain)  # type: ignore[attr-defined]  # for Numba to read
        return _primitive(result, lambda builder, *bundles: apply(lambda *x: write(builder, *x), bundles))(each)

    return decorate


def _splat(builder: Any, scalar: Any) -> Any:
    vector = builder.insert_element(ir.Constant(_FOUR, ir.Undefined), scalar, ir.Constant(_I32, 0))
    zeros = ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)
    return builder.shuffle_vector(vector, ir.Constant(_FOUR, ir.Undefined), zeros)


def _multiply_add(builder: Any, total: Any, x: Any, y: Any) -> Any:
    return builder.fadd(total, builder.fmul(x, y, flags=_CONTRACT), flags=_CONTRACT)


def _select(sign: str) -> Callable[..., Any]:
    return lambda builder, x, y: builder.select(builder.fcmp_ordered(sign, x, y), x, y)


def _at_least(builder: Any, x: Any, y: Any) -> Any:
    one, zero = (ir.Constant(_FOUR, [number] * LANES) for number in (1.0, 0.0))
    return builder.select(builder.fcmp_ordered(">=", x, y), one, zero)


def _item(builder: Any, data: Any, index: Any) -> Any:
    value = builder.load(builder.gep(data, [index]))
    return builder.sext(value, ir.IntType(64)) if value.type == _I32 else value


def _set_item(builder: Any, data: Any, index: Any, number: Any) -> None:
    builder.store(number, builder.gep(data, [index]))


def _pointer(builder: Any, data: Any, index: Any) -> Any:
    return builder.bitcast(builder.gep(data, [index]), _FOUR.as_pointer())


def _load(builder: Any, data: Any, index: Any) -> Any:
    return builder.load(_pointer(builder, data, index), align=LANES * 2)


def _gather(builder: Any, data: Any, offsets: Any, index: Any) -> Any:
    return [_load(builder, data, builder.add(offset, index)) for offset in offsets]


def _scatter(builder: Any, data: Any, offsets: Any, index: Any, bundle: Any) -> None:
    for offset, part in zip(offsets, bundle, strict=True):
        builder.store(part, _pointer(builder, data, builder.add(offset, index)), align=LANES * 2)


def _largest(builder: Any, x: Any) -> Any:
    """Write code for the maximum of two halves, then of two numbers."""
    larger_of, undefined = _select(">"), ir.Constant(_FOUR, ir.Undefined)
    halves = [ir.Constant(ir.VectorType(_I32, 2), [i, i + 1]) for i in (0, 2)]
    two = larger_of(builder, *(builder.shuffle_vector(x, undefined, half) for half in halves))
    return larger_of(builder, *(builder.extract_element(two, ir.Constant(_I32, i)) for i in (0, 1)))


def _add_outer(builder: Any, sums: Any, data: Any, index: Any, xs: Any) -> Any:
    results = []
    for k in range(len(sums) // len(xs)):
        scalar = _splat(builder, _item(builder, data, builder.add(index, ir.Constant(index.type, k))))
        results += [_multiply_add(builder, sums[k * len(xs) + j], scalar, x) for j, x in enumerate(xs)]
    return results


def _one_element(builder: Any, data: Any, index: Any, *others: Any) -> list[tuple[Any, int]]:
    return [(index, 1)]


def _four_elements(builder: Any, data: Any, offsets: Any, index: Any, *others: Any) -> list[tuple[Any, int]]:
    return [(builder.add(offset, index), LANES) for offset in offsets]


@_each(_splat)
def splat(x: float) -> Any:
    """Vector with four copies of a number; a bundle for a tuple of numbers."""
    return np.full(LANES, x)


@_each(_multiply_add)
def multiply_add(total: Any, x: Any, y: Any) -> Any:
    """Return total + x y."""
    return total + x * y


@_each(lambda builder, x, y: builder.fadd(x, y))
def add(x: Any, y: Any) -> Any:
    """Return x + y."""
    return x + y


@_each(lambda builder, x, y: builder.fmul(x, y))
def multiply(x: Any, y: Any) -> Any:
    """Return x y."""
    return x * y


@_each(lambda builder, x, y: builder.fdiv(x, y))
def divide(x: Any, y: Any) -> Any:
    """Return x / y."""
    return x / y


@_each(_select(">"))
def maximum(x: Any, y: Any) -> Any:
    """Elementwise maximum."""
    return np.where(x > y, x, y)


@_each(_select("<"))
def minimum(x: Any, y: Any) -> Any:
    """Elementwise minimum."""
    return np.where(x < y, x, y)


@_each(_at_least)
def at_least(x: Any, y: Any) -> Any:
    """Elementwise 1 if x >= y, else 0."""
    return np.where(x >= y, 1.0, 0.0)


@_primitive(lambda x: types.float64, _largest)
def largest(x: Any) -> Any:
    """Largest of the four numbers of a vector."""
    return float(x.max())


@_primitive(lambda array, i: array.dtype if isinstance(array.dtype, types.Float) else types.int64, _item, _one_element)
def item(array: Any, index: int) -> Any:
    """Return `array[index]`; the index must not be negative, which is not checked."""
    return array[index]


@_primitive(lambda array, i, x: types.void, _set_item, _one_element)
def set_item(array: FloatArray, index: int, number: float) -> None:
    """Set `array[index] = number`; the index must not be negative, which is not checked."""
    array[index] = number


@_primitive(lambda array, i: FOUR, _load, lambda builder, data, index: [(index, LANES)])
def load(array: Any, index: int) -> Any:
    """Return `array[index : index + 4]` as a vector."""
    return np.array(array[index : index + LANES])


@_primitive(lambda array, offsets, i: _tuple_of(FOUR, offsets.count), _gather, _four_elements)
def gather(array: Any, offsets: tuple[int, ...], index: int) -> Any:
    """Return a bundle of the vectors `array[offset + index : offset + index + 4]`, one per offset."""
    return tuple(np.array(array[offset + index : offset + index + LANES]) for offset in offsets)


@_primitive(lambda array, offsets, i, bundle: types.void, _scatter, _four_elements)
def scatter(array: Any, offsets: tuple[int, ...], index: int, bundle: Any) -> None:
    """Write a bundle to the places that `gather` reads."""
    for offset, part in zip(offsets, bundle, strict=True):
        array[offset + index : offset + index + LANES] = part


@_primitive(lambda sums, array, i, xs: sums, _add_outer, lambda _, sums, data, i, xs: [(i, len(sums) // len(xs))])
def add_outer(sums: Any, array: Any, index: int, xs: Any) -> Any:
    """Return the bundle `sums` with `array[index + k] * xs[j]` added to its vector `k * len(xs) + j`."""
    return tuple(total + array[index + i // len(xs)] * xs[i % len(xs)] for i, total in enumerate(sums))
