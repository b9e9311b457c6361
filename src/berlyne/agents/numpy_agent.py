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

from berlyne.engine.records import ReplayRecord, RunRecord
from berlyne.information import kl_divergence
from berlyne.labels import TransitionError, impossible_transition
from berlyne.models.history import TerminalChanges, iter_segments
from berlyne.models.internal_model import ROUNDING, InternalModel
from berlyne.priors.protocols import checked_estimate
from berlyne.sparse import Counts
from berlyne.strategies.coordination import View, chooses_directly, has_values
from berlyne.strategies.registry import Strategy
from berlyne.strategies.utilities import UTILITIES, as_row_function, compute_utility, evaluate_rows, novelty
from berlyne.validation import OWN_METHOD, OWN_PRIOR, BoolArray, FloatArray, IntArray, check_dense, is_index
from berlyne.worlds.world import World

SUM_TOLERANCE = 1e-9
"""Probabilities of a user's own sum to one within this."""


class NumpyAgent:
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
        self.coordinate: Any = strategy.coordinate
        self.rule = strategy.rule
        self.chooses_without_values = (
            chooses_directly(self.coordinate) and strategy.temperature == 0.0 and strategy.lapse == 0.0
        )
        self.dependent = not model.rows_are_independent
        self.view = View(
            utility=self._utilities(model),
            theta_hat=model.theta_hat,
            counts=model.counts,
            visits=np.zeros(model.n_states, dtype=np.int64),
        )
        self._first = self.view.utility.copy()
        self.theta = None if world is None else world.theta
        self._current_state = -1
        self.terminal: IntArray = np.empty(0, dtype=np.int64)
        self._call("start", self.view)

    def act(self, s: int, u: FloatArray) -> int:
        """The action to take in state `s`; that it was asked for leaves no trace."""
        if not self.chooses_without_values:
            return self.rule.choose(self.action_values(s), u)
        a = getattr(self.coordinate, "choose", self.coordinate)(self._seen_from(s), s, u)
        if not is_index(a, self.view.n_actions):
            raise ValueError(f"{self.strategy} chose action {a!r}; actions are numbered 0 to {self.view.n_actions - 1}")
        return int(a)

    def choose_pair(self, u: FloatArray) -> tuple[int, int]:
        """The state to go to and the action to take there, of a strategy that may relocate."""
        if self.chooses_without_values:
            s, a = self.coordinate.choose_pair(self.view, u)
            if not (is_index(s, self.view.n_states) and is_index(a, self.view.n_actions)):
                raise ValueError(f"{self.strategy} chose the pair {(s, a)!r}; there is no such state and action")
            return int(s), int(a)
        s, a = divmod(self.rule.choose(self.pair_values().ravel(), u), self.view.n_actions)
        return s, a

    def action_values(self, s: int) -> FloatArray:
        """What the method thinks of each action in state `s`, (M,); NaN if it does not say."""
        if self.strategy.relocates:
            return np.asarray(self.pair_values()[s])
        if not has_values(self.coordinate):
            return np.full(self.view.n_actions, np.nan)
        return self._checked(self.coordinate.values(self._seen_from(s), s), (self.view.n_actions,))

    def pair_values(self) -> FloatArray:
        """What a method that may relocate thinks of all pairs, `[s, a]`; NaN if it does not say."""
        shape = self.view.n_states, self.view.n_actions
        if not has_values(self.coordinate):
            return np.full(shape, np.nan)
        return self._checked(self.coordinate.pair_values(self.view), shape)

    def probabilities(self, s: int) -> FloatArray:
        """The chance of each action in state `s`, (M,)."""
        if not self.chooses_without_values:
            return self.rule.probabilities(self.action_values(s))
        if not hasattr(self.coordinate, "probabilities"):
            raise ValueError(
                f"{self.strategy} decides for itself, so its probabilities are not known; "
                f"give its method values(view, s) instead of choose, or probabilities(view, s) as well{OWN_METHOD}"
            )
        chance = np.asarray(self.coordinate.probabilities(self._seen_from(s), s), dtype=float)
        if (
            chance.shape != (self.view.n_actions,)
            or not np.all(chance >= 0.0)
            or abs(chance.sum() - 1.0) > SUM_TOLERANCE
        ):
            raise ValueError(
                f"{self.strategy} has probabilities {chance.tolist()} in state {s}; "
                f"they must be {self.view.n_actions} numbers of at least 0 that sum to 1"
            )
        return chance

    def pair_probabilities(self) -> FloatArray:
        """The chance of each pair, `[s, a]`."""
        if self.chooses_without_values:
            instead = "give its method pair_values(view) instead"
            raise ValueError(f"{self.strategy} decides for itself; {instead}{OWN_METHOD}")
        values = self.pair_values()
        return self.rule.probabilities(values.ravel()).reshape(values.shape)

    def _seen_from(self, s: int) -> View:
        """The view in state `s`, of one who has arrived there; it holds the true world if that may be seen."""
        view = self.view if self.theta is None else replace(self.view, theta_hat=self.theta)
        if s == self._current_state:
            return view
        visits = view.visits.copy()
        visits[s] += 1
        return replace(view, visits=visits)

    def _checked(self, values: Any, shape: tuple[int, ...]) -> FloatArray:
        """Values of a method, which may be a user's own."""
        checked = np.array(values, dtype=float)
        if checked.shape != shape:
            raise ValueError(f"{self.strategy} gave values of shape {checked.shape}; it must be {shape}")
        if np.any(np.isnan(checked)) or not np.isfinite(checked.max()):
            raise ValueError(f"{self.strategy} gave the values {checked.tolist()}; their largest must be a number")
        return checked

    def observe(self, s: int, a: int, s_next: int) -> None:
        """Learn one transition."""
        view, utility = self.view, self.strategy.utility
        if not view.theta_hat[a, s, s_next] > 0.0:
            raise impossible_transition(s, a, s_next)
        self._arrive(s)
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
        self._current_state = s_next

    @property
    def current_state(self) -> int:
        """The state it is in as far as it knows; -1 for unknown."""
        return self._current_state

    def copy(self, model: InternalModel) -> NumpyAgent:
        """Another mind that knows what this one does, which `model` is, and goes its own way."""
        other = copy.copy(self)
        view = self.view
        arrays = {name: getattr(view, name).copy() for name in ("utility", "theta_hat", "counts", "visits")}
        other.view = replace(view, **arrays, memory=copy.deepcopy(view.memory))
        other.coordinate = copy.deepcopy(self.coordinate)  # what is imagined is not to be found in anybody's log
        return other

    def with_more_states(self, model: InternalModel) -> NumpyAgent:
        """A mind that knows what this one does and more states, which `model` has: they come last.

        All rows are valued anew. Its method starts again, and is then told what it had in memory, if it can `grow`.
        """
        other = NumpyAgent(model, replace(self.strategy, coordinate=self.coordinate))
        other.view.visits[: len(self.view.visits)] = self.view.visits
        other._current_state = self._current_state
        other._call("grow", other.view, self.view.memory)
        return other

    def imagine(self, begin: int, ends: BoolArray, u_agent: FloatArray, u_world: FloatArray) -> None:
        """Go on from state `begin` where what is predicted happens: one step for each line of `u_agent`.

        Where `ends[s_next]` the episode is over and begins again.
        """
        s = begin
        for u_choice, u_outcome in zip(u_agent, u_world, strict=True):
            if self.strategy.relocates:
                s, a = self.choose_pair(u_choice)
            else:
                a = self.act(s, u_choice)
            cumulative = np.cumsum(self.view.theta_hat[a, s])
            s_next = int(np.searchsorted(cumulative, u_outcome * cumulative[-1], side="right"))
            self.observe(s, a, s_next)
            s = begin if ends[s_next] else s_next

    def mark_terminal(self, states: IntArray) -> None:
        """Know that episodes end in these states: no action can be taken there, so none is worth anything."""
        self.terminal = np.union1d(self.terminal, states)
        self._value_closed()
        self._call("mark_terminal", self.view, states)

    def unmark_terminal(self, s: int) -> None:
        """Forget that episodes end in a state in which nothing was tried."""
        self.terminal = np.setdiff1d(self.terminal, [s])
        utility, now = self.strategy.utility, self._first
        if self.dependent and not (isinstance(utility, str) and UTILITIES[utility].realised):
            now = self._utilities(InternalModel.from_counts(self.prior, self.counts(), {}))
        self.view.utility[:, s] = now[:, s]
        self._call("unmark_terminal", self.view, s)

    def _value_closed(self) -> None:
        self.view.utility[:, self.terminal] = -np.inf if self.strategy.relocates else 0.0

    def run(
        self,
        world: World,
        record: RunRecord,
        u_agent: FloatArray,
        u_world: FloatArray,
        u_start: FloatArray | None = None,
    ) -> int:
        """Choose, transition, learn, measure; once for each line of `u_agent`. Returns the steps made, all of them.

        `u_start` (T,) draws where episodes begin.
        """
        theta, theta_hat, ends = world.theta, self.view.theta_hat, world.episodes.is_terminal
        everywhere = slice(None), ~ends if np.any(ends) else slice(None)  # rows of terminal states do not count
        missing = kl_divergence(theta, theta_hat)
        distance = np.abs(theta - theta_hat).sum(axis=-1)
        for t, (u_choice, u_outcome) in enumerate(zip(u_agent, u_world, strict=True)):
            s = int(record.states[t])
            if self.strategy.relocates:
                self._arrive(s)
                s, a = self.choose_pair(u_choice)
                self._current_state = s
            else:
                a = self.act(s, u_choice)
            s_next = world.sample(a, s, u_outcome)
            self.observe(s, a, s_next)
            record.states[t], record.actions[t], record.outcomes[t], record.states[t + 1] = s, a, s_next, s_next
            if ends[s_next]:
                assert u_start is not None
                record.states[t + 1] = world.episodes.draw(u_start[t])
            rows = everywhere if self.dependent else (a, s)
            missing_before, distance_before = missing[rows].sum(), distance[rows].sum()
            missing[rows] = kl_divergence(theta[rows], theta_hat[rows])
            distance[rows] = np.abs(theta[rows] - theta_hat[rows]).sum(axis=-1)
            record.missing[t + 1] = record.missing[t] - (missing_before - missing[rows].sum())
            record.l1[t + 1] = record.l1[t] - (distance_before - distance[rows].sum())
        return len(u_world)

    def replay(
        self, steps: IntArray, world: World | None = None, ends: TerminalChanges = ()
    ) -> tuple[ReplayRecord, int]:
        """What this mind, which has seen nothing yet, thinks along a history (T, 3) of lines s, a, s_next.

        Returns the lines learned as well: fewer if the next one is impossible. Expected missing information is NaN
        if the prior does not say it. `ends` are what is learned of ends on the way.
        """
        left = self._expected_missing()
        record = ReplayRecord.allocate(len(steps), self.view.n_actions, float(left.sum()), False)
        for begin, until, closed, opened in iter_segments(len(steps), ends):
            if closed:
                self.mark_terminal(np.array(closed, dtype=np.int64))
                record.missing[begin] = self._expected_missing().sum()
            for s in opened:
                self.unmark_terminal(s)
            left = self._expected_missing()
            for t, (s, a, s_next) in enumerate(steps[begin:until].tolist(), begin):
                self._arrive(s)
                if not self.view.theta_hat[a, s, s_next] > 0.0:
                    return record, t
                record.values[t], record.utility[t] = self.action_values(s), self.view.utility[:, s]
                chances = self.pair_probabilities()[s] if self.strategy.relocates else self.probabilities(s)
                record.probabilities[t] = chances
                self.observe(s, a, s_next)
                if self.exact is None:
                    left = self._expected_missing()
                else:
                    left[a, s] = self.exact.row_utility("novelty", self.view.counts[a, s], a, s, s_next)
                record.missing[t + 1] = left.sum()
        return record, len(steps)

    def _expected_missing(self) -> FloatArray:
        """Expected missing information of every row in bits, `[a, s]`; none where episodes end."""
        if self.exact is None and not hasattr(self.prior, "expected_missing_information"):
            return np.full(self.view.utility.shape, np.nan)
        left = novelty(InternalModel.from_counts(self.prior, self.counts(), {}))
        left[:, self.terminal] = 0.0
        return left

    def _estimate(self, a: int, s: int) -> bool:
        """Estimate row (a, s) again, and others if they depend on it; whether they did."""
        theta_hat, prior = self.view.theta_hat, self.prior
        if self.exact is not None:
            theta_hat[a, s] = self.exact.row_estimate(self.view.counts[a, s], a, s)
            return False
        new = checked_estimate(prior, self.view.counts)
        others = np.any(np.abs(new - theta_hat) > ROUNDING, axis=-1)
        others[a, s] = False
        independent = getattr(prior, "rows_are_independent", None)
        if independent and np.any(others):
            b, z = np.argwhere(others)[0]
            raise TransitionError(
                "an outcome of action {a} in state {s} changed the estimate of action {other_a} in state {other_s}, "
                f"although {type(prior).__name__} sets rows_are_independent{OWN_PRIOR}",
                {"s": s, "other_s": z},
                {"a": a, "other_a": b},
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
        if s != self._current_state:
            self.view.visits[s] += 1
            self._current_state = s

    def _call(self, hook: str, *arguments: Any) -> None:
        method = getattr(self.coordinate, hook, None)
        if method is not None:
            method(*arguments)

    def _utilities(self, model: InternalModel) -> FloatArray:
        """The utilities of all rows."""
        utility = self.strategy.utility
        if utility is not None and not isinstance(utility, str):
            return evaluate_rows(model, utility)
        of_row = None if utility is None else UTILITIES[utility].of_row
        if self.dependent and of_row is not None:
            return evaluate_rows(model, of_row)
        return compute_utility(model, utility, self.strategy.untried)

    def _value(self, a: int, s: int, s_next: int) -> float:
        """The utility of a row that has just changed."""
        utility = self.strategy.utility
        if isinstance(utility, str) and self.exact is not None:
            return self.exact.row_utility(utility, self.view.counts[a, s], a, s, s_next)
        model = InternalModel.from_counts(self.prior, self.counts(), {})
        if isinstance(utility, str):
            return float(UTILITIES[utility].of(model)[a, s])
        assert utility is not None
        of_row = as_row_function(utility)
        return float(of_row(self.view.theta_hat[a, s], model.theta_hat_after(a, s), self.view.counts[a, s].copy()))
