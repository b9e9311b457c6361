"""The agent for an open state set: states are not known in advance, but discovered during exploration.

The agent has one cell per discovered state and a last cell, *elsewhere*, for all other states. A newly discovered state
gets its own cell, and its rows start from the prior. All rows are then valued again, since each has one more possible
outcome. States are identified by any integers, in any order. Cells are numbered in the order of discovery.

Beliefs and choices belong to an inner agent on the cells: a `CompiledAgent`, or a `NumpyAgent` if a part is custom. At
every discovery, and at every refit that changes the prior, kernels add a cell to a compiled agent and value all rows
again (`berlyne.engine.discovery`). Any other inner agent is rebuilt. A refit is due at every step that
discovers a state, and when the schedule of the prior says so.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from berlyne.agents.base import NO_OUTCOMES, NO_RESETS, Agent, KnownStatesAgent
from berlyne.agents.numpy_agent import NumpyAgent
from berlyne.engine.records import ReplayRecord, RunRecord
from berlyne.labels import Labels
from berlyne.models.history import UNKNOWN, TerminalChanges, iter_segments
from berlyne.models.internal_model import InternalModel, expected_missing_by_row
from berlyne.priors.protocols import as_exact
from berlyne.priors.refit import learned_values
from berlyne.sparse import Counts
from berlyne.strategies.choice import sample_index
from berlyne.strategies.registry import Strategy
from berlyne.validation import UNKNOWN_STATES, BoolArray, FloatArray, IntArray
from berlyne.worlds.world import World

if TYPE_CHECKING:
    from berlyne.agents.compiled_agent import ExploredWorld
    from berlyne.priors import ChineseRestaurant, SharedRestaurant


class OpenStateAgent(Agent):
    """Beliefs, utilities and choices of one explorer that discovers its states.

    Parameters
    ----------
    prior : ChineseRestaurant or SharedRestaurant
        A prior without a number of states.
    n_actions : int
        Number of actions, M.
    strategy : Strategy
        The strategy to run; it must not need the true world.
    compiled : bool, default=True
        Whether the inner agent is compiled; otherwise it is a `NumpyAgent`.
    seed : numpy.random.SeedSequence, optional
        Seed of the inner agent, if it is a `NumpyAgent`.
    labels : tuple of (Labels, Labels), optional
        Labels of the states, which may grow, and of the actions, for a prior that reads them. By default their numbers.

    Attributes
    ----------
    discovered : list of int
        States in the order of discovery; the position of a state is its cell.
    terminal : set of int
        Terminal states, discovered or not.
    current_prior : ChineseRestaurant or SharedCells
        The prior with the current number of cells and the current parameters.
    n_obs : int
        Number of observations.
    n_rebuilds : int
        How often the inner agent was rebuilt. Each time all rows are valued again.
    """

    discovers_states: ClassVar[bool] = True

    def __init__(
        self,
        prior: ChineseRestaurant | SharedRestaurant,
        n_actions: int,
        strategy: Strategy,
        compiled: bool = True,
        seed: np.random.SeedSequence | None = None,
        labels: tuple[Labels, Labels] | None = None,
    ) -> None:
        if strategy.sees_world:
            raise ValueError(f"{strategy} plans with the true world, but its states are unknown{UNKNOWN_STATES}")
        super().__init__(prior, strategy, n_actions)
        self._labels, self._knows_labels = labels, True
        self.discovered: list[int] = []
        self._cell: dict[int, int] = {}
        self._last: dict[int, int] = {}
        self.current_prior = prior.sized(1, n_actions)
        self.n_obs, self.n_rebuilds = 0, 0
        self._row_counts: dict[int, dict[int, int]] = {}  # by row and outcome, while imagining
        self._imagined_bits = 0.0
        self._history: Any = None  # while kernels replay one
        self._to_discover: list[int] = []
        self._inner = self._new_inner(compiled, seed)
        self.chooses_without_values = self._inner.chooses_without_values

    def _new_inner(self, compiled: bool, seed: np.random.SeedSequence | None) -> KnownStatesAgent:
        """Return an inner agent without observations."""
        blank = InternalModel(self.current_prior)
        if not compiled:
            return NumpyAgent(blank, self.strategy, seed=seed)
        from berlyne.agents.compiled_agent import CompiledAgent  # keeps Numba out of `import berlyne`

        return CompiledAgent(blank, self.strategy, seed=seed)

    def position(self, s: int) -> int:
        """Return the cell of a state; the last cell if the state is not discovered."""
        return self._cell.get(s, len(self.discovered))

    def discover(self, s: int) -> bool:
        """Add a state; return whether it is new."""
        return self._discover([(s, None)])

    def _discover(self, states: list[tuple[int, tuple[int, int] | None]]) -> bool:
        """Add states with the cell and action whose first outcome each of them is, or None; return whether one is new.

        If a label function raises an exception, no state is added.
        """
        new: dict[int, Any] = {}  # the prior after each discovery
        prior: Any = self.prior
        for s, origin in states:
            if s not in self._cell and s not in new:
                new[s] = prior = self._prior_with_state(prior, s, origin)
        for s, prior_after in new.items():
            self._cell[s] = len(self.discovered)
            self.discovered.append(s)
            self.prior = prior_after
            self._rebuild()
        return bool(new)

    def _prior_with_state(self, prior: Any, s: int, origin: tuple[int, int] | None) -> Any:
        """Return a prior after the discovery of a state."""
        if not getattr(prior, "reads_states", False):
            return prior
        if not self._knows_labels:
            return prior.with_unknown_state(self.n_actions)
        if self._labels is None:
            return prior.with_state(s, range(self.n_actions), origin)
        states, actions = self._labels
        return prior.with_state(states[s], actions.all, origin)

    def _rebuild(self) -> None:
        """Rebuild the inner agent with the current cells and concentration; all rows are valued again."""
        self.current_prior = self.prior.sized(len(self.discovered) + 1, self.n_actions)
        self.n_rebuilds += 1
        last = NO_OUTCOMES if self._inner.grows else self._last_outcomes()
        self._inner = self._inner.with_more_states(self.current_prior, last)
        if self._history is not None:
            self._history.add_states(self.current_prior)
        self._update_possible([s for s in (*self.terminal, *self.allowed) if s in self._cell])

    def _last_outcomes(self) -> IntArray:
        """Row and last outcome of every row that was tried, in cells, (rows, 2)."""
        return np.array(list(self._last.items()), dtype=np.int64).reshape(-1, 2)

    def copy(self) -> OpenStateAgent:
        """Return an independent copy."""
        clone = copy.copy(self)
        clone.discovered, clone.terminal = list(self.discovered), set(self.terminal)
        clone._cell, clone._last = dict(self._cell), dict(self._last)
        clone.allowed, clone._inner = dict(self.allowed), self._inner.copy()
        return clone

    def _update_possible(self, states: list[int]) -> None:
        """Update the masks of discovered states in the inner agent; no strategy can relocate to the last cell.

        States that are not yet discovered follow at their discovery.
        """
        cells = {self._cell[s]: s for s in states if s in self._cell}
        inner, elsewhere = self._inner, [len(self.discovered)] if self.strategy.relocates else []
        inner.terminal.update([cell for cell, s in cells.items() if s in self.terminal] + elsewhere)
        inner.terminal.difference_update([cell for cell, s in cells.items() if s not in self.terminal])
        inner.allowed.update({cell: self.allowed[s] for cell, s in cells.items() if s in self.allowed})
        for cell in [cell for cell, s in cells.items() if s not in self.allowed]:
            inner.allowed.pop(cell, None)
        if cells or elsewhere:
            inner._update_possible([*cells, *elsewhere])

    def tell_starts(self, distribution: FloatArray) -> None:
        """Do nothing: the states are not known yet, so starts are counted."""

    def set_horizon(self, horizon: int) -> None:
        """Let episodes be cut after `horizon` steps."""
        self._inner.set_horizon(horizon)

    @property
    def episode_is_over(self) -> bool:
        """Whether the last observation ended an episode, or was the last one before it is cut."""
        return self._inner.episode_is_over

    def end_episode(self) -> None:
        """Note that an episode ended with the last observation."""
        self._inner.end_episode()

    def _draw_start(self, u: float) -> int:
        """Draw a state in which an episode begins."""
        return self.discovered[self._inner._draw_start(u)]

    @property
    def current_state(self) -> int:
        """The current state; -1 if it is unknown."""
        cell = self._inner.current_state
        return self.discovered[cell] if cell >= 0 else -1

    def act(self, s: int, u: FloatArray) -> int:
        """Choose an action in state `s`; `u` holds two uniform numbers in [0, 1). No side effects."""
        return self._inner.act(self.position(s), u)

    def choose_pair(self, u: FloatArray) -> tuple[int, int]:
        """Choose a discovered state and an action in it, for a strategy that may relocate. No side effects."""
        if not self.discovered:
            raise ValueError(f"{self.strategy} has no state to go to yet; add one with discover")
        s, a = self._inner.choose_pair(u)
        return self.discovered[s], a

    def observe(self, s: int, a: int, s_next: int) -> None:
        """Learn one transition; discover its states if they are new."""
        n_known = len(self.discovered)
        self._discover([(s, None), (s_next, (self.position(s), a))])
        self._inner.observe(self._cell[s], a, self._cell[s_next])
        self._last[self._cell[s] * self.n_actions + a] = self._cell[s_next]
        self.n_obs += 1
        self._refit(at_once=len(self.discovered) > n_known)

    def _refit(self, *, at_once: bool) -> bool:
        """Refit the prior if that is due, or in any case if `at_once`; return whether it has changed."""
        prior = self._refitted(self.n_obs, at_once=at_once)
        if prior is self.prior:
            return False
        self.prior = prior
        self._rebuild()
        return True

    def observe_move(self, s: int, s_next: int) -> None:
        """Go from state `s` to `s_next` without learning a transition; discover both if they are new."""
        for state in (s, s_next):
            if state >= 0:
                self.discover(state)
        self._inner.observe_move(self._cell[s], self._cell.get(s_next, UNKNOWN))

    def action_values(self, s: int) -> FloatArray:
        """Value of each action in state `s` to the coordination method, (M,)."""
        return self._inner.action_values(self.position(s))

    def probabilities(self, s: int) -> FloatArray:
        """Probability of each action in state `s`, (M,)."""
        return self._inner.probabilities(self.position(s))

    def pair_values(self) -> FloatArray:
        """Value of every pair `[s, a]` to a method that may relocate, states in the order of discovery."""
        return self._inner.pair_values()[:-1]

    def pair_probabilities(self) -> FloatArray:
        """Probability of each pair, `[s, a]`, states in the order of discovery."""
        return self._inner.pair_probabilities()[:-1]

    def utility(self) -> FloatArray:
        """Current utilities `[a, s]`, states in the order of discovery, then elsewhere."""
        return self._inner.utility()

    def counts(self) -> Counts:
        """Observed transitions between cells: states in the order of discovery, then elsewhere."""
        return self._inner.counts()

    def model(self, labels: tuple[Labels, Labels] | None = None, last: dict[int, int] | None = None) -> InternalModel:
        """Return the internal model on cells: states in the order of discovery, then elsewhere; see `Agent.model`."""
        return InternalModel.from_counts(self.current_prior, self.counts(), self._last, labels)

    def expected_missing(self) -> FloatArray:
        """Expected missing information of every row in bits, `[a, s]`; 0 elsewhere and if it is not possible."""
        missing = expected_missing_by_row(self.model())
        missing[:, -1] = missing[~self._inner.possible()] = 0.0
        return missing

    def measures(self, world: World) -> tuple[float, float]:
        """Missing information in bits and L1 distance, summed over the rows of a world that count.

        The probability of elsewhere is divided equally among the undiscovered states.
        """
        missing, l1 = self._row_measures(world, np.arange(world.n_states * world.n_actions))
        return float(missing.sum()), float(l1.sum())

    def _row_measures(self, world: World, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Missing information in bits and L1 distance of the rows `r = s * M + a` in `rows` of a world."""
        first = world.rows.indptr[rows]
        size = world.rows.indptr[rows + 1] - first
        line = np.repeat(np.arange(len(rows)), size)
        entry = np.arange(len(line)) + np.repeat(first - np.cumsum(size) + size, size)
        theta = world.rows.data[entry]
        cells = np.full(world.n_states, len(self.discovered))
        cells[self.discovered] = np.arange(len(self.discovered))
        s, a = np.divmod(rows[line], world.n_actions)
        s_next = cells[world.rows.indices[entry]]
        row, exact = cells[s] * self.n_actions + a, as_exact(self.current_prior)
        if exact is None:
            theta_hat = self.model().estimate_at(row, s_next)
        else:  # faster: no model is made
            counts = self._inner.counts() if len(rows) > 1 else self._inner.row_counts(int(cells[s[0]]), int(a[0]))
            theta_hat = exact.estimate_at(counts, row, s_next)
        n_hidden = world.n_states - len(self.discovered)
        theta_hat = np.where(s_next == len(self.discovered), theta_hat / max(n_hidden, 1), theta_hat)
        missing = np.bincount(line, theta * np.log2(theta / theta_hat), len(rows))
        distance = np.bincount(line, np.abs(theta - theta_hat) - theta_hat, len(rows)) + 1.0
        counted = world.measured_rows[rows]
        return np.asarray(missing * counted, dtype=float), np.asarray(distance * counted, dtype=float)

    def _measurement(self, world: World, record: RunRecord) -> Callable[[int], None]:
        """Return a function that writes the measures after step `t` into `record`; it measures the changed rows."""
        missing, l1 = self._row_measures(world, np.arange(world.n_states * world.n_actions))
        n_rebuilds = self.n_rebuilds

        def measure(t: int) -> None:
            nonlocal n_rebuilds
            row = int(record.states[t]) * world.n_actions + int(record.actions[t])
            changed = np.arange(len(missing)) if self.n_rebuilds > n_rebuilds else np.array([row])
            n_rebuilds = self.n_rebuilds
            missing[changed], l1[changed] = self._row_measures(world, changed)
            record.missing[t + 1], record.l1[t + 1] = missing.sum(), l1.sum()

        return measure

    def run(
        self, world: World, record: RunRecord, u_agent: FloatArray, u_world: FloatArray, u_start: FloatArray = NO_RESETS
    ) -> int:
        """Explore a world; see `Agent.run`.

        If kernels add states to the inner agent, they also make the half-steps (`berlyne.engine.open_exploration`)
        between discoveries and refits.
        """
        if not self._inner.grows:
            return super().run(world, record, u_agent, u_world, u_start)
        from berlyne.agents.compiled_agent import ExploredWorld
        from berlyne.engine.loop import Draws

        inner: Any = self._inner
        explored = ExploredWorld(inner, world, self.discovered, record, Draws(u_agent, u_world, u_start))
        at, end = 0, 2 * len(u_world)
        while at < end:
            is_new = at % 2 == 1  # the outcome of a step; a state in which an episode begins was discovered before
            if is_new:
                self._discover_in(explored, int(record.outcomes[at // 2]))
            done, meets_new = explored.follow(at, at + 1 if is_new else int(min(end, self._next_refit(at))))
            lines, changed, t = slice(at // 2 + 1, done // 2 + 1), is_new, done // 2
            record.learned[lines] = learned_values(self.prior)
            self.n_obs += t - at // 2
            if t > at // 2 and self._refit(at_once=is_new):
                record.learned[t], changed = learned_values(self.prior), True
            if meets_new and done % 2 == 0:
                self._discover_in(explored, int(record.states[t]))
                changed = True
            if changed:
                explored.measure_all(t)
            at = done
        self._last.update(explored.last_outcomes())
        return len(u_world)

    def _discover_in(self, explored: ExploredWorld, s: int) -> None:
        """Discover a state of a world that kernels explore."""
        explored.add_state(s)
        self.discover(s)

    def replay(
        self, steps: IntArray, ends: TerminalChanges = (), ended: BoolArray | None = None
    ) -> tuple[ReplayRecord, int]:
        """Replay a history, and record values and probabilities before each step; see `Agent.replay`.

        Discovered states count in the expected missing information. If kernels add states to the inner agent, they also
        replay the half-steps and discover states (`berlyne.engine.open_replay`). They return here for refits, for
        changes of terminal states, and for discoveries of states in which not everything is possible.
        """
        if not self._inner.grows:
            return super().replay(steps, ends, ended)
        record = ReplayRecord.allocate(len(steps), self.n_actions, 0.0, self.strategy.relocates)
        return record, self._replay_into(record, steps, ends, ended)

    def replay_values(
        self, steps: IntArray, ends: TerminalChanges = (), ended: BoolArray | None = None
    ) -> tuple[FloatArray, int]:
        """Replay a history, and return the values before each step; see `Agent.replay_values`."""
        if not self._inner.grows or self.strategy.relocates:
            return super().replay_values(steps, ends, ended)
        record = ReplayRecord.allocate_values(len(steps), self.n_actions)
        return record.values, self._replay_into(record, steps, ends, ended)

    def expect(self, n_states: int, n_successors: int) -> None:
        """Make room for discovered states and their successors; see `Agent.expect`."""
        inner: Any = self._inner
        if not inner.grows:
            return
        if not inner.has_room(n_states + 1, 1):
            inner.with_more_states(self.current_prior, NO_OUTCOMES, n_states + 1)
            self._update_possible([s for s in (*self.terminal, *self.allowed) if s in self._cell])
        while not inner.has_room(n_states + 1, n_successors):
            inner.widen()
        if self.schedule is None:
            inner.untried_table(n_states + 1)

    def _replay_into(
        self, record: ReplayRecord, steps: IntArray, ends: TerminalChanges, ended: BoolArray | None
    ) -> int:
        """Replay a history in kernels; return the number of lines learned."""
        from berlyne.agents.compiled_agent import DiscoveredHistory
        from berlyne.engine.loop import History

        inner: Any = self._inner
        for s in steps[:1, 0].tolist():
            self.discover(s)
        cells, discoveries = self._history_in_cells(steps)
        n_cells = len(self.discovered) + len(discoveries) + 1
        self.expect(n_cells - 1, 1)
        known = inner.new_known() if len(record.missing) else inner
        if len(record.missing):
            known.with_more_states(self.current_prior, NO_OUTCOMES, n_cells)
        may_add = inner.adds_cells and self.schedule is None and not self.strategy.relocates
        begins, when = {2 * change.t for change in ends}, {s: at for at, s in discoveries.items()}
        masked = self.terminal | self.allowed.keys() | {c.s for c in ends if when.get(c.s, -1) >= 2 * c.t}
        by_kernels = {at: s for at, s in discoveries.items() if may_add and s not in masked and at not in begins}
        self._to_discover = list(by_kernels.values())
        others = {at: s for at, s in discoveries.items() if at not in by_kernels}
        ended = np.zeros(len(steps), dtype=np.bool_) if ended is None else ended
        lines = inner, known, record, History(cells, ended)
        self._history = history = DiscoveredHistory(*lines, list(by_kernels), n_cells if by_kernels else 0)
        history.set_missing(0)
        done = 0
        for begin, until, terminal, not_terminal in iter_segments(len(steps), ends):
            self._discover_at(2 * begin, others)
            if terminal:
                self.mark_terminal(np.array(terminal, dtype=np.int64))
                history.set_missing(begin)
            before = history.missing_at(begin)
            for s in not_terminal:  # when the line is made; until then its state was terminal
                self.unmark_terminal(s)
                history.set_missing(begin)
            done = self._follow(2 * begin, 2 * until, others)
            history.set_missing(begin, before)
            if done < 2 * until:
                break
        s, a, s_next = cells[: done // 2][history.is_known[: done // 2]].T
        self._last.update(zip((s * self.n_actions + a).tolist(), s_next.tolist(), strict=True))
        if len(record.probabilities) and not self.strategy.relocates:
            history.record_probabilities(0, done // 2)
        self._history = None
        return done // 2

    def _replay_line(self, record: ReplayRecord, steps: IntArray, t: int) -> bool:
        """Replay line `t` after arriving in its state; see `Agent._replay_line`."""
        if not self.strategy.relocates:
            self._inner._arrive(self._cell[int(steps[t, 0])])
        return super()._replay_line(record, steps, t)

    def _history_in_cells(self, steps: IntArray) -> tuple[IntArray, dict[int, int]]:
        """Return a history with the cells that its states will have, and the state that each half-step discovers.

        A state in which a line begins is discovered before the actions of the line are valued, and the state that it
        leads to before the line is learned.
        """
        order, cell = steps[:, ::2].ravel(), {UNKNOWN: UNKNOWN, **self._cell}
        states, first, index = np.unique(order, return_index=True, return_inverse=True)
        new = [i for i in np.argsort(first) if int(states[i]) not in cell]
        cell.update({int(states[i]): len(self._cell) + k for k, i in enumerate(new)})
        cells = steps.copy()
        cells[:, ::2] = np.array([cell[s] for s in states.tolist()], dtype=np.int64)[index].reshape(-1, 2)
        return cells, {int(first[i]): int(states[i]) for i in new}

    def _follow(self, begin: int, end: int, discoveries: dict[int, int]) -> int:
        """Make half-steps, discover states and refit the prior; return the first half-step not made, or `end`.

        `discoveries` are the states that half-steps discover, in their order, except those that kernels discover; they
        are removed when they are made.
        """
        at, history = begin, self._history
        done: int
        while at < end:
            t, before = at // 2, history.missing_at(at // 2)
            is_new = self._discover_at(at, discoveries)
            stop = at + 1 if is_new else min(end, next(iter(discoveries), end), self._next_refit(at))
            done = history.follow(at, stop)
            self._note_discovered()
            n_learned = history.n_learned(at // 2, done // 2)
            self.n_obs += n_learned
            if self.strategy.relocates:
                history.record_probabilities((at + 1) // 2, (done + 1) // 2)
            if at % 2:  # a line that discovers a state has not changed the information before it
                history.set_missing(t, before)
            if done < stop:
                return done
            if n_learned and self._refit(at_once=is_new):
                history.set_missing(done // 2)
            at = done
        return at

    def _discover_at(self, half_step: int, discoveries: dict[int, int]) -> bool:
        """Discover the state that a half-step discovers; return whether there is one."""
        if half_step not in discoveries:
            return False
        self.discover(discoveries.pop(half_step))
        self._history.set_missing(half_step // 2)
        return True

    def _note_discovered(self) -> None:
        """Note the states that kernels have discovered."""
        n_before = len(self.discovered)
        states = [s for s in self._to_discover[: self._history.n_discovered] if s not in self._cell]
        if states:
            self._cell.update(zip(states, range(n_before, n_before + len(states)), strict=True))
            self.discovered += states
            self.n_rebuilds += len(states)
            self.current_prior = self.prior.sized(len(self.discovered) + 1, self.n_actions)
            self._history.note_states(self.current_prior)

    def _next_refit(self, half_step: int) -> float:
        """Return the half-step before which the next refit is due, infinity if never."""
        if self.schedule is None:
            return math.inf
        return 2 * (half_step // 2 + self.schedule.next_refit(self._n_obs_at_refit) - self.n_obs)

    def information(self) -> float:
        """Sum of the predicted information gains (PIG) of all imagined steps, in bits.

        A state that is discovered adds missing information, so the decrease of missing information is not a gain.
        """
        return self._imagined_bits

    def reseed(self, u: FloatArray) -> None:
        """Let the random numbers of a method depend on uniform numbers `u`; see `Agent.reseed`."""
        self._inner.reseed(u)

    def imagine(self, begin: int, u_agent: FloatArray, u_world: FloatArray, u_start: FloatArray) -> None:
        """Explore from state `begin`, with outcomes drawn from the agent's own estimates; see `Agent.imagine`.

        The outcome elsewhere discovers a new state, whose rows start from the prior. Each step adds the PIG of its row
        (Eq. 11, `eq:kl`) on the cells that exist before the step. By Theorem 2 this is its expected information gain on
        these cells.
        """
        super().imagine(begin, u_agent, u_world, u_start)

    def begin_imagining(self, u: FloatArray) -> None:
        """Prepare a copy for imagined outcomes, whose counts it keeps; see `Agent.begin_imagining`.

        Imagined states have no labels.
        """
        self._knows_labels = False
        self._row_counts, counts = {}, self.counts()
        for row, cell, n in zip(counts.row.tolist(), counts.s_next.tolist(), counts.n.tolist(), strict=True):
            self._row_counts.setdefault(row, {})[cell] = n
        super().begin_imagining(u)

    def _imagined_outcome(self, s: int, a: int, u: float) -> int:
        """Draw an outcome from the estimate of row (a, s), and add the PIG of the row; elsewhere is a new state."""
        outcomes = self._row_counts.setdefault(self._cell[s] * self.n_actions + a, {})
        row = np.zeros(len(self.discovered) + 1, dtype=np.int64)
        row[list(outcomes)] = list(outcomes.values())
        self._imagined_bits += self.current_prior.row_utility("PIG", row, a, self._cell[s], -1)
        cell = sample_index(self.current_prior.row_estimate(row, a, self._cell[s]), u)
        outcomes[cell] = outcomes.get(cell, 0) + 1
        return self.discovered[cell] if cell < len(self.discovered) else max(self.discovered) + 1
