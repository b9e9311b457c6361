"""Sweeps of value iteration, four actions at a time, in vector instructions.

Numba leaves such sums scalar and in memory, so the few lines that value iteration spends its time
in are written as LLVM code, which splits the vectors where a machine has narrower ones. What they do
is said in Python by the functions of the same name that begin with `plain_`, which take their
place when compilation is off.

All keep `gamma * V_j(z)` at `values[z * depth + j]`, and find the weights of slot k at `weight[k * stride]`,
one for each action. Slots are read in fours: those that fill up a state's last four have weight zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from berlyne.arrays import FloatArray, IndexArray, IntArray
from berlyne.kernels.compile import COMPILING

LANES = 4
"""Actions and slots are padded to a multiple of this, the width of one vector instruction."""
BLOCK = 5
"""States that `sweep_full` works on at once, so that their sums do not wait for one another."""

_FOUR = ir.VectorType(ir.DoubleType(), LANES)
_I64, _I32 = ir.IntType(64), ir.IntType(32)
_CONTRACT = ("contract",)
_NOTHING = ir.Constant(_FOUR, [0.0] * LANES)
_LOWEST = ir.Constant(ir.DoubleType(), float("-inf"))
_tools: Any = cgutils
_Write = Callable[[Any, list[Any], list[Any]], Any]


def plain_sweep(
    start: IntArray, length: IndexArray, succ: IndexArray, weight: FloatArray, utility: FloatArray, values: FloatArray,
    listed: IndexArray, begin: int, end: int, stride: int, depth: int, gamma: float, j: int,
) -> None:  # fmt: skip
    """V_j of the states `listed[begin:end]` from V_{j-1}."""
    for z in listed[begin:end]:
        best = utility[z * stride : (z + 1) * stride].copy()
        for k in range(start[z], start[z] + length[z]):
            best += weight[k * stride : (k + 1) * stride] * values[succ[k] * depth + j - 1]
        values[z * depth + j] = gamma * best.max()


def plain_sweep_shared(
    start: IntArray, length: IndexArray, succ: IndexArray, weight: FloatArray, share: FloatArray, utility: FloatArray,
    values: FloatArray, total: float, stride: int, depth: int, gamma: float, j: int,
) -> float:  # fmt: skip
    """V_j of all states, where any may follow with `share`; `total` is the sum of V_{j-1}, returns that of V_j."""
    total_now = 0.0
    for z in range(len(start)):
        rows = slice(z * stride, (z + 1) * stride)
        best = utility[rows] + share[rows] * total
        for k in range(start[z], start[z] + length[z]):
            best += weight[k * stride : (k + 1) * stride] * values[succ[k] * depth + j - 1]
        values[z * depth + j] = gamma * best.max()
        total_now += values[z * depth + j]
    return total_now


def plain_sweep_full(
    start: IntArray, weight: FloatArray, utility: FloatArray, level: FloatArray, before: int, after: int,
    stride: int, gamma: float,
) -> None:  # fmt: skip
    """V_j of all states, at `level[after:]`, from V_{j-1} of all, at `level[before:]`; for at least `BLOCK` states."""
    n = len(start)
    for z in range(n):
        best = utility[z * stride : (z + 1) * stride].copy()
        for k in range(n):
            first = (start[z] + k) * stride
            best += weight[first : first + stride] * level[before + k]
        level[after + z] = gamma * best.max()


def _number(i: int) -> Any:
    return ir.Constant(_I64, i)


def _load_four(builder: Any, data: Any, index: Any) -> Any:
    """Load `data[index : index + 4]`."""
    vector = builder.load(builder.bitcast(builder.gep(data, [index]), _FOUR.as_pointer()))
    vector.align = 8
    return vector


def _splat(builder: Any, scalar: Any) -> Any:
    """Fill all four lanes with one number."""
    vector = builder.insert_element(ir.Constant(_FOUR, ir.Undefined), scalar, ir.Constant(_I32, 0))
    zeros = ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)
    return builder.shuffle_vector(vector, ir.Constant(_FOUR, ir.Undefined), zeros)


def _larger(builder: Any, x: Any, y: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", x, y), x, y)


def _largest(builder: Any, vector: Any) -> Any:
    """Find the largest of four lanes: the larger half first, then the larger of two."""
    undefined = ir.Constant(_FOUR, ir.Undefined)
    halves = [ir.Constant(ir.VectorType(_I32, 2), [i, i + 1]) for i in (0, 2)]
    two = _larger(builder, *(builder.shuffle_vector(vector, undefined, half) for half in halves))
    return _larger(builder, *(builder.extract_element(two, ir.Constant(_I32, i)) for i in (0, 1)))


def _add_product(builder: Any, into: Any, x: Any, y: Any) -> None:
    product = builder.fmul(x, y, flags=_CONTRACT)
    builder.store(builder.fadd(builder.load(into), product, flags=_CONTRACT), into)


def _range(builder: Any, begin: Any, end: Any, step: int) -> Any:
    return _tools.for_range_slice(builder, begin, end, _number(step), _I64)


def _variables(builder: Any, value: Any, how_many: int) -> list[Any]:
    return [_tools.alloca_once_value(builder, value) for _ in range(how_many)]


def _backup(builder: Any, arrays: list[Any], z: Any, sizes: tuple[Any, Any], gamma: Any, j: Any, rest: Any) -> Any:
    """Write V_j(z) from the slots of z; two sums take turns, so that neither waits for itself."""
    (start, length, succ, weight, utility, values), (stride, depth) = arrays[:6], sizes
    (best,), (even, odd) = _variables(builder, _LOWEST, 1), _variables(builder, _NOTHING, 2)
    below = builder.gep(values, [builder.sub(j, _number(1))])
    first = builder.load(builder.gep(start, [z]))
    last = builder.add(first, builder.sext(builder.load(builder.gep(length, [z])), _I64))
    builder.store(_LOWEST, best)
    with _range(builder, _number(0), stride, LANES) as (lane, _):
        row = builder.add(builder.mul(z, stride), lane)
        builder.store(_load_four(builder, utility, row), even)
        builder.store(_NOTHING, odd)
        if rest is not None:
            share, total = rest
            _add_product(builder, even, _load_four(builder, share, row), _splat(builder, total))
        with _range(builder, first, last, LANES) as (k, _):
            for i in range(LANES):
                slot = builder.add(k, _number(i))
                state = builder.sext(builder.load(builder.gep(succ, [slot])), _I64)
                value = builder.load(builder.gep(below, [builder.mul(state, depth)]))
                four = _load_four(builder, weight, builder.add(builder.mul(slot, stride), lane))
                _add_product(builder, odd if i % 2 else even, four, _splat(builder, value))
        four = builder.fadd(builder.load(even), builder.load(odd))
        builder.store(_larger(builder, _largest(builder, four), builder.load(best)), best)
    value = builder.fmul(gamma, builder.load(best))
    builder.store(value, builder.gep(values, [builder.add(builder.mul(z, depth), j)]))
    return value


def _write_sweep(builder: Any, arrays: list[Any], numbers: list[Any]) -> None:
    begin, end, stride, depth, gamma, j = numbers
    with _range(builder, begin, end, 1) as (i, _):
        z = builder.sext(builder.load(builder.gep(arrays[6], [i])), _I64)
        _backup(builder, arrays, z, (stride, depth), gamma, j, None)


def _write_sweep_shared(builder: Any, arrays: list[Any], numbers: list[Any]) -> Any:
    start, length, succ, weight, share, utility, values = arrays
    n_states, total, stride, depth, gamma, j = numbers
    zero = ir.Constant(ir.DoubleType(), 0.0)
    (total_now,) = _variables(builder, zero, 1)
    builder.store(zero, total_now)
    with _range(builder, _number(0), n_states, 1) as (z, _):
        slots = [start, length, succ, weight, utility, values]
        value = _backup(builder, slots, z, (stride, depth), gamma, j, (share, total))
        builder.store(builder.fadd(builder.load(total_now), value), total_now)
    return builder.load(total_now)


def _write_sweep_full(builder: Any, arrays: list[Any], numbers: list[Any]) -> None:
    """Write V_j of `BLOCK` states at a time; the last block may do some states twice."""
    start, weight, utility, level = arrays
    n_states, before, after, stride, gamma = numbers
    bests, sums = _variables(builder, _LOWEST, BLOCK), _variables(builder, _NOTHING, BLOCK)
    last = builder.sub(n_states, _number(BLOCK))
    with _range(builder, _number(0), n_states, BLOCK) as (i, _):
        z = builder.select(builder.icmp_signed("<", i, last), i, last)
        states = [builder.add(z, _number(b)) for b in range(BLOCK)]
        firsts = [builder.mul(builder.load(builder.gep(start, [y])), stride) for y in states]
        for best in bests:
            builder.store(_LOWEST, best)
        with _range(builder, _number(0), stride, LANES) as (lane, _):
            for y, each in zip(states, sums, strict=True):
                builder.store(_load_four(builder, utility, builder.add(builder.mul(y, stride), lane)), each)
            with _range(builder, _number(0), n_states, 1) as (k, _):
                value = _splat(builder, builder.load(builder.gep(level, [builder.add(before, k)])))
                slot = builder.add(builder.mul(k, stride), lane)
                for first, each in zip(firsts, sums, strict=True):
                    _add_product(builder, each, _load_four(builder, weight, builder.add(first, slot)), value)
            for best, each in zip(bests, sums, strict=True):
                four = _largest(builder, builder.load(each))
                builder.store(_larger(builder, four, builder.load(best)), best)
        for y, best in zip(states, bests, strict=True):
            builder.store(builder.fmul(gamma, builder.load(best)), builder.gep(level, [builder.add(after, y)]))


def _generate(write: _Write, stride_at: int, counted: bool = False) -> Any:
    """Code from `write`: once for four actions, with their number known, and once for any other number."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        given = [
            (context.make_array(kind)(context, builder, value), True)
            if isinstance(kind, types.Array)
            else (value, False)
            for kind, value in zip(sig.args, args, strict=True)
        ]
        arrays = [value.data for value, is_array in given if is_array]
        numbers = [value for value, is_array in given if not is_array]
        if counted:  # the number of states is the length of the first array
            first = next(value for value, is_array in given if is_array)
            numbers.insert(0, _tools.unpack_tuple(builder, first.shape, 1)[0])
        stride = numbers[stride_at]
        (result,) = _variables(builder, ir.Constant(ir.DoubleType(), 0.0), 1)
        with builder.if_else(builder.icmp_signed("==", stride, _number(LANES))) as (four, more):
            for branch, known in ((four, _number(LANES)), (more, stride)):
                with branch:
                    written = write(builder, arrays, [*numbers[:stride_at], known, *numbers[stride_at + 1 :]])
                    if written is not None:
                        builder.store(written, result)
        return context.get_dummy_value() if sig.return_type == types.void else builder.load(result)

    return generate


def _typed_sweep(
    typingctx: Any, start: Any, length: Any, succ: Any, weight: Any, utility: Any, values: Any, listed: Any,
    begin: Any, end: Any, stride: Any, depth: Any, gamma: Any, j: Any,
) -> Any:  # fmt: skip
    i, f = types.int64, types.float64
    signature = types.void(start, length, succ, weight, utility, values, listed, i, i, i, i, f, i)
    return signature, _generate(_write_sweep, stride_at=2)


def _typed_sweep_shared(
    typingctx: Any, start: Any, length: Any, succ: Any, weight: Any, share: Any, utility: Any, values: Any,
    total: Any, stride: Any, depth: Any, gamma: Any, j: Any,
) -> Any:  # fmt: skip
    i, f = types.int64, types.float64
    signature = types.float64(start, length, succ, weight, share, utility, values, f, i, i, f, i)
    return signature, _generate(_write_sweep_shared, stride_at=2, counted=True)


def _typed_sweep_full(
    typingctx: Any, start: Any, weight: Any, utility: Any, level: Any, before: Any, after: Any, stride: Any, gamma: Any
) -> Any:
    i, f = types.int64, types.float64
    signature = types.void(start, weight, utility, level, i, i, i, f)
    return signature, _generate(_write_sweep_full, stride_at=3, counted=True)


sweep: Any = intrinsic(_typed_sweep) if COMPILING else plain_sweep
sweep_shared: Any = intrinsic(_typed_sweep_shared) if COMPILING else plain_sweep_shared
sweep_full: Any = intrinsic(_typed_sweep_full) if COMPILING else plain_sweep_full
