"""Utilities that are a function of the counts of a row: indices, such as a count bonus.

An index is written once, as a function of a `Row`. It is compiled for the engine, and plain NumPy agents call the same
function.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from berlyne.models.internal_model import InternalModel
from berlyne.strategies.utilities import UTILITIES, Utility
from berlyne.validation import OWN_UTILITY, FloatArray, IntArray

F = TypeVar("F", bound=Callable[..., Any])


class Row(NamedTuple):
    """The data of one row (a, s), on which an index may depend.

    Attributes
    ----------
    n : int
        Number of observations of the row.
    kappa : float
        Sum of the pseudo-counts of the row, those of the prior and the observations; NaN for a prior without
        pseudo-counts.
    n_outcomes : int
        Number of distinct outcomes that were observed.
    t : int
        Number of observations of all rows.
    counts : ndarray of int, shape (n_outcomes,)
        How often each of these outcomes was observed, in no particular order.
    visits : ndarray of int, shape (n_outcomes,)
        How often the explorer was in each of these next states, in the same order.
    state_visits : int
        How often the explorer was in state s itself.
    """

    n: int
    kappa: float
    n_outcomes: int
    t: int
    counts: IntArray
    visits: IntArray
    state_visits: int


GLOBAL_FIELDS = frozenset({"t", "visits", "state_visits"})
"""Fields that an observation can change in all rows at once."""


def index(name: str, *, meaning: str = "", unit: str = "1") -> Callable[[F], F]:
    """Register a function of one row as a utility, which then combines with every method by name.

    The function takes a `Row` with the fields `n`, `kappa`, `n_outcomes`, `t`, `counts`, `visits` and `state_visits`,
    and returns a number. It is compiled if Numba can compile it; otherwise it runs in plain NumPy, with a warning. An
    index that reads `t`, `visits` or `state_visits` is computed again for all rows at every step; any other index only
    for the row that was observed.

    Parameters
    ----------
    name : str
        Name of the utility, such as "BEB" for the strategies "BEB(greedy)", "BEB(VI)" and "BEB(Q)".
    meaning : str
        Short description, for `berlyne list utilities`; by default the first line of the function's docstring.
    unit : str
        Unit of the values; "1" for none.

    Returns
    -------
    callable
        A decorator, which returns the function as it is.

    Examples
    --------
    >>> import berlyne
    >>> @berlyne.index("BEB")
    ... def beb(row):
    ...     return 1.0 / (1.0 + row.n)
    >>> berlyne.explore(berlyne.maze(0), "BEB(VI)", n_steps=100).n_steps
    100
    """
    check_name("index", name, OWN_UTILITY)
    if name in UTILITIES and UTILITIES[name].index is None:
        raise ValueError(
            f"the name of an index is {name!r}, which is a built-in utility; use another name{OWN_UTILITY}"
        )

    def register(function: F) -> F:
        if not callable(function):
            raise ValueError(f"the index {name} is {function!r}; it must be a function of a row{OWN_UTILITY}")
        lines = (function.__doc__ or "").strip().splitlines()
        text = meaning or (lines[0] if lines else "user-defined index")
        UTILITIES[name] = Utility(name, lambda model: index_values(function, model), text, unit=unit, index=function)
        return function

    return register


def check_name(kind: str, name: Any, page: str) -> None:
    """Raise a `ValueError` unless a part of this kind can have this name; `page` explains it."""
    if not isinstance(name, str) or not re.fullmatch(r"[^\s(),=:][^(),=:]*", name):
        article = "an" if kind == "index" else "a"
        raise ValueError(
            f"the name of {article} {kind} is {name!r}; it must be text without brackets, commas and = or :{page}"
        )


def is_global(function: Callable[..., Any]) -> bool:
    """Whether an observation can change the index of all rows; assumed if the function reads no field itself."""
    code = getattr(function, "__code__", None)
    fields = set(_attribute_names(code)) & set(Row._fields) if code is not None else set()
    return not fields or bool(fields & GLOBAL_FIELDS)


def _attribute_names(code: Any) -> list[str]:
    """Return the names that a code object reads, including those of functions defined inside it."""
    names = list(code.co_names)
    for constant in code.co_consts:
        if hasattr(constant, "co_names"):
            names += _attribute_names(constant)
    return names


def index_of_row(function: Callable[..., Any], row: Row) -> float:
    """Call an index in plain Python; a `ValueError` if it does not return a finite number."""
    name = getattr(function, "__name__", type(function).__name__)
    try:
        value = function(row)
    except ZeroDivisionError:  # NumPy and compiled code return infinity instead
        value = math.inf
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"the index {name} returned {value!r:.60} for a row; it must return one number{OWN_UTILITY}"
        ) from None
    if not math.isfinite(number):
        raise ValueError(
            f"the index {name} is {number} for a row with n = {row.n}; it must return a finite number for every row, "
            f"such as 1 / (1 + row.n){OWN_UTILITY}"
        )
    return number


def make_row(prior: Any, counts: IntArray, visits: IntArray, t: int, a: int, s: int) -> Row:
    """Return the row (a, s) with these counts (N,) of next states, and the visits (N,) of all states."""
    seen = np.flatnonzero(counts)
    n = int(counts.sum())
    total = getattr(prior, "total_pseudo_count", None)
    kappa = math.nan if total is None else float(total(n, a, s))
    counts_seen, visits_seen = (np.asarray(values[seen], dtype=np.int64) for values in (counts, visits))
    return Row(n, kappa, len(seen), t, counts_seen, visits_seen, int(visits[s]))


def index_values(function: Callable[..., Any], model: InternalModel) -> FloatArray:
    """Compute an index for every row of a model, `[a, s]`; a visit of a state is an observation that led there."""
    counts = model.counts
    visits, t = counts.sum(axis=(0, 1)), int(counts.sum())
    values = np.empty(counts.shape[:2])
    for a, s in np.ndindex(*values.shape):
        values[a, s] = index_of_row(function, make_row(model.prior, counts[a, s], visits, t, a, s))
    return values
