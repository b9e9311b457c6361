"""Priors whose parameters are learned during exploration.

Such a prior has a method `refit(counts)`, which returns the prior with the parameters that fit the counts. Its
attribute `schedule` says when agents call it. After a refit, agents estimate and value all rows again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from berlyne.validation import FloatArray, check_count, check_number, short_repr

MOST_LIKELY: Final = "ml"
"""Value of a parameter that explorers learn by maximum likelihood."""
MAX_SHARE = 1e6
"""Largest growth and tolerance."""


@dataclass(frozen=True)
class Refit:
    """When a prior is fitted again to what was observed, and when the new parameters are used.

    An explorer that discovers its states also refits the prior whenever a step discovers a state.

    Parameters
    ----------
    always : int
        The prior is refitted after each of the first `always` observations, and the new parameters are used.
    growth : float
        After these, the prior is refitted whenever the number of observations has grown by this share since the last
        refit; 0 for every observation, 1 for every doubling.
    tolerance : float
        After the first `always` observations, new parameters are used only if one of them differs by more than this
        share from the one in force.

    Examples
    --------
    >>> Refit(always=10, growth=0.1).next_refit(100)
    110
    """

    always: int = 10
    growth: float = 0.1
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        always = check_count("always", self.always, 0)
        growth = check_number("growth", self.growth, 0.0, MAX_SHARE)
        tolerance = check_number("tolerance", self.tolerance, 0.0, MAX_SHARE)
        vars(self).update(always=always, growth=growth, tolerance=tolerance)

    def next_refit(self, n_obs: int) -> int:
        """Return the number of observations at which the next refit is due, after one at `n_obs`; 0 for none yet."""
        return next_refit(n_obs, self.always, self.growth)

    def accepts(self, new: Any, prior: Any, n_obs: int) -> bool:
        """Return whether a prior that was refitted after `n_obs` observations replaces `prior`."""
        values, old_values = _compared_values(new), _compared_values(prior)
        if values.shape != old_values.shape or not values.size:
            return new is not prior
        pairs = zip(values.tolist(), old_values.tolist(), strict=True)
        return any(is_used(value, old, n_obs, self.always, self.tolerance) for value, old in pairs)


# The engine compiles these two functions as well.


def next_refit(n_obs: int, always: int, growth: float) -> int:
    """Return the number of observations at which a refit is due, see `Refit.next_refit`."""
    if n_obs < always:
        return n_obs + 1
    return n_obs + max(1, math.ceil(growth * n_obs))


def is_used(new: float, old: float, n_obs: int, always: int, tolerance: float) -> bool:
    """Return whether a new value of a parameter is used instead of the old one, see `Refit`."""
    return new != old and (n_obs <= always or abs(new - old) > tolerance * abs(old))


DEFAULT_SCHEDULE = Refit()
"""The schedule of `Dirichlet("ml")`, and of a prior that has a method `refit` and no schedule."""
EVERY_STEP = Refit(always=200, growth=0.0, tolerance=1e-3)
"""The schedule of Fig. S5 (reading R24)."""
ON_DOUBLING = Refit(always=0, growth=1.0)
"""The schedule of `ChineseRestaurant("ml")`."""


def refit_schedule(prior: Any) -> Refit | None:
    """Return the schedule of a prior that learns its parameters; None for a prior whose parameters are fixed.

    A prior with a method `refit` but no attribute `schedule` has the default schedule.
    """
    if not hasattr(prior, "refit"):
        return None
    schedule: Refit | None = getattr(prior, "schedule", DEFAULT_SCHEDULE)
    return schedule


def check_schedule(schedule: Any, default: Refit | None = None) -> Refit | None:
    """Return a schedule, or the default instead of None; a `ValueError` if it is neither."""
    if schedule is not None and not isinstance(schedule, Refit):
        raise ValueError(
            f"schedule is {short_repr(schedule)}; it must be a Refit, such as Refit(always=10, growth=0.1)"
        )
    return default if schedule is None else schedule


def learned_values(prior: Any) -> FloatArray:
    """Return the parameters that a prior has learned, (P,): its attribute `learned`, empty without a schedule."""
    if refit_schedule(prior) is None:
        return np.empty(0)
    return np.atleast_1d(np.asarray(getattr(prior, "learned", ()), dtype=float))


def _compared_values(prior: Any) -> FloatArray:
    """Return the parameters that a tolerance applies to: those learned, or `weights` if their number grows."""
    weights = getattr(prior, "weights", None) if not hasattr(prior, "learned") else None
    return np.array(list(weights.values())) if isinstance(weights, dict) else learned_values(prior)


def check_bounds(bounds: tuple[float, float], least: float, most: float) -> None:
    """Raise a `ValueError` if `bounds` are not two rising numbers in [least, most]."""
    low, high = bounds
    if not least <= low < high <= most:
        raise ValueError(
            f"bounds are {bounds!r}; they must be two numbers in [{least:g}, {most:g}], the lower one first"
        )
