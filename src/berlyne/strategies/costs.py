r"""Utility per cost: coordination when actions cost different amounts of time, money or material.

A greedy choice takes the action of largest U / c. A plan looks at sums. Its value is

$$\rho = \frac{E[\sum_t \gamma^t U(a_t, s_t)]}{E[\sum_t \gamma^t c(a_t, s_t)]}$$

which is the utility that it is expected to collect per unit of cost. So a step that teaches nothing is not free: it has
its cost, also on the way to a state where there is more to learn. Planning with U / c as the reward would ignore this.

The value of an action is the largest ratio of all plans that begin with it. It is found by Dinkelbach's method: for
a guess of the ratio, value iteration with the reward U - rho c gives a plan, whose own ratio is the next guess. The
guesses increase, and stop after a few rounds at the largest ratio.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from berlyne.frozen import read_only
from berlyne.labels import Labels
from berlyne.strategies.coordination import Greedy, Relocating, ValueIteration, ValueMethod, View
from berlyne.strategies.registry import Strategy
from berlyne.validation import BoolArray, FloatArray, check_number, short_repr

MAX_ROUNDS = 100
"""Largest number of guesses of a ratio; each improves the plan, so a few are enough."""
MAX_COST = 1e12
"""Largest cost of an action."""
TOLERANCE = 1e-12
"""Relative increase of a ratio that is only rounding."""


def parse_costs(costs: Any, n_states: int | None, actions: Labels) -> FloatArray:
    """Return the cost of each action in each state, (M, N) or, if it does not depend on the state, (M, 1).

    Parameters
    ----------
    costs : mapping or array of shape (M,) or (M, N)
        A mapping from actions to costs, in which the other actions cost 1; or the costs `[a]` or `[a, s]`.
    n_states : int or None
        Number of states; None if they are discovered, so that costs cannot depend on them.
    actions : Labels
        Labels of the actions.
    """
    if isinstance(costs, Mapping):
        by_action = np.ones((actions.size, 1))
        for action, cost in costs.items():
            number = actions.number(action, "an action of costs")
            by_action[number] = check_number(f"the cost of action {action!r}", cost, 0.0, MAX_COST, open_low=True)
        return read_only(by_action)
    shapes = [(actions.size,)] if n_states is None else [(actions.size,), (actions.size, n_states)]
    try:
        parsed: FloatArray = np.array(costs, dtype=float)
    except (TypeError, ValueError):
        parsed = np.empty(0)
    if parsed.shape not in shapes or not np.all((parsed > 0.0) & (parsed <= MAX_COST)):
        described = " or ".join(map(str, shapes))
        raise ValueError(
            f"costs is {short_repr(costs)}; it must be a mapping from actions to positive numbers, or positive numbers "
            f"of shape {described}"
        )
    return read_only(parsed.reshape(actions.size, -1))


def strategy_per_cost(strategy: Strategy, costs: FloatArray) -> Strategy:
    """Return the strategy that an agent runs if its actions have costs.

    A strategy without a utility, such as Random, is not changed.

    Raises
    ------
    ValueError
        If the method of the strategy cannot compare utilities per cost.
    """
    method = strategy.coordinate
    if strategy.utility is None and not isinstance(method, ValueIteration):
        return strategy
    if type(method) is Relocating:
        return replace(strategy, coordinate=RelocatingPerCost(costs))
    if type(method) is Greedy:
        return replace(strategy, coordinate=PlanPerCost(ValueIteration(steps_back=0), costs))
    if type(method) is ValueIteration and not method.keeps_plans:
        return replace(strategy, coordinate=PlanPerCost(method, costs))
    raise ValueError(
        f"{strategy} cannot compare utilities per cost; use a greedy strategy, value iteration that plans at every "
        "step, such as PIG(VI), or Unembodied"
    )


@dataclass(frozen=True, eq=False)
class PlanPerCost(ValueMethod):
    """Action that begins the plan of largest utility per cost.

    Parameters
    ----------
    plan : ValueIteration
        Steps, discount, and what follows an end.
    costs : ndarray of shape (M, N) or (M, 1)
        Cost of each action in each state.
    """

    plan: ValueIteration
    costs: FloatArray

    def values(self, view: View, s: int) -> FloatArray:
        """Return the largest utility per cost of the plans that begin with each action, (M,)."""
        costs = np.broadcast_to(self.costs, view.utility.shape)
        ratio = np.zeros(view.n_actions)
        for i in range(MAX_ROUNDS):
            u, c = self._sums(view, costs, ratio)  # (M, N): of the best plan for each ratio, one per first action
            after = view.theta_hat[:, s]
            total = view.utility[:, s] + self.plan.gamma * (after * u).sum(axis=1)
            better = total / (costs[:, s] + self.plan.gamma * (after * c).sum(axis=1))
            if i > 0 and np.all(better <= ratio + TOLERANCE * np.abs(ratio)):
                break
            ratio = np.maximum(ratio, better) if i > 0 else better  # the first guess need not be the ratio of a plan
        return np.asarray(ratio)

    def _sums(self, view: View, costs: FloatArray, ratio: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the expected sums of utility and cost after the first step, `[ratio, s]`, of the best plans."""
        n_steps = self.plan.steps_back if view.steps_left is None else min(self.plan.steps_back, view.steps_left - 1)
        has_ends = view.terminal is not None and bool(np.any(view.terminal))
        impossible: BoolArray | None = None if view.possible is None else ~np.asarray(view.possible)
        of_step = np.stack(np.broadcast_arrays(view.utility, costs))[:, None]  # (2, 1, M, N): utility and cost
        sums = np.zeros((2, len(ratio), view.n_states))
        plan, state = np.arange(len(ratio))[:, None], np.arange(view.n_states)
        for _ in range(n_steps):
            later = (view.theta_hat @ sums[:, :, None, :, None])[..., 0]
            u, c = all_sums = of_step + self.plan.gamma * later  # (2, K, M, N)
            worth = u - ratio[:, None, None] * c
            if impossible is not None:
                worth[:, impossible] = -np.inf
            best = worth.argmax(axis=1)  # (K, N)
            sums = np.stack([one[plan, best, state] for one in all_sums])
            if has_ends:
                self._go_on_after_ends(view, *sums)
        return sums[0], sums[1]

    def _go_on_after_ends(self, view: View, *sums: FloatArray) -> None:
        """Set the sums of terminal states, as `View.best` does: those of the first state of the next episode, or 0."""
        begin = view.terminal & False if view.starts is None else (view.starts > 0) & ~view.terminal
        restarts = self.plan.after_end == "restart" and np.any(begin)
        for values in sums:
            values[:, view.terminal] = 0.0
            if restarts:
                values[:, view.terminal] = np.average(values[:, begin], axis=1, weights=view.starts[begin])[:, None]


@dataclass(frozen=True, eq=False)
class RelocatingPerCost(Relocating):
    """Action of largest utility per cost in any state, after relocating to that state.

    Parameters
    ----------
    costs : ndarray of shape (M, N) or (M, 1)
        Cost of each action in each state.
    """

    costs: FloatArray

    def pair_values(self, view: View) -> FloatArray:
        """Return the utility per cost of all pairs, `[s, a]`."""
        return np.ascontiguousarray((view.utility / self.costs).T)

    def values(self, view: View, s: int) -> FloatArray:
        """Return the utility per cost of the actions in state `s`."""
        return np.asarray((view.utility / self.costs)[:, s])
