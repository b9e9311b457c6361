"""One state's backup, four actions at a time, in vector instructions.

Numba leaves four independent accumulators scalar, so the few lines that value iteration
spends its time in are written as LLVM code. In Python they are

    acc = utility[u : u + 4] (+ gamma * total * share[u : u + 4])
    for k in range(first, last):
        acc += weight[k * stride + lane : ... + 4] * (gamma * values[succ[k] * depth + level])
    return acc.max()

LLVM splits the vectors where a machine has narrower ones.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

alloca_once_value: Any = cgutils.alloca_once_value
_FOUR = ir.VectorType(ir.DoubleType(), 4)
_CONTRACT = ("contract",)


def _load_four(builder: Any, data: Any, index: Any) -> Any:
    """Load `data[index : index + 4]`."""
    pointer = builder.bitcast(builder.gep(data, [index]), _FOUR.as_pointer())
    vector = builder.load(pointer)
    vector.align = 8
    return vector


def _splat(builder: Any, scalar: Any) -> Any:
    """Fill all four lanes with one number."""
    vector = builder.insert_element(ir.Constant(_FOUR, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), 4), [0, 0, 0, 0])
    return builder.shuffle_vector(vector, ir.Constant(_FOUR, ir.Undefined), zeros)


def _largest(builder: Any, vector: Any) -> Any:
    """Find the largest of four lanes."""
    lanes = [builder.extract_element(vector, ir.Constant(ir.IntType(32), i)) for i in range(4)]

    def larger(x: Any, y: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", x, y), x, y)

    return larger(larger(lanes[0], lanes[1]), larger(lanes[2], lanes[3]))


def _backup(shared: bool) -> Any:
    """Build the intrinsic, with or without the share of states in no slot."""

    def typed(
        typingctx: Any, succ: Any, weight: Any, share: Any, utility: Any, values: Any, first: Any, last: Any,
        stride: Any, lane: Any, depth: Any, level: Any, z: Any, gamma: Any, total: Any,
    ) -> Any:  # fmt: skip
        signature = types.float64(
            succ, weight, share, utility, values, *[types.int64] * 7, types.float64, types.float64
        )

        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            arrays = [context.make_array(sig.args[i])(context, builder, args[i]).data for i in range(5)]
            d_succ, d_weight, d_share, d_utility, d_values = arrays
            first, last, stride, lane, depth, level, z, gamma, total = args[5:]
            index = builder.add(builder.mul(z, stride), lane)
            acc: Any = alloca_once_value(builder, _load_four(builder, d_utility, index))
            if shared:
                rest = _splat(builder, builder.fmul(gamma, total))
                more = builder.fmul(_load_four(builder, d_share, index), rest, flags=_CONTRACT)
                builder.store(builder.fadd(builder.load(acc), more, flags=_CONTRACT), acc)
            with cgutils.for_range_slice(builder, first, last, ir.Constant(first.type, 1), first.type) as (k, _):
                state = builder.sext(builder.load(builder.gep(d_succ, [k])), first.type)
                value = builder.load(builder.gep(d_values, [builder.add(builder.mul(state, depth), level)]))
                scaled = _splat(builder, builder.fmul(value, gamma))
                four = _load_four(builder, d_weight, builder.add(builder.mul(k, stride), lane))
                product = builder.fmul(four, scaled, flags=_CONTRACT)
                builder.store(builder.fadd(builder.load(acc), product, flags=_CONTRACT), acc)
            return _largest(builder, builder.load(acc))

        return signature, code

    return intrinsic(typed)


backup_four = _backup(shared=False)
backup_four_shared = _backup(shared=True)
