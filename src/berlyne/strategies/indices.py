"""Utilities that are a function of the counts of a row: indices, such as a count bonus.

An index is written once, as a function of a `Row`. It is compiled for the engine, and plain NumPy agents call the same
function.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np

from berlyne.information import entropy
from berlyne.models.internal_model import InternalModel
from berlyne.priors.protocols import as_exact
from berlyne.sparse import Counts, by_action
from berlyne.strategies.utilities import UTILITIES, Utility, UtilityTable
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
    rarity : float
        Expected rarity of the next state under the current estimate, in bits; see `state_rarity`.
    surprise : float
        -log2 of the probability that the last outcome had before it was observed, in bits. If the row was never tried,
        the surprise that is expected of it, which is the entropy of its estimate.
    """

    n: int
    kappa: float
    n_outcomes: int
    t: int
    counts: IntArray
    visits: IntArray
    state_visits: int
    rarity: float = math.nan
    surprise: float = math.nan


BUILT_IN = frozenset({"rarity", "surprise", "count_bonus", "log_count", "log_visits", "BEB", "R-max", "AME"})
"""Names of the indices in `berlyne.strategies.drives` and `berlyne.strategies.bonuses`."""
NO_SURPRISE = 1e-12
"""Surprise in bits up to which it is rounding of a probability of one."""
GLOBAL_FIELDS = frozenset({"t", "visits", "state_visits", "rarity"})
"""Fields that an observation can change in all rows at once."""


def index(name: str, *, meaning: str = "", unit: str = "1") -> Callable[[F], F]:
    """Register a function of one row as a utility, which then combines with every method by name.

    The function takes a `Row` with the fields `n`, `kappa`, `n_outcomes`, `t`, `counts`, `visits`, `state_visits`,
    `rarity` and `surprise`, and returns a number. It is compiled if Numba can compile it; otherwise it runs in plain
    NumPy, with a warning. An index that reads `t`, `visits`, `state_visits` or `rarity` is computed again for all rows
    at every step; any other index only for the row that was observed.

    Parameters
    ----------
    name : str
        Name of the utility, such as "bonus" for the strategies "bonus(greedy)", "bonus(VI)" and "bonus(Q)".
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
    >>> @berlyne.index("bonus")
    ... def bonus(row):
    ...     return 1.0 / (1.0 + row.n)
    >>> berlyne.explore(berlyne.maze(0), "bonus(VI)", n_steps=100).n_steps
    100
    """
    check_name("index", name, OWN_UTILITY)
    if name in BUILT_IN or (name in UTILITIES and UTILITIES[name].index is None):
        raise ValueError(
            f"the name of an index is {name!r}, which is a built-in utility; use another name{OWN_UTILITY}"
        )

    def register(function: F) -> F:
        if not callable(function):
            raise ValueError(f"the index {name} is {function!r}; it must be a function of a row{OWN_UTILITY}")
        lines = (function.__doc__ or "").strip().splitlines()
        text = meaning or (lines[0] if lines else "user-defined index")
        register_index(name, function, text, unit)
        return function

    return register


def register_index(name: str, function: Callable[..., Any], meaning: str, unit: str) -> None:
    """Add a function of a row to the table of utilities."""
    UTILITIES[name] = _utility(name, function, meaning, unit)


def _utility(name: str, function: Callable[..., Any], meaning: str, unit: str) -> Utility:
    return Utility(name, lambda model: index_values(function, model), meaning, unit=unit, index=function)


def register_family(name: str, make: Callable[..., Callable[..., Any]], meaning: str, unit: str) -> None:
    """Add indices with parameters to the table of utilities.

    Parameters
    ----------
    name : str
        Name of the index with its default parameters, such as "R-max"; with others it is "R-max[m=5]".
    make : callable
        Function of parameters, each with a default, that returns a function of a row. It raises a `ValueError` if a
        parameter is invalid.
    meaning, unit : str
        As for `index`.
    """

    @lru_cache(maxsize=256)  # a compiled index is found by its function
    def of_parameters(**parameters: float) -> Utility:
        text = ", ".join(f"{key}={value:g}" for key, value in parameters.items())
        return _utility(f"{name}[{text}]", make(**parameters), meaning, unit)

    of_parameters.__signature__ = inspect.signature(make)  # type: ignore[attr-defined]
    UtilityTable.families[name] = of_parameters
    register_index(name, make(), meaning, unit)


def check_name(kind: str, name: Any, page: str) -> None:
    """Raise a `ValueError` unless a part of this kind can have this name; `page` explains it."""
    if not isinstance(name, str) or not re.fullmatch(r"[^\s(),=:][^(),=:]*", name):
        article = "an" if kind == "index" else "a"
        raise ValueError(
            f"the name of {article} {kind} is {name!r}; it must be text without brackets, commas and = or :{page}"
        )


def is_global(function: Callable[..., Any]) -> bool:
    """Whether an observation can change the index of all rows; assumed if the function reads no field itself."""
    fields = _fields_read(function)
    return not fields or bool(fields & GLOBAL_FIELDS)


def reads(function: Callable[..., Any], field: str) -> bool:
    """Whether an index reads a field of the row; assumed if the function reads no field itself."""
    fields = _fields_read(function)
    return not fields or field in fields


def _fields_read(function: Callable[..., Any]) -> set[str]:
    """Return the fields of a row that a function reads itself."""
    code = getattr(function, "__code__", None)
    return set(_attribute_names(code)) & set(Row._fields) if code is not None else set()


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


def state_rarity(visits: IntArray) -> FloatArray:
    """Rarity of every state in bits, -log2((n(s) + 1) / (sum of n + N)), given the visits (N,) of all states.

    Xu et al. (2021), Novelty is not surprise, who call it novelty and use the natural logarithm.
    """
    return np.asarray(np.log2(visits.sum() + len(visits)) - np.log2(visits + 1.0))


def last_surprise(model: InternalModel) -> FloatArray:
    """-log2 of the probability of the last outcome of every row before it was observed, `[a, s]`; NaN if untried."""
    last = model.last_outcomes  # (rows,), -1 if untried
    rows = np.flatnonzero(last >= 0)
    values = np.full(len(last), np.nan)
    if len(rows):
        values[rows] = -np.log2(probability_of_last(model.prior, model.sparse_counts, rows, last[rows]))
    return np.array(by_action(values, model.n_actions))


def probability_of_last(prior: Any, counts: Counts, rows: IntArray, last: IntArray) -> FloatArray:
    """Probability that the last outcomes of some rows `r = s * M + a` had before they were observed."""
    keys, key_of_last = counts.row * counts.n_states + counts.s_next, rows * counts.n_states + last
    n = counts.n - np.isin(keys, key_of_last)
    before = Counts.from_keys(counts.n_actions, counts.n_states, keys[n > 0], n[n > 0])
    exact = as_exact(prior)
    if exact is not None:
        return np.asarray(exact.estimate_at(before, rows, last))
    s, a = np.divmod(rows, counts.n_actions)
    return np.asarray(prior.estimate(before.dense()))[a, s, last]


def make_row(
    prior: Any,
    counts: IntArray,
    visits: IntArray,
    t: int,
    a: int,
    s: int,
    rarity: float = math.nan,
    surprise: float = math.nan,
) -> Row:
    """Return the row (a, s) with these counts (N,) of next states, and the visits (N,) of all states."""
    seen = np.flatnonzero(counts)
    n = int(counts.sum())
    total = getattr(prior, "total_pseudo_count", None)
    kappa = math.nan if total is None else float(total(n, a, s))
    counts_seen, visits_seen = (np.asarray(values[seen], dtype=np.int64) for values in (counts, visits))
    return Row(n, kappa, len(seen), t, counts_seen, visits_seen, int(visits[s]), rarity, surprise)


def index_values(function: Callable[..., Any], model: InternalModel) -> FloatArray:
    """Compute an index for every row of a model, `[a, s]`; a visit of a state is an observation that led there."""
    counts, theta_hat = model.counts, model.theta_hat
    visits, t = counts.sum(axis=(0, 1)), int(counts.sum())
    surprise = last_surprise(model) if reads(function, "surprise") else np.empty(0)
    return rows_by_index(function, model.prior, counts, visits, t, theta_hat, surprise)


def rows_by_index(
    function: Callable[..., Any],
    prior: Any,
    counts: IntArray,
    visits: IntArray,
    t: int,
    theta_hat: FloatArray,
    surprise: FloatArray,
) -> FloatArray:
    """Compute an index for every row, `[a, s]`; `surprise` may be empty if the index does not read it."""
    values, of_states = np.empty(counts.shape[:2]), state_rarity(visits)
    for a, s in np.ndindex(*values.shape):
        measures = float(theta_hat[a, s] @ of_states), surprise_of_row(surprise, theta_hat[a, s], a, s)
        values[a, s] = index_of_row(function, make_row(prior, counts[a, s], visits, t, a, s, *measures))
    return values


def surprise_of_row(surprise: FloatArray, theta_hat: FloatArray, a: int, s: int) -> float:
    """Surprise of the last outcome of row (a, s), or its expected surprise if it was never tried; NaN if not asked."""
    if not surprise.size:
        return math.nan
    bits = float(entropy(theta_hat)) if np.isnan(surprise[a, s]) else float(surprise[a, s])
    return bits if bits > NO_SURPRISE else 0.0
