"""The agent in plain NumPy: easy to read, and open to custom parts.

This is the reference for the compiled engine. It also runs what the engine cannot compile: a custom prior, utility or
coordination method. One observation changes one row, so each step estimates and values one row again, unless the prior
is refitted.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from berlyne.agents.base import KnownStatesAgent, seed_of_numbers
from berlyne.engine.records import RunRecord
from berlyne.information import kl_divergence
from berlyne.labels import TransitionError, impossible_transition
from berlyne.models.history import UNKNOWN
from berlyne.models.internal_model import ROUNDING, InternalModel
from berlyne.priors.protocols import as_exact, checked_estimate
from berlyne.sparse import Counts, by_action
from berlyne.strategies.choice import sample_index
from berlyne.strategies.coordination import View, chooses_directly, has_values
from berlyne.strategies.indices import (
    index_of_row,
    is_global,
    last_surprise,
    make_row,
    reads,
    rows_by_index,
    state_rarity,
    surprise_of_row,
)
from berlyne.strategies.registry import Strategy
from berlyne.strategies.utilities import (
    UTILITIES,
    as_row_function,
    compute_utility,
    evaluate_rows,
    needs_estimates_after,
)
from berlyne.validation import OWN_METHOD, OWN_PRIOR, BoolArray, FloatArray, IntArray, check_dense, is_index
from berlyne.worlds.world import World

SUM_TOLERANCE = 1e-9
"""Largest deviation from 1 of the sum of probabilities that a custom method returns."""

ARRAYS = ("utility", "theta_hat", "counts", "visits", "terminal", "possible", "starts")
"""Arrays of a view that the agent changes, and methods can only read."""


def _locked(view: View) -> dict[str, Any]:
    """Return views of the arrays of a `View` that cannot be written to."""
    locked = {name: getattr(view, name).view() for name in ARRAYS}
    for array in locked.values():
        array.flags.writeable = False
    return locked


class NumpyAgent(KnownStatesAgent):
    """Beliefs, utilities and choices of one explorer, as dense arrays.

    Parameters
    ----------
    model : InternalModel
        The initial model.
    strategy : Strategy
        The strategy to run.
    world : World, optional
        The true world, only for a strategy that may see it.
    seed : numpy.random.SeedSequence, optional
        Seed of `view.rng`; by default 0.

    Attributes
    ----------
    view : View
        What a coordination method reads: utilities, estimates, counts, visits and its memory. Methods get copies of it,
        whose arrays are the same.
    dependent : bool
        Whether an observation of one row can change the estimates of other rows.
    theta : ndarray of shape (M, N, N) or None
        The true world, if the strategy may see it.
    n_refits : int
        How often the prior in force was replaced. Each time all rows are estimated and valued again.
    """

    def __init__(
        self,
        model: InternalModel,
        strategy: Strategy,
        world: World | None = None,
        seed: np.random.SeedSequence | None = None,
    ) -> None:
        alternative = "a built-in prior, utility and method, which are compiled"
        check_dense("the explorer's model", model.n_actions, model.n_states, alternative)
        super().__init__(model.prior, strategy, model.n_actions, model.n_states)
        self.exact = model.exact
        self.coordinate: Any = strategy.coordinate
        self.chooses_without_values = (
            chooses_directly(self.coordinate) and strategy.temperature == 0.0 and strategy.lapse == 0.0
        )
        self.dependent = not model.rows_are_independent
        self._index: Any = UTILITIES[strategy.utility].index if isinstance(strategy.utility, str) else None
        self._index_is_global = self._index is not None and is_global(self._index)
        reads_surprise = self._index is not None and reads(self._index, "surprise")
        self._surprise = last_surprise(model) if reads_surprise else np.empty(0)
        self._own = View(
            utility=self._utilities(model),
            theta_hat=model.theta_hat,
            counts=model.counts,
            visits=np.zeros(model.n_states, dtype=np.int64),
            terminal=np.zeros(model.n_states, dtype=np.bool_),
            possible=np.ones((model.n_actions, model.n_states), dtype=np.bool_),
            starts=np.zeros(model.n_states),
        )
        self.view = replace(self._own, **_locked(self._own), prior=self.prior, t=model.n_obs, seed=seed)
        self._n_obs, self._last, self.n_refits = model.n_obs, dict[int, int](), 0
        self.theta = None if world is None else world.theta
        self._current_state, self._episode_is_over, self._starts_are_told = -1, False, False
        self._horizon: int | None = None
        self._call("start")

    def act(self, s: int, u: FloatArray) -> int:
        """Choose an action in state `s`; `u` holds two uniform numbers in [0, 1). No side effects."""
        if not self.chooses_without_values:
            return super().act(s, u)
        a = getattr(self.coordinate, "choose", self.coordinate)(self._view_from(s), s, u)
        if not is_index(a, self.view.n_actions):
            raise ValueError(f"{self.strategy} chose action {a!r}; actions are numbered 0 to {self.view.n_actions - 1}")
        if not self.view.possible[a, s]:
            raise ValueError(
                f"{self.strategy} chose action {a!r}, which is not possible in state {s}; see view.possible"
            )
        return int(a)

    def choose_pair(self, u: FloatArray) -> tuple[int, int]:
        """Choose a state and an action in it, for a strategy that may relocate. No side effects."""
        if not self.chooses_without_values:
            return super().choose_pair(u)
        s, a = self.coordinate.choose_pair(replace(self.view), u)
        if not (is_index(s, self.view.n_states) and is_index(a, self.view.n_actions)):
            raise ValueError(f"{self.strategy} chose the pair {(s, a)!r}; there is no such state and action")
        if not self.view.possible[a, s]:
            raise ValueError(f"{self.strategy} chose the pair {(s, a)!r}, which is not possible; see view.possible")
        return int(s), int(a)

    def action_values(self, s: int) -> FloatArray:
        """Value of each action in state `s` to the coordination method, (M,); NaN if it gives no values."""
        if self.strategy.relocates:
            return np.asarray(self.pair_values()[s])
        if not has_values(self.coordinate):
            return np.full(self.view.n_actions, np.nan)
        return self._checked(self.coordinate.values(self._view_from(s), s), self.view.possible[:, s])

    def pair_values(self) -> FloatArray:
        """Value of every pair `[s, a]` to a method that may relocate; NaN if it gives no values."""
        if not has_values(self.coordinate):
            return np.full((self.view.n_states, self.view.n_actions), np.nan)
        utility = self._index_values(self.view.visits) if self._index_is_global else self.view.utility
        return self._checked(self.coordinate.pair_values(replace(self.view, utility=utility)), self.view.possible.T)

    def probabilities(self, s: int) -> FloatArray:
        """Probability of each action in state `s`, (M,)."""
        if not self.chooses_without_values:
            return super().probabilities(s)
        if not hasattr(self.coordinate, "probabilities"):
            raise ValueError(
                f"{self.strategy} chooses actions directly, so their probabilities are unknown; "
                f"define values(view, s) instead of choose, or add probabilities(view, s){OWN_METHOD}"
            )
        probabilities = np.asarray(self.coordinate.probabilities(self._view_from(s), s), dtype=float)
        if (
            probabilities.shape != (self.view.n_actions,)
            or not np.all(probabilities >= 0.0)
            or abs(probabilities.sum() - 1.0) > SUM_TOLERANCE
        ):
            raise ValueError(
                f"{self.strategy} has probabilities {probabilities.tolist()} in state {s}; "
                f"they must be {self.view.n_actions} non-negative numbers that sum to 1"
            )
        return probabilities

    def pair_probabilities(self) -> FloatArray:
        """Probability of each pair, `[s, a]`."""
        if self.chooses_without_values:
            hint = "define pair_values(view) instead of choose_pair"
            raise ValueError(f"{self.strategy} chooses pairs directly; {hint}{OWN_METHOD}")
        return super().pair_probabilities()

    def _view_from(self, s: int) -> View:
        """Return the view after arriving in state `s`; its `theta_hat` is the true world if the strategy may see it."""
        view = replace(self.view, theta_hat=self.view.theta_hat if self.theta is None else self.theta)
        if s != self._current_state or self._episode_is_over:
            view.visits, view.starts, view.episode_began = view.visits.copy(), view.starts.copy(), view.t
            self._count_arrival(view, s)
            view.steps_left = self._horizon
        if self._index_is_global:
            view.utility = self._index_values(view.visits)
        return view

    def _index_values(self, visits: IntArray) -> FloatArray:
        """Compute an index for all rows, `[a, s]`, given the visits of all states."""
        view = self.view
        return rows_by_index(self._index, self.prior, view.counts, visits, view.t, view.theta_hat, self._surprise)

    def _checked(self, values: Any, possible: BoolArray) -> FloatArray:
        """Return values of a method as an array: -inf for actions that are not possible.

        Raise a `ValueError` if a custom method returned invalid ones.
        """
        checked = np.array(values, dtype=float)
        if checked.shape != possible.shape:
            raise ValueError(f"{self.strategy} returned values of shape {checked.shape}; it must be {possible.shape}")
        checked[~possible] = -np.inf
        if np.any(np.isnan(checked)) or (np.any(possible) and not np.isfinite(checked.max())):
            raise ValueError(
                f"{self.strategy} returned the values {checked.tolist()}; none may be NaN, and the largest must be "
                "finite"
            )
        return checked

    def observe(self, s: int, a: int, s_next: int) -> None:
        """Learn one transition."""
        view, utility = self._own, self.strategy.utility
        if not view.theta_hat[a, s, s_next] > 0.0:
            raise impossible_transition(s, a, s_next)
        self._arrive(s)
        before, reward = view.theta_hat[a, s].copy(), view.utility[a, s]
        if self._surprise.size:
            self._surprise[a, s] = -np.log2(before[s_next])
        view.counts[a, s, s_next] += 1
        self.view.t += 1
        others_changed = self._estimate(a, s)
        realised = isinstance(utility, str) and UTILITIES[utility].realised
        if realised and self.exact is None:
            view.utility[a, s] = max(float(kl_divergence(view.theta_hat[a, s], before)), 0.0)
        elif others_changed and utility is not None:
            view.utility[...] = self._utilities(InternalModel.from_counts(self.prior, self.counts(), {}))
        elif utility is not None:
            view.utility[a, s] = self._row_utility(a, s, s_next)
        reward = view.utility[a, s] if realised else reward
        self._call("learn", s, a, s_next, reward)
        view.visits[s_next] += 1
        self._current_state = s_next
        self._use_up_step()
        self._n_obs += 1
        if self.schedule is not None:
            self._last[s * self.n_actions + a] = s_next
            self._refit()

    def observe_move(self, s: int, s_next: int) -> None:
        """Go from state `s` to `s_next` without learning a transition; see `Agent.observe_move`."""
        self._arrive(s)
        self._current_state = s_next
        if s_next >= 0:
            self._own.visits[s_next] += 1
            self._use_up_step()

    def _use_up_step(self) -> None:
        """Note that a step of the episode was made; if it was the last one before the horizon, the episode is over."""
        if self.view.steps_left is not None:
            self.view.steps_left -= 1
            self._episode_is_over = self.view.steps_left == 0

    def _refit(self) -> None:
        """Refit the prior if that is due; if it changes, estimate and value all rows again."""
        prior = self._refitted(self._n_obs)
        if prior is self.prior:
            return
        self.prior, self.exact, self.view.prior = prior, as_exact(prior), prior
        self.n_refits += 1
        model, view = InternalModel.from_counts(prior, self.counts(), self._last), self._own
        view.theta_hat[...] = model.theta_hat
        if self.strategy.utility is not None:
            view.utility[...] = self._utilities(model) if self._index is None else self._index_values(view.visits)
        self._call("refit")
        self._call("reset")

    @property
    def current_state(self) -> int:
        """The current state; -1 if it is unknown."""
        return self._current_state

    def copy(self) -> NumpyAgent:
        """Return an independent copy."""
        clone = copy.copy(self)
        clone.terminal, clone.allowed, clone._last = set(self.terminal), dict(self.allowed), dict(self._last)
        clone._surprise = self._surprise.copy()
        clone._own = replace(self._own, **{name: getattr(self._own, name).copy() for name in ARRAYS})
        clone.view = replace(self.view, **_locked(clone._own), memory=copy.deepcopy(self.view.memory))
        clone.coordinate = copy.deepcopy(self.coordinate)  # a custom method must not log imagined steps
        return clone

    def with_more_states(self, prior: Any, last: IntArray) -> NumpyAgent:
        """Return an agent with the states of `prior`: those of this agent, then new ones.

        The coordination method starts again, and its hook `grow`, if it has one, receives its former memory. See
        `KnownStatesAgent.with_more_states`.
        """
        counts, n = self.counts(), prior.n_states
        counts = Counts.from_keys(self.n_actions, n, counts.row * n + counts.s_next, counts.n)
        model = InternalModel.from_counts(prior, counts, dict(last.tolist()))
        clone = NumpyAgent(model, replace(self.strategy, coordinate=self.coordinate), seed=self.view.seed)
        clone._own.visits[: len(self.view.visits)] = self.view.visits
        clone._own.starts[: len(self.view.starts)] = self.view.starts
        clone._current_state, clone.view.episode_began = self._current_state, self.view.episode_began
        clone._episode_is_over, clone._horizon = self._episode_is_over, self._horizon
        clone.view.steps_left = self.view.steps_left
        clone._call("grow", self.view.memory)
        clone._call("reset")
        return clone

    def possible(self) -> BoolArray:
        """Whether each action can be taken, `[a, s]`."""
        possible: BoolArray = self.view.possible
        return possible

    def _update_possible(self, states: list[int]) -> None:
        """Update the mask of the rows of some states."""
        for s in states:
            self._own.possible[:, s] = self.possible_actions(s)
            self._own.terminal[s] = s in self.terminal
        self._call("reset")

    def tell_starts(self, distribution: FloatArray) -> None:
        """Tell the agent the probability (N,) that an episode begins in each state."""
        self._own.starts[...], self._starts_are_told = distribution, True
        self._call("reset")

    def set_horizon(self, horizon: int) -> None:
        """Let episodes be cut after `horizon` steps."""
        self._horizon = self.view.steps_left = horizon

    @property
    def episode_is_over(self) -> bool:
        """Whether the last observation ended an episode, or was the last one before it is cut."""
        return self._episode_is_over

    def end_episode(self) -> None:
        """Note that an episode ended with the last observation."""
        self._episode_is_over = True

    def _draw_start(self, u: float) -> int:
        """Draw a state in which an episode begins."""
        return sample_index(self.view.starts, u)

    def estimate(self, s: int, a: int) -> FloatArray:
        """Estimated probability of each outcome of action `a` in state `s`, (N,)."""
        return np.array(self.view.theta_hat[a, s])

    def _measurement(self, world: World, record: RunRecord) -> Callable[[int], None]:
        """Return a function that writes the measures after step `t` into `record`; it measures the changed rows."""
        theta, theta_hat = world.theta, self.view.theta_hat
        all_rows: Any = slice(None) if world.measures_all else by_action(world.measured_rows, self.n_actions)
        missing = kl_divergence(theta, theta_hat)
        distance = np.abs(theta - theta_hat).sum(axis=-1)
        n_refits = self.n_refits

        def measure(t: int) -> None:
            nonlocal n_refits
            changes_all = self.dependent or self.n_refits > n_refits
            n_refits = self.n_refits
            rows: Any = all_rows if changes_all else (int(record.actions[t]), int(record.states[t]))
            missing_before, distance_before = missing[rows].sum(), distance[rows].sum()
            missing[rows] = kl_divergence(theta[rows], theta_hat[rows])
            distance[rows] = np.abs(theta[rows] - theta_hat[rows]).sum(axis=-1)
            record.missing[t + 1] = record.missing[t] - (missing_before - missing[rows].sum())
            record.l1[t + 1] = record.l1[t] - (distance_before - distance[rows].sum())

        return measure

    def _missing_after(self, missing: FloatArray, s: int, a: int, s_next: int) -> FloatArray:
        """Return the expected missing information after a step; one row changes if the prior is exact and fixed."""
        if self.exact is None or self.schedule is not None:
            return self.expected_missing()
        if UNKNOWN not in (a, s_next):
            missing[a, s] = self.exact.row_utility("parameter_gain", self.view.counts[a, s], a, s, s_next)
        return missing

    def _estimate(self, a: int, s: int) -> bool:
        """Estimate row (a, s) again, and other rows if they depend on it; return whether they do."""
        theta_hat, prior = self._own.theta_hat, self.prior
        if self.exact is not None:
            theta_hat[a, s] = self.exact.row_estimate(self.view.counts[a, s], a, s)
            return False
        new = checked_estimate(prior, self.view.counts)
        other_rows = np.any(np.abs(new - theta_hat) > ROUNDING, axis=-1)
        other_rows[a, s] = False
        independent = getattr(prior, "rows_are_independent", None)
        if independent and np.any(other_rows):
            b, z = np.argwhere(other_rows)[0]
            raise TransitionError(
                "an outcome of action {a} in state {s} changed the estimate of action {other_a} in state {other_s}, "
                f"although {type(prior).__name__}.rows_are_independent is true{OWN_PRIOR}",
                {"s": s, "other_s": z},
                {"a": a, "other_a": b},
            )
        theta_hat[...] = new
        self.dependent = self.dependent or bool(np.any(other_rows)) or independent is False
        return self.dependent

    def utility(self) -> FloatArray:
        """Current utilities `[a, s]`; 0 for actions that are not possible."""
        utility = self._index_values(self.view.visits) if self._index_is_global else self.view.utility
        return np.where(self.view.possible, utility, 0.0)

    def counts(self) -> Counts:
        """Observed transitions."""
        return Counts.from_dense(self.view.counts)

    def _arrive(self, s: int) -> None:
        """Count a visit to a state that the last step did not lead to."""
        if s != self._current_state or self._episode_is_over:
            self._count_arrival(self._own, s)
            self._current_state, self._episode_is_over, self.view.episode_began = s, False, self.view.t
            self.view.steps_left = self._horizon
        if self._index_is_global:
            self._own.utility[...] = self._index_values(self.view.visits)

    def _count_arrival(self, view: View, s: int) -> None:
        """Count in `view` that an episode begins in state `s`, and a visit unless the last step led there."""
        view.visits[s] += s != self._current_state
        view.starts[s] += not self._starts_are_told

    def reseed(self, u: FloatArray) -> None:
        """Let `view.rng` depend on uniform numbers `u`; see `Agent.reseed`."""
        self.view.seed = seed_of_numbers(u)

    def _call(self, hook: str, *arguments: Any) -> None:
        """Call a hook of the method, if it has one, and keep its memory."""
        method = getattr(self.coordinate, hook, None)
        if method is not None:
            view = replace(self.view, is_learning=True)
            method(view, *arguments)
            self.view.memory = view.memory

    def _utilities(self, model: InternalModel) -> FloatArray:
        """Compute the utilities of all rows, `[a, s]`."""
        utility = self.strategy.utility
        if utility is not None and not isinstance(utility, str):
            return evaluate_rows(model, utility)
        if self._index is not None:
            return UTILITIES[str(utility)].of(model)
        of_row = None if utility is None else UTILITIES[utility].of_row
        if self.dependent and of_row is not None:
            return evaluate_rows(model, of_row)
        return compute_utility(model, utility, self.strategy.untried)

    def _row_utility(self, a: int, s: int, s_next: int) -> float:
        """Compute the utility of row (a, s) after its outcome `s_next`."""
        utility = self.strategy.utility
        if self._index is not None:
            counts, visits, theta_hat = self.view.counts[a, s], self.view.visits, self.view.theta_hat[a, s]
            measures = float(theta_hat @ state_rarity(visits)), surprise_of_row(self._surprise, theta_hat, a, s)
            return index_of_row(self._index, make_row(self.prior, counts, visits, self.view.t, a, s, *measures))
        if isinstance(utility, str) and self.exact is not None:
            try:
                return self.exact.row_utility(utility, self.view.counts[a, s], a, s, s_next)
            except KeyError:  # no closed form of this utility
                utility = UTILITIES[utility].of_row or utility
        if isinstance(utility, str):
            return float(UTILITIES[utility].of(InternalModel.from_counts(self.prior, self.counts(), {}))[a, s])
        assert utility is not None
        after = self._estimates_after(a, s) if needs_estimates_after(utility) else np.empty(0)
        return as_row_function(utility)(self.view.theta_hat[a, s], after, self.view.counts[a, s].copy())

    def _estimates_after(self, a: int, s: int) -> FloatArray:
        """Estimates of row (a, s) after one more outcome, (N, N)."""
        if self.exact is not None:
            return self.exact.estimate_after(self.view.counts, a, s)
        return InternalModel.from_counts(self.prior, self.counts(), {}).theta_hat_after(a, s)
