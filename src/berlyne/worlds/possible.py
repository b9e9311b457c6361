"""Possible actions: a mask of the actions that can be taken in each state.

A row that is not possible is no action. It has no utility and no missing information, and no plan uses it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.frozen import read_only
from berlyne.labels import Labels, as_list
from berlyne.sparse import Rows
from berlyne.validation import BoolArray, IntArray, short_repr

if TYPE_CHECKING:
    from berlyne.priors import Prior


def parse_possible(possible: Any, states: Labels, actions: Labels) -> BoolArray | None:
    """Return which actions are possible in each state, `[a, s]`; None if all are.

    Parameters
    ----------
    possible : mapping, array of bool and shape (M, N), or None
        A mapping from states to their possible actions, in which all actions are possible in the other states; or a
        mask `[a, s]`.
    states, actions : Labels
        Labels of the states and actions.

    Raises
    ------
    ValueError
        If it is neither, or if it names a state or an action that does not exist.
    """
    if possible is None:
        return None
    shape = actions.size, states.size
    if isinstance(possible, Mapping):
        allowed = np.ones(shape, dtype=np.bool_)
        for state, listed in possible.items():
            allowed[:, states.number(state, "a state of possible")] = parse_actions(listed, state, actions)
    else:
        allowed = np.array(possible)
        if allowed.dtype != np.bool_ or allowed.shape != shape:
            raise ValueError(
                f"possible is {short_repr(possible)}; it must be a mapping from states to actions, or a boolean array "
                f"[a, s] of shape {shape}"
            )
    return None if np.all(allowed) else read_only(allowed)


def parse_actions(listed: Any, state: Any, actions: Labels) -> BoolArray:
    """Return whether each action is in a list of the actions that are possible in a state, (M,)."""
    allowed = np.zeros(actions.size, dtype=np.bool_)
    for action in as_list(f"the actions that are possible in state {state!r}", listed):
        allowed[actions.number(action, "an action of possible")] = True
    return allowed


def check_some_possible(allowed: BoolArray, terminal: Collection[int] | IntArray, states: Labels) -> None:
    """Raise a `ValueError` if no action is possible in a state that is not terminal."""
    stuck: BoolArray = np.asarray(~allowed.any(axis=0))
    stuck[list(terminal)] = False
    if np.any(stuck):
        label = states[int(np.flatnonzero(stuck)[0])]
        raise ValueError(f"no action is possible in state {label!r}; make it terminal, or allow an action there")


def fill_forbidden(rows: Rows, allowed: BoolArray, prior: Prior | None) -> Rows:
    """Return rows in which a forbidden row without entries stays in its state, or leads where the prior allows it.

    Nothing reads these rows, but all rows are distributions.
    """
    empty = np.flatnonzero((np.diff(rows.indptr) == 0) & ~allowed.T.ravel())
    if not len(empty):
        return rows
    target, support = empty // rows.n_actions, getattr(prior, "support", None)
    if support is not None and not support.is_full:
        indptr, indices = support.entries()
        target = np.asarray(indices[indptr[empty]], dtype=np.int64)
    at = rows.indptr[empty]
    indptr = rows.indptr + np.searchsorted(empty, np.arange(len(rows.indptr)))
    indices, data = np.insert(rows.indices, at, target), np.insert(rows.data, at, 1.0)
    return Rows(rows.n_actions, rows.n_states, indptr.astype(np.int64), indices.astype(np.int32), data)
