"""Lower bounds of the loss that explorers leave after a number of steps; see docs/explanation/bounds.md."""

from __future__ import annotations

from functools import cached_property
from typing import get_args

import numpy as np

from berlyne.bounds.flow import Program
from berlyne.bounds.learning import Loss, Policies, parts_of
from berlyne.frozen import Frozen, read_only
from berlyne.priors import Prior
from berlyne.sparse import by_action
from berlyne.validation import FloatArray, check_count
from berlyne.worlds.world import NO_PRIOR, World, check_world

N_TANGENTS = 12
"""Number of times at which the bound of a whole curve is computed."""
CURVE_TOLERANCE = 1e-3
"""Accuracy of the bound at these times, as a share; it errs to the lower side."""


class FluidBound(Frozen):
    """Lower bound of the expected loss of explorers that know the world; `berlyne.bounds.fluid` returns it.

    Attributes
    ----------
    world : World
        The world, with the prior under which losses are measured.
    n_steps : int
        Number of steps T.
    loss : {"missing information", "l1"}
        Measure of the loss, summed over the rows that count.
    policies : {"adaptive", "fixed"}
        Explorers for which it is a bound.
    value : float
        Smallest expected loss after T steps, in bits or as an L1 distance.
    initial : float
        Loss before the first step.
    visits : ndarray of shape (M, N)
        Expected number of looks at each row `[a, s]` that attain it; they sum to T.
    """

    world: World
    n_steps: int
    loss: Loss
    policies: Policies
    value: float
    initial: float
    visits: FloatArray
    _program: Program
    _slope: float

    def __init__(self, world: World, n_steps: int, loss: Loss, policies: Policies) -> None:
        parts = parts_of(world, loss, policies, n_steps)
        initial = sum(float(part.curve.losses[0]) for of_row in parts for part in of_row)
        vars(self).update(world=world, n_steps=n_steps, loss=loss, policies=policies, initial=initial)
        vars(self).update(_program=Program(world, parts, n_steps))
        solution = self._program.solve(n_steps)
        vars(self).update(value=min(solution.value, initial), _slope=solution.slope)
        vars(self).update(visits=read_only(by_action(solution.visits, world.n_actions)))

    def _remedy(self, name: str) -> str:
        return "compute a new one with berlyne.bounds.fluid(world, n_steps)"

    def __repr__(self) -> str:
        unit = " bits" if self.loss == "missing information" else " (L1)"
        at = f"{self.n_steps:,} step{'s' * (self.n_steps != 1)}"
        return (
            f"FluidBound({self.world.name}: {self.initial:.4g} -> at least {self.value:.4g}{unit} after {at}, "
            f"{self.policies} looks)"
        )

    @cached_property
    def curve(self) -> FloatArray:
        """Lower bound of the expected loss before the first and after every step, `(n_steps + 1,)`.

        The bound is a convex function of the number of steps. It is computed at a few times, and is at least as large
        as the tangents there.
        """
        times = np.unique(np.round(self.n_steps * np.linspace(0.0, 1.0, N_TANGENTS + 1)[1:-1] ** 2))
        tangents = [(float(self.n_steps), self.value, self._slope)]
        for time in times[times > 0].tolist():
            solution = self._program.solve(time, CURVE_TOLERANCE, patience=1)
            tangents.append((time, solution.value, solution.slope))
        t = np.arange(self.n_steps + 1)
        lines = [value + slope * (t - time) for time, value, slope in tangents]
        curve = np.clip(np.max(lines, axis=0), 0.0, self.initial)
        curve[0] = self.initial
        return read_only(curve)

    @property
    def area(self) -> float:
        """Lower bound of the expected area under the learning curve, the sum of `curve` (R14)."""
        return float(self.curve.sum())


def fluid(
    world: World,
    n_steps: int,
    loss: Loss = "missing information",
    *,
    policies: Policies = "adaptive",
    prior: Prior | None = None,
) -> FluidBound:
    """Compute a lower bound of the loss that explorers which know the world leave after `n_steps` steps, on average.

    A linear program over expected visits: the flow equations of the true world with its resets, and the expected
    learning curve of each row, made convex. HiGHS solves it (`scipy.optimize.linprog`). See
    docs/explanation/bounds.md.

    Parameters
    ----------
    world : World
        The true world, with a start, terminal states, possible actions and a horizon.
    n_steps : int
        Number of steps T, at least 0.
    loss : {"missing information", "l1"}
        Missing information in bits (Eq. 2, `eq:IM`), or the L1 distance, of the rows that count
        (`World.measured_rows`).
    policies : {"adaptive", "fixed"}
        "adaptive" is a bound for all explorers, also for one that knows a row and stops looking when its estimate
        happens to be right. "fixed" assumes that the number of looks at a row does not depend on what they show. It is
        larger, and a bound only for such explorers: others can stay below it.
    prior : Prior, optional
        Prior under which the loss is measured; by default that of the world. `Dirichlet` with a fixed alpha, or
        `OneTwoThree`.

    Returns
    -------
    FluidBound
        `value`, the loss left; `visits`, the expected looks `[a, s]`; `curve` and `area`, the same for all times.

    Examples
    --------
    >>> import berlyne
    >>> world = berlyne.maze(0, side=3, n_transporters=2)
    >>> bound = fluid(world, 200)
    >>> bool(0 < bound.value < berlyne.explore(world, "PIG(VI)", n_steps=200, seed=0).missing_information[-1])
    True
    """
    world = check_world(world) if prior is None else check_world(world).with_prior(prior)
    if world.prior is None:
        raise ValueError(NO_PRIOR)
    for name, value, valid in (("loss", loss, get_args(Loss)), ("policies", policies, get_args(Policies))):
        if value not in valid:
            raise ValueError(f"{name} is {value!r}; it must be {valid[0]!r} or {valid[1]!r}")
    return FluidBound(world, check_count("n_steps", n_steps, 0), loss, policies)
