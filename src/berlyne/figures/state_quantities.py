"""What states or rows can be coloured by: missing information, utility, visits, or numbers of a user's own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.labels import DiscoveredLabels
from berlyne.models.internal_model import InternalModel, expected_missing_by_row
from berlyne.sparse import by_action
from berlyne.strategies.utilities import UTILITIES
from berlyne.validation import FloatArray, check_flag
from berlyne.worlds import World

if TYPE_CHECKING:
    from berlyne.exploration.explorer import Explorer

SUMS = ("missing information", "expected missing information", "visits")
"""Quantities of rows that add up to one of the state."""
NAMES = (*SUMS, "utility", *UTILITIES)


@dataclass(frozen=True, eq=False)
class Quantity:
    """Numbers to colour by.

    values : (N,), one for each state, or (M, N), `[a, s]`, one for each row.
    label : what they are, with the unit.
    placed : whether they are in the order of a world's states and actions; else they are in the model's.
    """

    values: FloatArray
    label: str
    in_world_order: bool = False

    def by_state(self) -> Quantity:
        """The same, one for each state: rows added up if that means something, else the largest."""
        if self.values.ndim == 1:
            return self
        if self.label.startswith(SUMS):
            return replace(self, values=self.values.sum(axis=0))
        return replace(self, values=self.values.max(axis=0), label=f"largest {self.label}".strip())

    def mask_states(self, states: Iterable[int]) -> Quantity:
        """The same with no value in these states."""
        values = np.array(self.values, dtype=float)
        values[..., list(states)] = np.nan
        return replace(self, values=values)


def model_quantity(model: InternalModel, what: Any, world: World | None = None, rows: bool | None = None) -> Quantity:
    """A quantity of a model, by name or as an array (N,) or (M, N).

    Elsewhere, where nobody can act, has no value of a name, unless it is all that there is.

    world : the true world, which missing information is about.
    rows : whether each row has a value of its own; by default utilities and arrays (M, N) have, and what adds up over
        actions is added up.
    """
    check_flag("rows", rows)
    found = _named(model, what, world) if isinstance(what, str) else _given(what, model.n_actions, model.n_states)
    apart = found.values.ndim == 2 and not found.label.startswith(SUMS) if rows is None else rows
    if rows and found.values.ndim == 1:
        raise ValueError("what has one number for each state; rows=True needs one for each row, (n_actions, n_states)")
    return found if apart else found.by_state()


def explorer_quantity(explorer: Explorer, what: Any, world: World | None = None, rows: bool | None = None) -> Quantity:
    """The same of an explorer: its utility is what its strategy values, and ends of episodes miss nothing.

    A utility by name has no value in states where episodes are known to end.
    """
    check_flag("rows", rows)
    model = explorer.model
    if isinstance(what, str) and what == "utility":
        name = explorer.strategy.utility
        label = f"{name} ({_unit(name)})" if isinstance(name, str) and _unit(name) else str(name or "utility")
        found = _where_one_acts(model, Quantity(np.asarray(explorer.utility(), dtype=float), label))
        return found if rows is None or rows else found.by_state()
    if isinstance(what, str) and what == "expected missing information":
        found = _where_one_acts(model, Quantity(explorer.expected_missing_information().rows, f"{what} (bits)"))
        return found if rows else found.by_state()
    found = model_quantity(model, what, world, rows)
    return found.mask_states(explorer._terminal) if isinstance(what, str) and what in UTILITIES else found


def _where_one_acts(model: InternalModel, found: Quantity) -> Quantity:
    """A quantity of a model's rows without a value elsewhere, unless nothing else is there."""
    discovers = isinstance(model.state_labels, DiscoveredLabels) and model.n_states > 1
    return found.mask_states([model.n_states - 1]) if discovers else found


def _named(model: InternalModel, what: str, world: World | None) -> Quantity:
    match what:
        case "missing information":
            if world is None:
                raise ValueError(
                    "missing information is about the true world; give world=..., or plot the expected one"
                )
            return Quantity(model.missing_information_by_row(world), f"{what} (bits)", in_world_order=True)
        case "expected missing information":
            return _where_one_acts(model, Quantity(expected_missing_by_row(model), f"{what} (bits)"))
        case "visits":
            visits = by_action(model.sparse_counts.totals, model.n_actions).astype(float)
            return _where_one_acts(model, Quantity(visits, what))
        case "utility":
            what = "PIG"
    if what not in UTILITIES:
        raise ValueError(f"what is {what!r}; it must be an array, or one of {', '.join(NAMES)}")
    unit = _unit(what)
    return _where_one_acts(model, Quantity(UTILITIES[what].of(model), f"{what} ({unit})" if unit else what))


def _unit(name: Any) -> str:
    unit = UTILITIES[name].unit if name in UTILITIES else "1"
    return "" if unit == "1" else unit


def _given(what: Any, n_actions: int, n_states: int) -> Quantity:
    if np.iscomplexobj(what):
        raise ValueError("what has complex numbers; they must be real, such as np.abs(what)")
    try:
        values = np.array(what, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty((0, 0, 0))
    if values.shape not in ((n_states,), (n_actions, n_states)):
        said = f"an array of shape {values.shape}" if values.ndim < 3 else repr(what)[:60]
        raise ValueError(
            f"what is {said}; it must be a number for each state, ({n_states},), or for each row, "
            f"({n_actions}, {n_states}), or one of {', '.join(NAMES)}"
        )
    if np.all(np.isnan(values)):
        raise ValueError("what is NaN everywhere; at least one state must have a number to be coloured by")
    return Quantity(values, "")
