"""Four doubles at a time.

Numba leaves sums over actions, or over several problems at once, scalar and in memory. The functions here give kernels
a value of four doubles, which a machine keeps in one register (or two narrower ones), and loops around them stay
Python. Each is a plain function, which runs where compilation is off, and beside it the straight-line LLVM code of
the same.

A *bundle* is a tuple of such values. Functions of values do the same with each of a bundle; a single value stands for
as many of it as there are in the others.
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
"""Doubles in one value."""
LINE = 8
"""Doubles in one line of the cache."""

_FOUR = ir.VectorType(ir.DoubleType(), LANES)
_I32 = ir.IntType(32)
_CONTRACT = ("contract",)
_tools: Any = cgutils
_tuple_of: Any = types.UniTuple


def aligned_zeros(n: int) -> FloatArray:
    """So many zeros, which begin where a line of the cache does: no four of them, taken in fours, lie across two."""
    room = np.zeros(n + LINE)
    first = -(room.__array_interface__["data"][0] // room.itemsize) % LINE
    return room[first : first + n]


def aligned_copies(*arrays: FloatArray) -> list[FloatArray]:
    """Copies that begin so, in one piece: to ask where memory begins takes longer than to copy some hundred numbers."""
    copies, first = [], 0
    room = aligned_zeros(sum(len(values) + LINE for values in arrays))
    for values in arrays:
        copies.append(room[first : first + len(values)])
        copies[-1][:] = values
        first += -(-len(values) // LINE) * LINE
    return copies


class _Four(types.Type):
    def __init__(self) -> None:
        super().__init__("four doubles")


FOUR = _Four()


@register_model(_Four)
class _FourModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _FOUR)  # type: ignore[no-untyped-call]  # Numba has no types


def _given(kind: Any) -> Any:
    """The type that an argument is converted to: whole numbers to 64 bits, other numbers to doubles."""
    if isinstance(kind, types.UniTuple):
        return _tuple_of(_given(kind.dtype), kind.count)
    return types.int64 if isinstance(kind, types.Integer) else types.float64 if kind in types.number_domain else kind


def _taken_apart(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """A pointer for an array, a list for a tuple, and anything else as it is."""
    if isinstance(kind, types.Array):
        return context.make_array(kind)(context, builder, value).data
    return _tools.unpack_tuple(builder, value) if isinstance(kind, types.UniTuple) else value


def _look(context: Any, builder: Any, size: Any, pieces: list[tuple[Any, int]]) -> None:
    """Stop a kernel that is about to leave an array of that size: pieces are `first : first + n`."""
    for first, n in pieces:
        last = builder.sub(size, ir.Constant(size.type, n))
        outside = builder.icmp_signed("<", first, ir.Constant(first.type, 0))
        with builder.if_then(builder.or_(outside, builder.icmp_signed(">", first, last))):
            context.call_conv.return_user_exc(builder, IndexError, ("a kernel left its array",))


def _primitive(
    result: Callable[..., Any], write: Callable[..., Any], reach: Callable[..., Any] | None = None
) -> Callable[[Callable[..., Any]], Any]:
    """Compile calls of a plain function to what `write(builder, *arguments)` writes; `result` is its type by theirs.

    `reach(builder, *arguments)` lists the pieces of its array that are touched: with NUMBA_BOUNDSCHECK set they are
    looked at.
    """

    def decorate(plain: Callable[..., Any]) -> Any:
        def typed(typingctx: Any, *kinds: Any) -> Any:
            def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
                pairs = list(zip(sig.args, args, strict=True))
                parts = [_taken_apart(context, builder, kind, value) for kind, value in pairs]
                if CHECKING and reach is not None:
                    kind, value = next(pair for pair in pairs if isinstance(pair[0], types.Array))
                    size = context.make_array(kind)(context, builder, value).nitems
                    _look(context, builder, size, reach(builder, *parts))
                written = write(builder, *parts)
                if isinstance(written, list):
                    return context.make_tuple(builder, sig.return_type, written)
                return context.get_dummy_value() if sig.return_type == types.void else written

            return result(*kinds)(*map(_given, kinds)), generate

        first = inspect.Parameter("typingctx", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        own = inspect.signature(plain).parameters.values()
        typed.__signature__ = inspect.Signature([first, *own])  # type: ignore[attr-defined]  # for Numba to read
        if not COMPILING:
            return plain
        compiled: Any = intrinsic(typed)
        compiled.plain = plain
        return compiled

    return decorate


def _each(write: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """The same for a function of values, which does it with each of a bundle."""

    def spread(function: Callable[..., Any], bundles: tuple[Any, ...]) -> Any:
        n = max((len(b) for b in bundles if isinstance(b, list | tuple)), default=0)
        columns = zip(*(b if isinstance(b, list | tuple) else [b] * max(n, 1) for b in bundles), strict=True)
        found = [function(*column) for column in columns]
        return found if n else found[0]

    def result(*kinds: Any) -> Any:
        n = max(kind.count if isinstance(kind, types.UniTuple) else 0 for kind in kinds)
        return _tuple_of(FOUR, n) if n else FOUR

    def decorate(plain: Callable[..., Any]) -> Any:
        def each(*bundles: Any) -> Any:
            found = spread(plain, bundles)
            return tuple(found) if isinstance(found, list) else found

        each.__signature__ = inspect.signature(plain)  # type: ignore[attr-defined]  # for Numba to read
        return _primitive(result, lambda builder, *bundles: spread(lambda *x: write(builder, *x), bundles))(each)

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


def _gather(builder: Any, data: Any, places: Any, index: Any) -> Any:
    return [_load(builder, data, builder.add(place, index)) for place in places]


def _scatter(builder: Any, data: Any, places: Any, index: Any, bundle: Any) -> None:
    for place, part in zip(places, bundle, strict=True):
        builder.store(part, _pointer(builder, data, builder.add(place, index)), align=LANES * 2)


def _largest(builder: Any, x: Any) -> Any:
    """The larger half first, then the larger of two."""
    larger_of, undefined = _select(">"), ir.Constant(_FOUR, ir.Undefined)
    halves = [ir.Constant(ir.VectorType(_I32, 2), [i, i + 1]) for i in (0, 2)]
    two = larger_of(builder, *(builder.shuffle_vector(x, undefined, half) for half in halves))
    return larger_of(builder, *(builder.extract_element(two, ir.Constant(_I32, i)) for i in (0, 1)))


def _add_outer(builder: Any, sums: Any, data: Any, index: Any, xs: Any) -> Any:
    found = []
    for k in range(len(sums) // len(xs)):
        scalar = _splat(builder, _item(builder, data, builder.add(index, ir.Constant(index.type, k))))
        found += [_multiply_add(builder, sums[k * len(xs) + j], scalar, x) for j, x in enumerate(xs)]
    return found


def _one_there(builder: Any, data: Any, index: Any, *rest: Any) -> list[tuple[Any, int]]:
    return [(index, 1)]


def _four_everywhere(builder: Any, data: Any, places: Any, index: Any, *rest: Any) -> list[tuple[Any, int]]:
    return [(builder.add(place, index), LANES) for place in places]


@_each(_splat)
def splat(x: float) -> Any:
    """Four times a number; a bundle for a tuple of numbers."""
    return np.full(LANES, x)


@_each(_multiply_add)
def multiply_add(total: Any, x: Any, y: Any) -> Any:
    """The sum total + x y."""
    return total + x * y


@_each(lambda builder, x, y: builder.fadd(x, y))
def add(x: Any, y: Any) -> Any:
    """The sum x + y."""
    return x + y


@_each(lambda builder, x, y: builder.fmul(x, y))
def multiply(x: Any, y: Any) -> Any:
    """The product x y."""
    return x * y


@_each(lambda builder, x, y: builder.fdiv(x, y))
def divide(x: Any, y: Any) -> Any:
    """The quotient x / y."""
    return x / y


@_each(_select(">"))
def maximum(x: Any, y: Any) -> Any:
    """The larger of two, number by number."""
    return np.where(x > y, x, y)


@_each(_select("<"))
def minimum(x: Any, y: Any) -> Any:
    """The smaller of two, number by number."""
    return np.where(x < y, x, y)


@_each(_at_least)
def at_least(x: Any, y: Any) -> Any:
    """1 where x >= y, else 0."""
    return np.where(x >= y, 1.0, 0.0)


@_primitive(lambda x: types.float64, _largest)
def largest(x: Any) -> Any:
    """The largest of the four numbers of a value."""
    return float(x.max())


@_primitive(lambda array, i: array.dtype if isinstance(array.dtype, types.Float) else types.int64, _item, _one_there)
def item(array: Any, index: int) -> Any:
    """`array[index]` for an index of at least 0, without the question whether it is."""
    return array[index]


@_primitive(lambda array, i, x: types.void, _set_item, _one_there)
def set_item(array: FloatArray, index: int, number: float) -> None:
    """`array[index] = number` for an index of at least 0, without the question whether it is."""
    array[index] = number


@_primitive(lambda array, i: FOUR, _load, lambda builder, data, index: [(index, LANES)])
def load(array: Any, index: int) -> Any:
    """`array[index : index + 4]`."""
    return np.array(array[index : index + LANES])


@_primitive(lambda array, places, i: _tuple_of(FOUR, places.count), _gather, _four_everywhere)
def gather(array: Any, places: tuple[int, ...], index: int) -> Any:
    """A bundle of `array[place + index : place + index + 4]` for every place."""
    return tuple(np.array(array[place + index : place + index + LANES]) for place in places)


@_primitive(lambda array, places, i, bundle: types.void, _scatter, _four_everywhere)
def scatter(array: Any, places: tuple[int, ...], index: int, bundle: Any) -> None:
    """The inverse of `gather`."""
    for place, part in zip(places, bundle, strict=True):
        array[place + index : place + index + LANES] = part


@_primitive(lambda sums, array, i, xs: sums, _add_outer, lambda _, sums, data, i, xs: [(i, len(sums) // len(xs))])
def add_outer(sums: Any, array: Any, index: int, xs: Any) -> Any:
    """Adds `array[index + k] xs[j]` to number `k len(xs) + j` of the bundle `sums`."""
    return tuple(total + array[index + i // len(xs)] * xs[i % len(xs)] for i, total in enumerate(sums))
