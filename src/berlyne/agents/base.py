"""The protocol of agents: beliefs, action values and choices of one explorer.

`Agent` defines the methods that every agent has. It implements choices, runs, replays and imagined steps once, on top
of a few primitives. `KnownStatesAgent` is the base of agents whose states are known in advance. `CompiledAgent`
overrides the methods that kernels make faster.

If the prior learns its parameters (`berlyne.priors.refit`), every agent refits it when its schedule says so: after an
observation has been learned, before the next choice. All rows are then estimated and valued again, and plans are
discarded. The measures of a run are computed again for all rows. A utility of past outcomes, PEIG, becomes what the
last outcome of each row taught under the new parameters. While an agent imagines steps, it does not refit the prior.

What is possible is a mask of rows. An action can be forbidden in a state, and no action can be taken in a terminal
state. Utilities are not changed by it. A row that is not possible has value -inf, is never chosen, and does not count
in any measure.

Agents also know where episodes begin, because plans go on there after an end. They are told it in a simulated world.
Otherwise they count the states in which episodes began so far. An episode begins with the first observation, after an
observation with which an episode ended, and whenever an agent continues in another state than its last step led to.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from berlyne.engine.records import ReplayRecord, RunRecord
from berlyne.labels import ImpossibleTransitionError, Labels
from berlyne.models.history import UNKNOWN, TerminalChange, TerminalChanges, iter_segments
from berlyne.models.internal_model import InternalModel, expected_missing_by_row
from berlyne.priors.protocols import as_exact
from berlyne.priors.refit import learned_values, refit_schedule
from berlyne.sparse import Counts
from berlyne.strategies.choice import sample_index
from berlyne.strategies.registry import Strategy
from berlyne.strategies.utilities import parameter_gain
from berlyne.validation import OWN_PRIOR, BoolArray, FloatArray, IntArray
from berlyne.worlds.world import World


def seed_of_numbers(u: FloatArray) -> np.random.SeedSequence:
    """Return a seed that depends on uniform numbers."""
    return np.random.SeedSequence(np.ascontiguousarray(u).view(np.uint64).ravel().tolist())


NO_RESETS: FloatArray = np.empty(0)
"""Uniform numbers for the initial states of episodes, in a world without terminal states."""
NO_OUTCOMES: IntArray = np.empty((0, 2), dtype=np.int64)
"""Last outcomes of no rows; compiled agents remember them themselves."""


class Agent(ABC):
    """Beliefs, action values and choices of one explorer.

    States and actions are numbers. Arrays that the agent returns have one position for each discovered state, in the
    order of `discovered`. `position` returns the position of a state.

    Parameters
    ----------
    prior : Prior
        Prior over transition probabilities.
    strategy : Strategy
        The strategy to run.
    n_actions : int
        Number of actions, M.

    Attributes
    ----------
    prior : Prior
        The prior in force; a refit replaces it.
    schedule : Refit or None
        When the prior is refitted; None if never.
    rule : ChoiceRule
        Rule that turns values into an action.
    discovered : sequence of int
        States that the agent knows; all states, unless it discovers them.
    terminal : set of int
        Terminal states.
    allowed : dict of int to ndarray of bool, shape (M,)
        Whether each action is allowed, for every state in which some are forbidden.
    chooses_without_values : bool
        Whether the method chooses an action itself, instead of giving values to the choice rule.
    discovers_states : bool
        Whether states are discovered during exploration, instead of known in advance.
    has_state_dict : bool
        Whether `state_dict` and `load_state` are supported.
    """

    discovers_states: ClassVar[bool] = False
    has_state_dict: bool = False
    discovered: Sequence[int]

    def __init__(self, prior: Any, strategy: Strategy, n_actions: int) -> None:
        self.prior, self.strategy, self.n_actions = prior, strategy, n_actions
        self.schedule, self._n_obs_at_refit = refit_schedule(prior), 0
        self.rule = strategy.rule
        self.terminal: set[int] = set()
        self.allowed: dict[int, BoolArray] = {}
        self.chooses_without_values = False

    @property
    def n_states(self) -> int:
        """Number of states that the agent knows."""
        return len(self.discovered)

    @property
    @abstractmethod
    def current_state(self) -> int:
        """The current state; -1 if it is unknown."""

    @property
    @abstractmethod
    def episode_is_over(self) -> bool:
        """Whether the last observation ended an episode, or was the last one before it is cut."""

    @abstractmethod
    def position(self, s: int) -> int:
        """Return the position of state `s` in the arrays of the agent."""

    @abstractmethod
    def discover(self, s: int) -> bool:
        """Add a state; return whether it is new. A state that is known in advance is never new."""

    @abstractmethod
    def action_values(self, s: int) -> FloatArray:
        """Value of each action in state `s` to the coordination method, (M,); NaN if it gives no values."""

    @abstractmethod
    def pair_values(self) -> FloatArray:
        """Value of every pair `[s, a]` to a method that may relocate; NaN if it gives no values."""

    @abstractmethod
    def utility(self) -> FloatArray:
        """Current utilities `[a, s]`; 0 for actions that are not possible."""

    @abstractmethod
    def counts(self) -> Counts:
        """Observed transitions between positions."""

    @abstractmethod
    def model(self, labels: tuple[Labels, Labels] | None = None, last: dict[int, int] | None = None) -> InternalModel:
        """Return the internal model, independent of the agent.

        Parameters
        ----------
        labels : tuple of (Labels, Labels), optional
            Labels of the states, in the order of positions, and of the actions.
        last : dict of int to int, optional
            Last outcome of each row `s * M + a` that was tried. It is not used by an agent that discovers states, which
            remembers the last outcomes.
        """

    @abstractmethod
    def expected_missing(self) -> FloatArray:
        """Expected missing information of every row in bits, `[a, s]`; 0 if it is not possible."""

    def measures(self, world: World) -> tuple[float, float]:
        """Missing information in bits and L1 distance, summed over the rows of a world that count."""
        model = self.model()
        return model.missing_information(world), model.l1_distance(world)

    @abstractmethod
    def information(self) -> float:
        """Information about the world in bits, up to a constant.

        The information of a copy after `imagine`, minus that of the agent itself, is the gain of the imagined steps.
        """

    @abstractmethod
    def observe(self, s: int, a: int, s_next: int) -> None:
        """Learn one transition.

        Raises
        ------
        ImpossibleTransitionError
            If the transition has probability zero under the prior. Nothing is learned then.
        """

    @abstractmethod
    def observe_move(self, s: int, s_next: int) -> None:
        """Go from state `s` to `s_next` without learning a transition, because the action is unknown.

        Visits are counted. If `s_next` is unknown, it is negative, and so is the current state after it.
        """

    def _refitted(self, n_obs: int, *, at_once: bool = False) -> Any:
        """Return the prior to use after `n_obs` observations: the prior in force or, if a refit is due, a new one.

        With `at_once` a refit is due in any case, if the prior learns its parameters.
        """
        if self.schedule is None or not (at_once or n_obs >= self.schedule.next_refit(self._n_obs_at_refit)):
            return self.prior
        self._n_obs_at_refit = n_obs
        counts = self.counts()
        prior = self.prior.refit(counts if as_exact(self.prior) is not None else counts.dense())
        if type(prior) is not type(self.prior):
            raise ValueError(
                f"{type(self.prior).__name__}.refit returned {prior!r:.60}; it must return a "
                f"{type(self.prior).__name__} with new parameters{OWN_PRIOR}"
            )
        return prior if self.schedule.accepts(prior, self.prior, n_obs) else self.prior

    def possible_actions(self, s: int) -> BoolArray:
        """Whether each action can be taken in state `s`, (M,)."""
        if s in self.terminal:
            return np.zeros(self.n_actions, dtype=np.bool_)
        allowed = self.allowed.get(s)
        return np.ones(self.n_actions, dtype=np.bool_) if allowed is None else allowed

    def mark_terminal(self, states: IntArray) -> None:
        """Mark states as terminal: no action can be taken in them."""
        self.terminal.update(np.asarray(states).tolist())
        self._update_possible(np.asarray(states).tolist())

    def unmark_terminal(self, s: int) -> None:
        """Undo `mark_terminal` for a state."""
        self.terminal.discard(s)
        self._update_possible([s])

    def allow(self, s: int, actions: BoolArray) -> None:
        """Set which actions are possible in state `s`, unless it is terminal; by default all are.

        Parameters
        ----------
        s : int
            The state.
        actions : ndarray of bool, shape (M,)
            Whether each action is possible.
        """
        if np.all(actions):
            self.allowed.pop(s, None)
        else:
            self.allowed[s] = np.array(actions, dtype=np.bool_)
        self._update_possible([s])

    def allow_in(self, world: World) -> None:
        """Forbid what a world forbids, and mark its terminal states."""
        states = [] if world.allows_all else np.flatnonzero(~world.allowed.all(axis=0)).tolist()
        self.allowed.update({s: world.allowed[:, s] for s in states})
        self.terminal.update(world.terminal.tolist())
        self._update_possible([*states, *world.terminal.tolist()])

    @abstractmethod
    def _update_possible(self, states: list[int]) -> None:
        """Update the mask of the rows of some states, and discard plans."""

    @abstractmethod
    def tell_starts(self, distribution: FloatArray) -> None:
        """Tell the agent the probability (N,) that an episode begins in each state; it counts no starts then.

        An agent that discovers states does not know these states, so it counts starts in any case.
        """

    @abstractmethod
    def set_horizon(self, horizon: int) -> None:
        """Let episodes be cut after `horizon` steps; plans see no more steps than are left."""

    @abstractmethod
    def end_episode(self) -> None:
        """Note that an episode ended with the last observation."""

    def change_terminal(self, changes: Iterable[TerminalChange]) -> None:
        """Mark states as terminal or not, in this order."""
        for change in changes:
            if change.is_terminal:
                self.mark_terminal(np.array([change.s], dtype=np.int64))
            else:
                self.unmark_terminal(change.s)

    @abstractmethod
    def copy(self) -> Self:
        """Return an independent copy."""

    @abstractmethod
    def _imagined_outcome(self, s: int, a: int, u: float) -> int:
        """Draw an outcome of action `a` in state `s` from the estimate, with a uniform number in [0, 1)."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the agent that cannot be recomputed, as arrays, if `has_state_dict` is true."""
        raise NotImplementedError(f"{type(self).__name__} has no state_dict")

    def load_state(self, state: dict[str, Any], last: IntArray) -> None:
        """Load the state of another agent, if `has_state_dict` is true; this one must have no observations.

        Parameters
        ----------
        state : dict
            Arrays from `state_dict`.
        last : ndarray of int, shape (rows, 2)
            Row and last outcome of every row that was tried.

        Raises
        ------
        ValueError
            If the arrays have wrong shapes or ranges, or do not fit this agent.
        """
        raise NotImplementedError(f"{type(self).__name__} has no state_dict")

    def act(self, s: int, u: FloatArray) -> int:
        """Choose an action in state `s`; `u` holds two uniform numbers in [0, 1). No side effects."""
        return self.rule.choose(self.action_values(s), u)

    def choose_pair(self, u: FloatArray) -> tuple[int, int]:
        """Choose a state and an action in it, for a strategy that may relocate. No side effects."""
        position, a = divmod(self.rule.choose(self.pair_values().ravel(), u), self.n_actions)
        return self.discovered[position], a

    def choose(self, s: int, u: FloatArray) -> tuple[int, int]:
        """Choose a state and an action in it: state `s`, unless the strategy may relocate. No side effects."""
        return self.choose_pair(u) if self.strategy.relocates else (s, self.act(s, u))

    def probabilities(self, s: int) -> FloatArray:
        """Probability of each action in state `s`, (M,)."""
        return self.rule.probabilities(self.action_values(s))

    def pair_probabilities(self) -> FloatArray:
        """Probability of each pair, `[s, a]`."""
        values = self.pair_values()
        return self.rule.probabilities(values.ravel()).reshape(values.shape)

    def run(
        self, world: World, record: RunRecord, u_agent: FloatArray, u_world: FloatArray, u_start: FloatArray = NO_RESETS
    ) -> int:
        """Explore a world: choose, transition, learn and measure, once per line of `u_agent`.

        Parameters
        ----------
        world : World
            The world to explore.
        record : RunRecord
            Arrays to fill. Their first entries are set: the initial state and its measures.
        u_agent : ndarray of shape (T, 2)
            Uniform numbers in [0, 1) for the choices.
        u_world : ndarray of shape (T,)
            Uniform numbers in [0, 1) for the outcomes.
        u_start : ndarray of shape (T,), optional
            Uniform numbers in [0, 1) for the initial states of episodes. It may be empty if episodes neither end nor
            are cut.

        Returns
        -------
        int
            Number of steps made, less than T if the next transition has probability zero under the prior.
        """
        is_terminal, measure = world.episodes.is_terminal, self._measurement(world, record)
        for t, (u_choice, u_outcome) in enumerate(zip(u_agent, u_world, strict=True)):
            s = int(record.states[t])
            s, a = self.choose(s, u_choice)
            s_next = world.sample(a, s, float(u_outcome))
            try:
                self.observe(s, a, s_next)
            except ImpossibleTransitionError:
                return t
            is_over = is_terminal[s_next] or self.episode_is_over
            next_begin = world.episodes.draw(float(u_start[t])) if is_over else s_next
            self.discover(next_begin)
            record.states[t], record.actions[t], record.outcomes[t], record.states[t + 1] = s, a, s_next, next_begin
            if record.learned.shape[1]:
                record.learned[t + 1] = learned_values(self.prior)
            measure(t)
        return len(u_world)

    def follow(self, world: World, record: RunRecord) -> None:
        """Learn the steps of a path in a world, and measure after each of them.

        Parameters
        ----------
        world : World
            The world.
        record : RunRecord
            The path, and arrays for the measures, whose first entries are set.
        """
        measure = self._measurement(world, record)
        steps = zip(record.states.tolist(), record.actions.tolist(), record.outcomes.tolist(), strict=False)
        for t, (s, a, s_next) in enumerate(steps):
            self.observe(s, a, s_next)
            self.discover(int(record.states[t + 1]))
            measure(t)

    def _measurement(self, world: World, record: RunRecord) -> Callable[[int], None]:
        """Return a function that writes the measures after step `t` into `record`."""

        def measure(t: int) -> None:
            record.missing[t + 1], record.l1[t + 1] = self.measures(world)

        return measure

    def _arrive(self, s: int) -> None:  # noqa: B027  # agents that need not count visits inherit it
        """Count a visit to state `s`, unless the last step led there; by default `observe` does so."""

    def replay(
        self, steps: IntArray, ends: TerminalChanges = (), ended: BoolArray | None = None
    ) -> tuple[ReplayRecord, int]:
        """Replay a history, and record values and probabilities before each of its steps.

        The agent must have no observations. The state of the first line is discovered at the start. The state of every
        other line is discovered after the line before it.

        Parameters
        ----------
        steps : ndarray of int, shape (T, 3)
            Lines s, a, s_next. A line whose action or next state is `UNKNOWN` is valued, and not learned.
        ends : sequence, optional
            Changes of the terminal states, as `berlyne.models.history.iter_segments` takes them.
        ended : ndarray of bool, shape (T,), optional
            Whether an episode ended with each line; by default none did.

        Returns
        -------
        record : ReplayRecord
            Values, utilities and probabilities before each step, and expected missing information.
        n_learned : int
            Number of lines learned, less than T if the next one has probability zero under the prior.
        """
        self._ended = np.zeros(len(steps), dtype=np.bool_) if ended is None else ended
        for s in steps[:1, 0].tolist():
            self.discover(s)
        missing, done = float(self.expected_missing().sum()), 0
        record = ReplayRecord.allocate(len(steps), self.n_actions, missing, self.strategy.relocates)
        for begin, until, terminal, not_terminal in iter_segments(len(steps), ends):
            if terminal:
                self.mark_terminal(np.array(terminal, dtype=np.int64))
                record.missing[begin] = self.expected_missing().sum()
            for s in not_terminal:
                self.unmark_terminal(s)
            done = self._replay_segment(record, steps, begin, until)
            if done < until:
                break
        return record, done

    def replay_values(
        self, steps: IntArray, ends: TerminalChanges = (), ended: BoolArray | None = None
    ) -> tuple[FloatArray, int]:
        """Replay a history as `replay` does, and return only the values before each step, (T, M), and `n_learned`."""
        record, done = self.replay(steps, ends, ended)
        return record.values, done

    def expect(self, n_states: int, n_successors: int) -> None:  # noqa: B027  # most agents know all states
        """Make room for `n_states` discovered states, each of which has up to `n_successors` next states."""

    def _replay_segment(self, record: ReplayRecord, steps: IntArray, begin: int, until: int) -> int:
        """Replay the lines from `begin` to `until`; return the first line that is impossible, or `until`."""
        missing = self.expected_missing()
        for t in range(begin, until):
            if not self._replay_line(record, steps, t):
                return t
            missing = self._missing_after(missing, *steps[t].tolist())
            record.missing[t + 1] = missing.sum()
        return until

    def _replay_line(self, record: ReplayRecord, steps: IntArray, t: int) -> bool:
        """Record values before line `t`, learn it, and discover the state of the next line.

        Return whether the line has a positive probability under the prior.
        """
        s, a, s_next = steps[t].tolist()
        if not self.strategy.relocates:  # it arrives when it acts
            self._arrive(s)
        record.utility[t], record.values[t] = self.utility()[:, self.position(s)], self.action_values(s)
        relocates = self.strategy.relocates
        record.probabilities[t] = self.pair_probabilities()[self.position(s)] if relocates else self.probabilities(s)
        try:
            if UNKNOWN in (a, s_next):
                self.observe_move(s, s_next)
            else:
                self.observe(s, a, s_next)
        except ImpossibleTransitionError:
            return False
        if self._ended[t]:
            self.end_episode()
        for begin in steps[t + 1 : t + 2, 0].tolist():
            self.discover(begin)
        return True

    def _missing_after(self, missing: FloatArray, s: int, a: int, s_next: int) -> FloatArray:
        """Return the expected missing information after a line of a history; `missing` is the one before."""
        return self.expected_missing()

    @property
    def seeds(self) -> IntArray | None:
        """The two numbers that begin the random numbers of a method, (2,); None if it draws none."""
        return None

    def load_seeds(self, seeds: IntArray) -> None:
        """Set `seeds` to those of another agent; this one must have no observations."""
        raise NotImplementedError(f"{type(self).__name__} draws no random numbers")

    def reseed(self, u: FloatArray) -> None:  # noqa: B027  # only agents whose methods draw numbers need it
        """Let the random numbers of a method depend on uniform numbers `u`, so that imagined futures differ."""

    def imagine(self, begin: int, u_agent: FloatArray, u_world: FloatArray, u_start: FloatArray) -> None:
        """Explore from state `begin`, with outcomes drawn from the agent's own estimates.

        After a terminal state the next episode begins where episodes begin, as far as the agent knows. The agent learns
        the imagined steps, so call `imagine` on a copy. It never refits its prior again. `information` measures the
        gain.

        Parameters
        ----------
        begin : int
            State of the first step.
        u_agent : ndarray of shape (T, 2)
            Uniform numbers in [0, 1) for the choices, two per step.
        u_world : ndarray of shape (T,)
            Uniform numbers in [0, 1) for the outcomes.
        u_start : ndarray of shape (T,)
            Uniform numbers in [0, 1) for the states in which episodes begin.
        """
        s, self.schedule = begin, None
        self.reseed(u_agent[:1])
        if not self.strategy.relocates:
            self.discover(begin)
        for u_choice, u_outcome, u in zip(u_agent, u_world, u_start, strict=True):
            s, a = self.choose(s, u_choice)
            s_next = self._imagined_outcome(s, a, float(u_outcome))
            self.observe(s, a, s_next)
            s = self._draw_start(float(u)) if s_next in self.terminal else s_next

    @abstractmethod
    def _draw_start(self, u: float) -> int:
        """Draw a state in which an episode begins, with a uniform number in [0, 1)."""


class KnownStatesAgent(Agent):
    """An agent whose states are known in advance; the position of a state is its number.

    Parameters
    ----------
    prior : Prior
        Prior over transition probabilities.
    strategy : Strategy
        The strategy to run.
    n_actions, n_states : int
        Numbers of actions and states.

    Attributes
    ----------
    grows : bool
        Whether kernels add states to the agent.
    """

    grows: bool = False

    def __init__(self, prior: Any, strategy: Strategy, n_actions: int, n_states: int) -> None:
        super().__init__(prior, strategy, n_actions)
        self.discovered = range(n_states)

    def position(self, s: int) -> int:
        """Return the position of state `s` in the arrays of the agent, which is `s`."""
        return s

    def discover(self, s: int) -> bool:
        """Do nothing, since all states are known; return False."""
        return False

    def model(self, labels: tuple[Labels, Labels] | None = None, last: dict[int, int] | None = None) -> InternalModel:
        """Return the internal model; see `Agent.model`."""
        return InternalModel.from_counts(self.prior, self.counts(), last or {}, labels)

    def row_counts(self, s: int, a: int) -> Counts:
        """Observed transitions of action `a` in state `s`, and of other rows if that is not slower."""
        return self.counts()

    def estimate(self, s: int, a: int) -> FloatArray:
        """Estimated probability of each outcome of action `a` in state `s`, (N,)."""
        return self.model().theta_hat_row(a, s)

    def expected_missing(self) -> FloatArray:
        """Expected missing information of every row in bits, `[a, s]`; 0 if it is not possible.

        NaN if the prior cannot compute it.
        """
        model = self.model()
        if model.exact is None and not hasattr(self.prior, "expected_missing_information"):
            return np.full((self.n_actions, self.n_states), np.nan)
        missing = parameter_gain(model)
        missing[~self.possible()] = 0.0
        return missing

    @abstractmethod
    def possible(self) -> BoolArray:
        """Whether each action can be taken, `[a, s]`."""

    def information(self) -> float:
        """Minus the expected missing information of all possible rows, in bits."""
        missing = expected_missing_by_row(self.model())
        missing[~self.possible()] = 0.0
        return -float(missing.sum())

    def _imagined_outcome(self, s: int, a: int, u: float) -> int:
        """Draw an outcome from the estimate of row (a, s), by inversion."""
        return sample_index(self.estimate(s, a), u)

    @abstractmethod
    def with_more_states(self, prior: Any, last: IntArray) -> Self:
        """Return an agent with the states of `prior`: those of this agent, then new ones.

        This agent may change, so use only the one returned. All rows are valued again. What is possible must be set
        again.

        Parameters
        ----------
        prior : Prior
            A prior with at least as many states.
        last : ndarray of int, shape (rows, 2)
            Row and last outcome of every row that was tried.
        """
