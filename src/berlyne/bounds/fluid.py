"""Lower bounds of the loss that explorers leave after a number of steps; see docs/explanation/bounds.md."""

from __future__ import annotations

from functools import cached_property
from typing import get_args

import numpy as np

from berlyne.bounds import flow
from berlyne.bounds.flow import Program
from berlyne.bounds.learning import Loss, Part, Policies, parts_of
from berlyne.bounds.prices import PricedProgram
from berlyne.frozen import Frozen, read_only
from berlyne.priors import Prior
from berlyne.sparse import by_action
from berlyne.validation import FloatArray, check_count
from berlyne.worlds.world import NO_PRIOR, World, check_world


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
    gap : float
        Share of the smallest loss of the program by which `value` can be too low. 0 if the linear program was solved.
        In worlds with a long horizon prices of looks prove the bound, and `visits` leave value / (1 - gap).
    """

    world: World
    n_steps: int
    loss: Loss
    policies: Policies
    value: float
    initial: float
    visits: FloatArray
    gap: float
    _program: Program | PricedProgram
    _slope: float

    def __init__(self, world: World, n_steps: int, loss: Loss, policies: Policies) -> None:
        parts = parts_of(world, loss, policies, n_steps)
        initial = sum(float(part.curve.losses[0]) for of_row in parts for part in of_row)
        vars(self).update(world=world, n_steps=n_steps, loss=loss, policies=policies, initial=initial)
        vars(self).update(_program=_program(world, parts, n_steps))
        solution = self._program.solve(n_steps)
        vars(self).update(value=min(solution.value, initial), _slope=solution.slope, gap=solution.gap)
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

        The bound is a convex function of the number of steps. It is computed at a few times, less accurately but not
        too large, and is at least as large as the tangents there.
        """
        times = np.unique(np.round(self.n_steps * np.linspace(0.0, 1.0, self._program.n_tangents + 1)[1:-1] ** 2))
        tangents = [(float(self.n_steps), self.value, self._slope)]
        for time in times[times > 0].tolist():
            solution = self._program.solve(time, rough=True)
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


def _program(world: World, parts: list[list[Part]], n_steps: int) -> Program | PricedProgram:
    """Return the linear program, or with many steps of an episode, the program that is solved by prices."""
    horizon = world.horizon
    if horizon is None or horizon >= n_steps or horizon * np.count_nonzero(world.possible_rows) <= flow.MAX_VISITS:
        return Program(world, parts, n_steps)
    is_large = (horizon + 1) * world.n_states > flow.MAX_LEVELS
    return Program(world, parts, n_steps) if is_large or not parts else PricedProgram(world, parts, n_steps)


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
    learning curve of each row, made convex. HiGHS solves it (`scipy.optimize.linprog`). If visits in every step of an
    episode make it too large, prices of looks give a bound that is proved and nearly as large (`FluidBound.gap`). See
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
