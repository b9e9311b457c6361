"""Twelve problems side by side: the few lines that planning for tasks spends its time in.

A world has many targets and many reward structures. Twelve of them are worked on at once, one in
each lane: number l of row i is at `x[12 * i + l]`. Lanes never mix, so the answer to a problem does
not depend on its neighbours. Numba leaves such sums in memory, so they are written as LLVM code
that keeps twelve sums in three vector registers. The functions `_plain_...` say the same in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from berlyne.arrays import FloatArray, IndexArray, IntArray
from berlyne.kernels.compile import COMPILING, inlined

LANES = 12
_FOUR = ir.VectorType(ir.DoubleType(), 4)
_PARTS = range(0, LANES, 4)
_CONTRACT = ("contract",)
_tools: Any = cgutils
_Builder = Callable[..., None]


def _plain_weighted(width: int) -> Any:
    """out[a : a + width] = sum of weight[k, a] x[succ[k]] over slots k, the same weights in every lane."""

    def plain(
        out: FloatArray, a: int, succ: IndexArray, weight: FloatArray, x: FloatArray, first: int, last: int, stride: int
    ) -> None:
        for b in range(a, a + width):
            for lane in range(LANES):
                each = (weight[k * stride + b] * x[succ[k] * LANES + lane] for k in range(first, last))
                out[b * LANES + lane] = sum(each)

    return plain


def _plain_mixed(
    out: FloatArray, o: int, base: FloatArray, succ: IndexArray, weight: FloatArray, x: FloatArray, first: int,
    last: int,
) -> None:  # fmt: skip
    """out[o] = base[o] + sum of weight[k] x[succ[k]] over slots k, each lane with a weight of its own."""
    for lane in range(LANES):
        each = (weight[k * LANES + lane] * x[succ[k] * LANES + lane] for k in range(first, last))
        out[o * LANES + lane] = base[o * LANES + lane] + sum(each)


def _plain_add_product(out: FloatArray, o: int, x: FloatArray, i: int, y: FloatArray, j: int) -> None:
    """out[o] += x[i] y[j], lane by lane."""
    for lane in range(LANES):
        out[o * LANES + lane] += x[i * LANES + lane] * y[j * LANES + lane]


def _plain_scatter(p: FloatArray, e: int, to: IntArray, f: int, begin: int, end: int) -> None:
    """p[to[f + r - begin]] += p[e] p[r] for r from begin to end, lane by lane."""
    for r in range(begin, end):
        _plain_add_product(p, to[f + r - begin], p, e, p, r)


def _plain_value_of_best(
    q: FloatArray, real: FloatArray, n_actions: int, lowest: bool, tie: float, s: int, best: FloatArray,
    value: FloatArray,
) -> None:  # fmt: skip
    """best[s] = the largest q[a], and value[s] = the mean of real[a] over the actions tied for it, or the lowest."""
    for lane in range(LANES):
        mine = q[lane : n_actions * LANES : LANES]
        largest = mine.max()
        tied = (mine >= largest - tie * max(1.0, abs(largest))).nonzero()[0]
        kept = tied[:1] if lowest else tied
        best[s * LANES + lane] = largest
        value[s * LANES + lane] = real[lane : n_actions * LANES : LANES][kept].sum() / len(kept)


def _at(builder: Any, data: Any, row: Any, part: int) -> Any:
    """Pointer to four lanes of a row, from lane `part`."""
    index = builder.mul(row, ir.Constant(row.type, LANES))
    pointer = builder.gep(data, [builder.add(index, ir.Constant(row.type, part))])
    return builder.bitcast(pointer, _FOUR.as_pointer())


def _load(builder: Any, data: Any, row: Any, part: int) -> Any:
    vector = builder.load(_at(builder, data, row, part))
    vector.align = 8
    return vector


def _splat(builder: Any, scalar: Any) -> Any:
    """Fill four lanes with one number."""
    vector = builder.insert_element(ir.Constant(_FOUR, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), 4), [0, 0, 0, 0])
    return builder.shuffle_vector(vector, ir.Constant(_FOUR, ir.Undefined), zeros)


def _add_product(builder: Any, acc: Any, x: Any, y: Any) -> Any:
    return builder.fadd(acc, builder.fmul(x, y, flags=_CONTRACT), flags=_CONTRACT)


def _larger(builder: Any, x: Any, y: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", x, y), x, y)


def _zeros(builder: Any, n: int) -> list[Any]:
    """Sums in registers, set to zero."""
    zero: Any = ir.Constant(_FOUR, [0.0] * 4)
    sums: list[Any] = [_tools.alloca_once_value(builder, zero) for _ in range(n)]
    for acc in sums:
        builder.store(zero, acc)
    return sums


def _write_weighted(builder: Any, data: list[Any], scalars: list[Any], width: int) -> None:
    """Write out[a], ..., out[a + width - 1]: a next state is read once for all of these actions."""
    (out, succ, weight, x), (a, first, last, stride) = data, scalars
    sums = [_zeros(builder, len(_PARTS)) for _ in range(width)]
    with _tools.for_range_slice(builder, first, last, ir.Constant(first.type, 1), first.type) as (k, _):
        state = builder.sext(builder.load(builder.gep(succ, [k])), first.type)
        row = [_load(builder, x, state, part) for part in _PARTS]
        begin = builder.add(builder.mul(k, stride), a)
        for i in range(width):
            at = builder.add(begin, ir.Constant(a.type, i))
            w = _splat(builder, builder.load(builder.gep(weight, [at])))
            for acc, lanes in zip(sums[i], row, strict=True):
                builder.store(_add_product(builder, builder.load(acc), w, lanes), acc)
    for i in range(width):
        for part, acc in zip(_PARTS, sums[i], strict=True):
            builder.store(builder.load(acc), _at(builder, out, builder.add(a, ir.Constant(a.type, i)), part), align=8)


def _write_mixed(builder: Any, data: list[Any], scalars: list[Any]) -> None:
    """Write out[o], each lane with weights of its own."""
    (out, base, succ, weight, x), (o, first, last) = data, scalars
    sums = _zeros(builder, len(_PARTS))
    for part, acc in zip(_PARTS, sums, strict=True):
        builder.store(_load(builder, base, o, part), acc)
    with _tools.for_range_slice(builder, first, last, ir.Constant(first.type, 1), first.type) as (k, _):
        state = builder.sext(builder.load(builder.gep(succ, [k])), first.type)
        for part, acc in zip(_PARTS, sums, strict=True):
            w, lanes = _load(builder, weight, k, part), _load(builder, x, state, part)
            builder.store(_add_product(builder, builder.load(acc), w, lanes), acc)
    for part, acc in zip(_PARTS, sums, strict=True):
        builder.store(builder.load(acc), _at(builder, out, o, part), align=8)


def _write_add_product(builder: Any, data: list[Any], scalars: list[Any]) -> None:
    """Write out[o] += x[i] y[j]."""
    (out, x, y), (o, i, j) = data, scalars
    for part in _PARTS:
        total = _add_product(
            builder, _load(builder, out, o, part), _load(builder, x, i, part), _load(builder, y, j, part)
        )
        builder.store(total, _at(builder, out, o, part), align=8)


def _write_scatter(builder: Any, data: list[Any], scalars: list[Any]) -> None:
    """Write p[to] += p[e] p[r]: p[e] is read once."""
    (p, to), (e, f, begin, end) = data, scalars
    factor = [_load(builder, p, e, part) for part in _PARTS]
    with _tools.for_range_slice(builder, begin, end, ir.Constant(begin.type, 1), begin.type) as (r, _):
        at = builder.add(f, builder.sub(r, begin))
        o = builder.load(builder.gep(to, [at]))
        for part, x in zip(_PARTS, factor, strict=True):
            total = _add_product(builder, _load(builder, p, o, part), x, _load(builder, p, r, part))
            builder.store(total, _at(builder, p, o, part), align=8)


def _write_value_of_best(builder: Any, data: list[Any], scalars: list[Any]) -> None:
    """Write best[s] and value[s], see `_plain_value_of_best`."""
    (q, real, best, value), (n_actions, lowest, tie, s) = data, scalars
    zero, one = ir.Constant(_FOUR, [0.0] * 4), ir.Constant(_FOUR, [1.0] * 4)
    first, step = ir.Constant(n_actions.type, 0), ir.Constant(n_actions.type, 1)
    lowest = builder.trunc(lowest, ir.IntType(1))
    for part in _PARTS:
        top: Any = _tools.alloca_once_value(builder, zero)
        builder.store(_load(builder, q, first, part), top)
        with _tools.for_range_slice(builder, step, n_actions, step, step.type) as (a, _):
            builder.store(_larger(builder, builder.load(top), _load(builder, q, a, part)), top)
        largest = builder.load(top)
        size = _larger(builder, _larger(builder, largest, builder.fsub(zero, largest)), one)
        bound = builder.fsub(largest, builder.fmul(_splat(builder, tie), size))
        total: Any = _tools.alloca_once_value(builder, zero)
        n_tied: Any = _tools.alloca_once_value(builder, zero)
        builder.store(zero, total)
        builder.store(zero, n_tied)
        with _tools.for_range_slice(builder, first, n_actions, step, step.type) as (a, _):
            tied = builder.fcmp_ordered(">=", _load(builder, q, a, part), bound)
            already = builder.load(n_tied)
            none = builder.fcmp_ordered("==", already, zero)
            tied = builder.select(lowest, builder.and_(tied, none), tied)
            more = builder.select(tied, _load(builder, real, a, part), zero)
            builder.store(builder.fadd(builder.load(total), more), total)
            builder.store(builder.fadd(already, builder.select(tied, one, zero)), n_tied)
        builder.store(largest, _at(builder, best, s, part), align=8)
        mean = builder.fdiv(builder.load(total), builder.load(n_tied))
        builder.store(mean, _at(builder, value, s, part), align=8)


def _typed_weighted(width: int) -> Any:
    def typed(
        typingctx: Any, out: Any, a: Any, succ: Any, weight: Any, x: Any, first: Any, last: Any, stride: Any
    ) -> Any:
        i = types.int64
        return types.void(out, i, succ, weight, x, i, i, i), _code(lambda b, d, s: _write_weighted(b, d, s, width))

    return typed


def _typed_mixed(
    typingctx: Any, out: Any, o: Any, base: Any, succ: Any, weight: Any, x: Any, first: Any, last: Any
) -> Any:
    i = types.int64
    return types.void(out, i, base, succ, weight, x, i, i), _code(_write_mixed)


def _typed_add_product(typingctx: Any, out: Any, o: Any, x: Any, i: Any, y: Any, j: Any) -> Any:
    n = types.int64
    return types.void(out, n, x, n, y, n), _code(_write_add_product)


def _typed_scatter(typingctx: Any, p: Any, e: Any, to: Any, f: Any, begin: Any, end: Any) -> Any:
    i = types.int64
    return types.void(p, i, to, i, i, i), _code(_write_scatter)


def _typed_value_of_best(
    typingctx: Any, q: Any, real: Any, n_actions: Any, lowest: Any, tie: Any, s: Any, best: Any, value: Any
) -> Any:
    i = types.int64
    return types.void(q, real, i, types.int64, types.float64, i, best, value), _code(_write_value_of_best)


def _code(write: _Builder) -> Any:
    """Sort the arguments into arrays and whole numbers, and write the code for them."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        given = list(zip(sig.args, args, strict=True))
        arrays = [context.make_array(t)(context, builder, v).data for t, v in given if isinstance(t, types.Array)]
        write(builder, arrays, [v for t, v in given if not isinstance(t, types.Array)])
        return context.get_dummy_value()

    return generate


def _choose(plain: Any, typed: Any) -> Any:
    """The compiled form, or the plain one where compilation is off."""
    return intrinsic(typed) if COMPILING else plain


mixed = _choose(_plain_mixed, _typed_mixed)
add_product = _choose(_plain_add_product, _typed_add_product)
scatter = _choose(_plain_scatter, _typed_scatter)
value_of_best = _choose(_plain_value_of_best, _typed_value_of_best)
_one, _two, _three, _four = (_choose(_plain_weighted(i), _typed_weighted(i)) for i in range(1, 5))


@inlined
def weighted(
    out: FloatArray, succ: IndexArray, weight: FloatArray, x: FloatArray, first: int, last: int, n_actions: int
) -> None:
    """out[a] = sum of weight[k * M + a] x[succ[k]] over slots k, for all actions; every lane has the same weights."""
    a = 0
    while n_actions - a >= 4:
        _four(out, a, succ, weight, x, first, last, n_actions)
        a += 4
    if n_actions - a == 3:
        _three(out, a, succ, weight, x, first, last, n_actions)
    elif n_actions - a == 2:
        _two(out, a, succ, weight, x, first, last, n_actions)
    elif n_actions - a == 1:
        _one(out, a, succ, weight, x, first, last, n_actions)
