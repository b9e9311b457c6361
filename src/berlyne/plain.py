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

from berlyne.arrays import FloatArray, check_dense
from berlyne.coordination import View
from berlyne.information import kl_divergence
from berlyne.model import InternalModel
from berlyne.rows import Counts
from berlyne.strategies import Strategy
from berlyne.trace import Trace
from berlyne.utilities import UTILITIES, first_utilities
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
        self.view = View(
            utility=self._first_utilities(model),
            theta_hat=model.theta_hat,
            counts=model.counts,
            visits=np.zeros(model.n_states, dtype=np.int64),
        )
        self.theta = None if world is None else world.theta
        self.here = -1
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
        if self.exact is not None:
            view.theta_hat[a, s] = self.exact.row_estimate(view.counts[a, s], a, s)
        else:
            view.theta_hat[...] = self.prior.estimate(view.counts)
        realised = isinstance(utility, str) and UTILITIES[utility].realised
        if realised and self.exact is None:
            view.utility[a, s] = max(float(kl_divergence(view.theta_hat[a, s], before)), 0.0)
        elif utility is not None:
            view.utility[a, s] = self._value(a, s, s_next)
        reward = view.utility[a, s] if realised else reward
        self._call("learn", view, s, a, s_next, reward)
        view.visits[s_next] += 1
        self.here = s_next

    def run(self, world: World, trace: Trace, u_agent: FloatArray, u_world: FloatArray) -> int:
        """Choose, transition, learn, measure; once for each line of `u_agent`. Returns the steps made, all of them."""
        theta, theta_hat = world.theta, self.view.theta_hat
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
            missing_before, distance_before = missing[a, s], distance[a, s]
            missing[a, s] = kl_divergence(theta[a, s], theta_hat[a, s])
            distance[a, s] = np.abs(theta[a, s] - theta_hat[a, s]).sum()
            trace.missing[t + 1] = trace.missing[t] - (missing_before - missing[a, s])
            trace.l1[t + 1] = trace.l1[t] - (distance_before - distance[a, s])
        return len(u_world)

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

    def _first_utilities(self, model: InternalModel) -> FloatArray:
        utility = self.strategy.utility
        if utility is None or isinstance(utility, str):
            return first_utilities(model, utility, self.strategy.untried)
        pairs = np.ndindex(model.n_actions, model.n_states)
        values = [utility(model.theta_hat_row(a, s), model.theta_hat_after(a, s)) for a, s in pairs]
        return np.array(values, dtype=float).reshape(model.n_actions, model.n_states)

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
