"""The explorer's mind in plain NumPy: easy to read, and open to anything a user brings.

This is the reference for the compiled engine, and it runs what the engine does not know: a prior,
a utility or a coordination method that is the user's own. One observation changes one row, so
one row is estimated and valued again after each step.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from berlyne.arrays import FloatArray, IntArray, check_dense
from berlyne.coordination import View
from berlyne.information import kl_divergence
from berlyne.model import ROUNDING, InternalModel
from berlyne.rows import Counts
from berlyne.strategies import Strategy
from berlyne.trace import Trace
from berlyne.utilities import UTILITIES, first_utilities, row_by_row
from berlyne.worlds.world import World


class PlainMind:
    """Beliefs, utilities and choices of one explorer, as dense arrays.

    Parameters
    ----------
    model : what it knows at first.
    strategy : how it acts.
    world : the true world, only for a strategy that may see it.
    """

    def __init__(self, model: InternalModel, strategy: Strategy, world: World | None = None) -> None:
        instead = "a prior, a utility and a method of berlyne's own, which are compiled"
        check_dense("the explorer's model", model.n_actions, model.n_states, instead)
        self.prior, self.exact, self.strategy = model.prior, model.exact, strategy
        self.coordinate: Any = copy.deepcopy(strategy.coordinate)
        self.dependent = not model.rows_are_independent
        self.view = View(
            utility=self._utilities(model),
            theta_hat=model.theta_hat,
            counts=model.counts,
            visits=np.zeros(model.n_states, dtype=np.int64),
        )
        self._first = self.view.utility.copy()
        self.theta = None if world is None else world.theta
        self.here = -1
        self.closed: IntArray = np.empty(0, dtype=np.int64)
        self._call("start", self.view)

    def act(self, s: int, u: FloatArray) -> int:
        """The action to take in state `s`."""
        self._arrive(s)
        view = self.view if self.theta is None else replace(self.view, theta_hat=self.theta)
        choose = getattr(self.coordinate, "choose", self.coordinate)
        a = int(choose(view, s, u))
        if not 0 <= a < self.view.n_actions:
            raise ValueError(f"{self.strategy} chose action {a}; actions are numbered 0 to {self.view.n_actions - 1}")
        return a

    def choose_pair(self, u: FloatArray) -> tuple[int, int]:
        """The state to go to and the action to take there, of a strategy that may relocate."""
        pair: tuple[int, int] = self.coordinate.choose_pair(self.view, u)
        return pair

    def observe(self, s: int, a: int, s_next: int) -> None:
        """Learn one transition."""
        self._arrive(s)
        view, utility = self.view, self.strategy.utility
        if not view.theta_hat[a, s, s_next] > 0.0:
            raise ValueError(f"action {a} in state {s} led to state {s_next}, which the prior calls impossible")
        before, reward = view.theta_hat[a, s].copy(), view.utility[a, s]
        view.counts[a, s, s_next] += 1
        others_moved = self._estimate(a, s)
        realised = isinstance(utility, str) and UTILITIES[utility].realised
        if realised and self.exact is None:
            view.utility[a, s] = max(float(kl_divergence(view.theta_hat[a, s], before)), 0.0)
        elif others_moved and utility is not None:
            view.utility[...] = self._utilities(InternalModel.from_counts(self.prior, self.counts(), {}))
            self._value_closed()
        elif utility is not None:
            view.utility[a, s] = self._value(a, s, s_next)
        reward = view.utility[a, s] if realised else reward
        self._call("learn", view, s, a, s_next, reward)
        view.visits[s_next] += 1
        self.here = s_next

    def close(self, states: IntArray) -> None:
        """Know that episodes end in these states: no action can be taken there, so none is worth anything."""
        self.closed = np.union1d(self.closed, states)
        self._value_closed()
        self._call("close", self.view, states)

    def open(self, s: int) -> None:
        """Forget that episodes end in a state in which nothing was tried."""
        self.closed = np.setdiff1d(self.closed, [s])
        utility, now = self.strategy.utility, self._first
        if self.dependent and not (isinstance(utility, str) and UTILITIES[utility].realised):
            now = self._utilities(InternalModel.from_counts(self.prior, self.counts(), {}))
        self.view.utility[:, s] = now[:, s]
        self._call("open", self.view, s)

    def _value_closed(self) -> None:
        self.view.utility[:, self.closed] = -np.inf if self.strategy.relocates else 0.0

    def run(
        self, world: World, trace: Trace, u_agent: FloatArray, u_world: FloatArray, u_start: FloatArray | None = None
    ) -> int:
        """Choose, transition, learn, measure; once for each line of `u_agent`. Returns the steps made, all of them.

        `u_start` (T,) draws where episodes begin.
        """
        theta, theta_hat, ends = world.theta, self.view.theta_hat, world.episodes.ends
        everywhere = slice(None), ~ends if np.any(ends) else slice(None)  # rows of terminal states do not count
        missing = kl_divergence(theta, theta_hat)
        distance = np.abs(theta - theta_hat).sum(axis=-1)
        for t, (u_choice, u_outcome) in enumerate(zip(u_agent, u_world, strict=True)):
            s = int(trace.states[t])
            if self.strategy.relocates:
                self._arrive(s)
                s, a = self.choose_pair(u_choice)
                self.here = s
            else:
                a = self.act(s, u_choice)
            s_next = world.sample(a, s, u_outcome)
            self.observe(s, a, s_next)
            trace.states[t], trace.actions[t], trace.outcomes[t], trace.states[t + 1] = s, a, s_next, s_next
            if ends[s_next]:
                assert u_start is not None
                trace.states[t + 1] = world.episodes.draw(u_start[t])
            rows = everywhere if self.dependent else (a, s)
            missing_before, distance_before = missing[rows].sum(), distance[rows].sum()
            missing[rows] = kl_divergence(theta[rows], theta_hat[rows])
            distance[rows] = np.abs(theta[rows] - theta_hat[rows]).sum(axis=-1)
            trace.missing[t + 1] = trace.missing[t] - (missing_before - missing[rows].sum())
            trace.l1[t + 1] = trace.l1[t] - (distance_before - distance[rows].sum())
        return len(u_world)

    def _estimate(self, a: int, s: int) -> bool:
        """Estimate row (a, s) again, and others if they depend on it; whether they did."""
        theta_hat, prior = self.view.theta_hat, self.prior
        if self.exact is not None:
            theta_hat[a, s] = self.exact.row_estimate(self.view.counts[a, s], a, s)
            return False
        new = np.asarray(prior.estimate(self.view.counts), dtype=float)
        others = np.any(np.abs(new - theta_hat) > ROUNDING, axis=-1)
        others[a, s] = False
        independent = getattr(prior, "rows_are_independent", None)
        if independent and np.any(others):
            b, z = np.argwhere(others)[0]
            raise ValueError(
                f"an outcome of action {a} in state {s} changed the estimate of action {b} in state {z}, "
                f"though {type(prior).__name__} says that rows_are_independent"
            )
        theta_hat[...] = new
        self.dependent = self.dependent or bool(np.any(others)) or independent is False
        return self.dependent

    def utility(self) -> FloatArray:
        """Current utilities `[a, s]`."""
        return self.view.utility.copy()

    def counts(self) -> Counts:
        """Observed transitions."""
        return Counts.from_dense(self.view.counts)

    def _arrive(self, s: int) -> None:
        """Count a visit to a state that the last step did not lead to."""
        if s != self.here:
            self.view.visits[s] += 1
            self.here = s

    def _call(self, hook: str, *arguments: Any) -> None:
        method = getattr(self.coordinate, hook, None)
        if method is not None:
            method(*arguments)

    def _utilities(self, model: InternalModel) -> FloatArray:
        """The utilities of all rows."""
        utility = self.strategy.utility
        if utility is not None and not isinstance(utility, str):
            return row_by_row(model, utility)
        of_row = None if utility is None else UTILITIES[utility].of_row
        if self.dependent and of_row is not None:
            return row_by_row(model, of_row)
        return first_utilities(model, utility, self.strategy.untried)

    def _value(self, a: int, s: int, s_next: int) -> float:
        """The utility of a row that has just changed."""
        utility = self.strategy.utility
        if isinstance(utility, str) and self.exact is not None:
            return self.exact.row_utility(utility, self.view.counts[a, s], a, s, s_next)
        model = InternalModel.from_counts(self.prior, self.counts(), {})
        if isinstance(utility, str):
            return float(UTILITIES[utility].of(model)[a, s])
        assert utility is not None
        return float(utility(self.view.theta_hat[a, s], model.theta_hat_after(a, s)))
