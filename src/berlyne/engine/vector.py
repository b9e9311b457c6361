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

from berlyne.engine.compile import CHECKING, COMPILING, inlined

LANES = 4
"""Doubles in one value."""

_FOUR = ir.VectorType(ir.DoubleType(), LANES)
_I32 = ir.IntType(32)
_CONTRACT = ("contract",)
_tools: Any = cgutils
_tuple_of: Any = types.UniTuple


class _Four(types.Type):
    def __init__(self) -> None:
        super().__init__("four doubles")


FOUR = _Four()


@register_model(_Four)
class _FourModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _FOUR)  # type: ignore[no-untyped-call]


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


def _primitive(result: Callable[..., Any], write: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Compile calls of a plain function to what `write(builder, *arguments)` writes; `result` is its type by theirs."""

    def decorate(plain: Callable[..., Any]) -> Any:
        def typed(typingctx: Any, *kinds: Any) -> Any:
            def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
                pairs = zip(sig.args, args, strict=True)
                written = write(builder, *(_taken_apart(context, builder, kind, value) for kind, value in pairs))
                if isinstance(written, list):
                    return context.make_tuple(builder, sig.return_type, written)
                return context.get_dummy_value() if sig.return_type == types.void else written

            return result(*kinds)(*map(_given, kinds)), generate

        first = inspect.Parameter("typingctx", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        own = inspect.signature(plain).parameters.values()
        typed.__signature__ = inspect.Signature([first, *own])  # type: ignore[attr-defined]
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

        each.__signature__ = inspect.signature(plain)  # type: ignore[attr-defined]
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


@_each(_splat)
def four(x: float) -> Any:
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
def larger(x: Any, y: Any) -> Any:
    """The larger of two, number by number."""
    return np.where(x > y, x, y)


@_each(_select("<"))
def smaller(x: Any, y: Any) -> Any:
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


@_primitive(lambda array, i: array.dtype if isinstance(array.dtype, types.Float) else types.int64, _item)
def item(array: Any, index: int) -> Any:
    """`array[index]` for an index of at least 0, without the question whether it is."""
    return array[index]


@_primitive(lambda array, i: FOUR, _load)
def load(array: Any, index: int) -> Any:
    """`array[index : index + 4]`."""
    return np.array(array[index : index + LANES])


@_primitive(lambda array, places, i: _tuple_of(FOUR, places.count), _gather)
def gather(array: Any, places: tuple[int, ...], index: int) -> Any:
    """A bundle of `array[place + index : place + index + 4]` for every place."""
    return tuple(np.array(array[place + index : place + index + LANES]) for place in places)


@_primitive(lambda array, places, i, bundle: types.void, _scatter)
def scatter(array: Any, places: tuple[int, ...], index: int, bundle: Any) -> None:
    """The inverse of `gather`."""
    for place, part in zip(places, bundle, strict=True):
        array[place + index : place + index + LANES] = part


@_primitive(lambda sums, array, i, xs: sums, _add_outer)
def add_outer(sums: Any, array: Any, index: int, xs: Any) -> Any:
    """Adds `array[index + k] xs[j]` to number `k len(xs) + j` of the bundle `sums`."""
    return tuple(total + array[index + i // len(xs)] * xs[i % len(xs)] for i, total in enumerate(sums))


if CHECKING:  # NUMBA_BOUNDSCHECK is set: these look where they read and write, too

    def _look(array: Any, first: int, n: int) -> None:
        if first < 0 or first + n > len(array):
            raise IndexError("a kernel left its array")

    def _look_everywhere(array: Any, places: tuple[int, ...], index: int) -> None:
        for place in places:
            look(array, place + index, LANES)

    look = inlined(_look)
    look_everywhere = inlined(_look_everywhere)
    _blind_item, _blind_load, _blind_gather, _blind_scatter, _blind_outer = item, load, gather, scatter, add_outer

    @inlined
    def item(array: Any, index: int) -> Any:  # noqa: D103 - as above
        look(array, index, 1)
        return _blind_item(array, index)

    @inlined
    def load(array: Any, index: int) -> Any:  # noqa: D103
        look(array, index, LANES)
        return _blind_load(array, index)

    @inlined
    def gather(array: Any, places: tuple[int, ...], index: int) -> Any:  # noqa: D103
        look_everywhere(array, places, index)
        return _blind_gather(array, places, index)

    @inlined
    def scatter(array: Any, places: tuple[int, ...], index: int, bundle: Any) -> None:  # noqa: D103
        look_everywhere(array, places, index)
        _blind_scatter(array, places, index, bundle)

    @inlined
    def add_outer(sums: Any, array: Any, index: int, xs: Any) -> Any:  # noqa: D103
        look(array, index, len(sums) // len(xs))
        return _blind_outer(sums, array, index, xs)

    _looking = (item, _blind_item), (load, _blind_load), (gather, _blind_gather), (scatter, _blind_scatter)
    for _sees, _blind in (*_looking, (add_outer, _blind_outer)):
        _sees.plain = _blind.plain
