"""Quantities that states or rows can be coloured by: missing information, utilities, visits, or custom values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.labels import DiscoveredLabels
from berlyne.models.internal_model import InternalModel, expected_missing_by_row
from berlyne.sparse import by_action
from berlyne.strategies.utilities import TWO_NOVELTIES, UTILITIES
from berlyne.validation import FloatArray, check_flag
from berlyne.worlds import World

if TYPE_CHECKING:
    from berlyne.exploration.explorer import Explorer

SUMS = ("missing information", "expected missing information", "visits")
"""Quantities that are summed over the rows of a state."""
NAMES = (*SUMS, "utility", *UTILITIES)


@dataclass(frozen=True, eq=False)
class Quantity:
    """Values that states or rows are coloured by.

    Attributes
    ----------
    values : ndarray of shape (N,) or (M, N)
        One value for each state, or for each row `[a, s]`.
    label : str
        Name of the quantity with its unit; empty for custom values.
    in_world_order : bool
        Whether the values are in the order of a world's states and actions; else they are in the model's order.
    """

    values: FloatArray
    label: str
    in_world_order: bool = False

    def by_state(self) -> Quantity:
        """Return one value for each state: the sum over its rows for quantities in `SUMS`, else the largest."""
        if self.values.ndim == 1:
            return self
        if self.label.startswith(SUMS):
            return replace(self, values=self.values.sum(axis=0))
        return replace(self, values=self.values.max(axis=0), label=f"largest {self.label}".strip())

    def mask_states(self, states: Iterable[int]) -> Quantity:
        """Return a copy that is NaN in these states."""
        values = np.array(self.values, dtype=float)
        values[..., list(states)] = np.nan
        return replace(self, values=values)


def model_quantity(
    model: InternalModel, name_or_values: Any, world: World | None = None, rows: bool | None = None
) -> Quantity:
    """Return a quantity of a model.

    Named quantities are NaN in the model's cell for undiscovered states, because you cannot act there, unless it is the
    only cell.

    Parameters
    ----------
    model : InternalModel
        The model.
    name_or_values : str or array_like
        Name of a quantity, or values of shape (N,) or (M, N).
    world : World, optional
        The true world, required for missing information.
    rows : bool, optional
        Whether to return one value for each row. By default utilities and arrays of shape (M, N) are by row, and the
        quantities in `SUMS` are summed over actions.

    Returns
    -------
    Quantity
        The values with a label.
    """
    check_flag("rows", rows)
    if isinstance(name_or_values, str):
        quantity = _named(model, name_or_values, world)
    else:
        quantity = _custom(name_or_values, model.n_actions, model.n_states)
    by_row = quantity.values.ndim == 2 and not quantity.label.startswith(SUMS) if rows is None else rows
    if rows and quantity.values.ndim == 1:
        raise ValueError(
            "`what` has one number for each state; rows=True needs one for each row, (n_actions, n_states)"
        )
    return quantity if by_row else quantity.by_state()


def explorer_quantity(
    explorer: Explorer, name_or_values: Any, world: World | None = None, rows: bool | None = None
) -> Quantity:
    """Return a quantity of an explorer; see `model_quantity`.

    "utility" is the utility of the explorer's strategy. Expected missing information is zero in known terminal states.
    Utilities that are selected by their own name are NaN there.
    """
    check_flag("rows", rows)
    model = explorer.model
    if isinstance(name_or_values, str) and name_or_values == "utility":
        utility = explorer.strategy.utility
        label = str(utility or "utility")
        if isinstance(utility, str) and _unit(utility):
            label = f"{utility} ({_unit(utility)})"
        quantity = _mask_undiscovered(model, Quantity(np.asarray(explorer.utility(), dtype=float), label))
        return quantity if rows is None or rows else quantity.by_state()
    if isinstance(name_or_values, str) and name_or_values == "expected missing information":
        bits = explorer.expected_missing_information().rows
        quantity = _mask_undiscovered(model, Quantity(bits, f"{name_or_values} (bits)"))
        return quantity if rows else quantity.by_state()
    quantity = model_quantity(model, name_or_values, world, rows)
    is_utility = isinstance(name_or_values, str) and name_or_values in UTILITIES
    return quantity.mask_states(explorer._terminal) if is_utility else quantity


def _mask_undiscovered(model: InternalModel, quantity: Quantity) -> Quantity:
    """Return a quantity that is NaN in the cell for undiscovered states, unless this is the only cell."""
    discovers = isinstance(model.state_labels, DiscoveredLabels) and model.n_states > 1
    return quantity.mask_states([model.n_states - 1]) if discovers else quantity


def _named(model: InternalModel, name: str, world: World | None) -> Quantity:
    match name:
        case "missing information":
            if world is None:
                raise ValueError(
                    "missing information needs the true world; pass world=..., or plot the expected missing information"
                )
            return Quantity(model.missing_information_by_row(world), f"{name} (bits)", in_world_order=True)
        case "expected missing information":
            return _mask_undiscovered(model, Quantity(expected_missing_by_row(model), f"{name} (bits)"))
        case "visits":
            visits = by_action(model.sparse_counts.totals, model.n_actions).astype(float)
            return _mask_undiscovered(model, Quantity(visits, name))
        case "utility":
            name = "PIG"
    if name == "novelty" and name not in UTILITIES:
        raise ValueError(TWO_NOVELTIES)
    if name not in UTILITIES:
        raise ValueError(f"`what` is {name!r}; it must be an array, or one of {', '.join(NAMES)}")
    unit = _unit(name)
    return _mask_undiscovered(model, Quantity(UTILITIES[name].of(model), f"{name} ({unit})" if unit else name))


def _unit(name: Any) -> str:
    unit = UTILITIES[name].unit if name in UTILITIES else "1"
    return "" if unit == "1" else unit


def _custom(numbers: Any, n_actions: int, n_states: int) -> Quantity:
    if np.iscomplexobj(numbers):
        raise ValueError("`what` contains complex numbers; they must be real, such as np.abs(what)")
    try:
        values = np.array(numbers, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty((0, 0, 0))
    if values.shape not in ((n_states,), (n_actions, n_states)):
        shown = f"an array of shape {values.shape}" if values.ndim < 3 else repr(numbers)[:60]
        raise ValueError(
            f"`what` is {shown}; it must have one number for each state, ({n_states},), or for each row, "
            f"({n_actions}, {n_states}), or be one of {', '.join(NAMES)}"
        )
    if np.all(np.isnan(values)):
        raise ValueError("all values of `what` are NaN; at least one must be a number")
    return Quantity(values, "")
