"""Utilities that are a function of the counts of a row, compiled; see `berlyne.strategies.indices`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.core.errors import NumbaError

from berlyne.engine.action_selection import ChoiceState
from berlyne.engine.blocks import CompiledFunction
from berlyne.engine.jit import COMPILING, callback, inline, user_function, why_not_compiled
from berlyne.engine.row_beliefs import SEEN, TOTAL, Belief, Family
from berlyne.strategies.indices import Row
from berlyne.validation import OWN_UTILITY, IntArray

_I, _F = types.int64, types.float64
_COUNTS = types.Array(_I, 1, "C")
_ROW: Any = types.NamedTuple((_I, _F, _I, _I, _COUNTS, _COUNTS, _I), Row)  # type: ignore[no-untyped-call]  # Numba has no types

NOT_FINITE = f"an index returned a value that is not finite; it must return a finite number for every row{OWN_UTILITY}"
NO_INDEX, ROW_INDEX, GLOBAL_INDEX = 0, 1, 2
"""Whether the utility is an index, and if so, whether an observation changes that of its row only or of all rows."""


class CompiledIndex(NamedTuple):
    """An index, and scratch to call it.

    Attributes
    ----------
    value : CompiledFunction
        `value(row)`: the index of a `berlyne.strategies.indices.Row`.
    kappa : CompiledFunction
        Of the prior, see `berlyne.engine.row_beliefs.Family`.
    counts, visits : ndarray of int, shape (N,)
        Scratch for the fields of a row.
    """

    value: Any
    kappa: Any
    counts: IntArray
    visits: IntArray


def new_index(function: Callable[..., Any], family: Family, belief: Any, n_states: int) -> CompiledIndex:
    """Return an index for beliefs of type `belief`."""
    scratch = np.zeros(n_states, dtype=np.int64), np.zeros(n_states, dtype=np.int64)
    return CompiledIndex(compile_index(function), CompiledFunction(family.kappa, belief, _I, _I), *scratch)


@cache
def compile_index(function: Callable[..., Any]) -> Any:
    """Compile a function of a row."""
    if not COMPILING:
        return function
    compiled = CompiledFunction(user_function(function), _ROW)
    if not isinstance(compiled.type.result, types.Float | types.Integer | types.Boolean):
        raise TypeError(f"it returns {compiled.type.result}, not a number")
    return compiled


@cache
def can_compile_index(name: str, function: Callable[..., Any]) -> bool:
    """Whether an index can be compiled; if not, warn once."""
    try:
        compile_index(function)
    except (NumbaError, TypeError) as error:
        warnings.warn(
            f"the index {name} cannot be compiled, so it runs in plain NumPy, which is slower; "
            f"Numba: {why_not_compiled(error)}{OWN_UTILITY}",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True


@inline
def value_of_row(belief: Belief, choice: ChoiceState, index: CompiledIndex, s: int, a: int) -> float:
    """Compute the index of row (a, s)."""
    graph, counts, visits, n_seen = belief.graph, index.counts, index.visits, 0
    r, first = s * graph.stride + a, graph.start[s]
    for k in range(first, first + graph.length[s]):
        n = belief.n[k * graph.stride + a]
        if n > 0:
            counts[n_seen] = n
            visits[n_seen] = choice.visits[graph.succ[k]]
            n_seen += 1
    n_row: Any = np.int64(belief.row_stats[r, TOTAL])  # counts are int32
    n_outcomes: Any = np.int64(belief.row_stats[r, SEEN])
    lists = counts[:n_seen], visits[:n_seen]
    row = Row(n_row, index.kappa(belief, s, a), n_outcomes, choice.n_obs[0], lists[0], lists[1], choice.visits[s])
    value: float = index.value(row)
    if not math.isfinite(value):
        raise ValueError(NOT_FINITE)
    return value


@callback
def apply_index(belief: Belief, choice: ChoiceState, index: CompiledIndex, s: int, a: int) -> None:
    """Set the utility of row (a, s), or of all rows if s is negative."""
    stride = belief.graph.stride
    if s >= 0:
        belief.utility[s * stride + a] = value_of_row(belief, choice, index, s, a)
        return
    for state in range(belief.n_states[0]):
        for action in range(len(choice.values)):
            belief.utility[state * stride + action] = value_of_row(belief, choice, index, state, action)
