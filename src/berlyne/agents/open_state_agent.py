"""The agent for an open state set: states are not known in advance, but discovered during exploration.

The agent has one cell per discovered state and a last cell, *elsewhere*, for all other states. A newly discovered state
gets its own cell, and its rows start from the prior. All rows are then valued again, since each has one more possible
outcome. States are identified by any integers, in any order. Cells are numbered in the order of discovery.

Beliefs and choices belong to an inner agent on the cells: a `CompiledAgent`, or a `NumpyAgent` if a part is custom. The
inner agent is rebuilt at every discovery, and at every refit that changes the prior. A refit is due at every step that
discovers a state, and when the schedule of the prior says so.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from berlyne.agents.base import Agent, KnownStatesAgent
from berlyne.agents.numpy_agent import NumpyAgent
from berlyne.engine.records import ReplayRecord, RunRecord
from berlyne.labels import Labels
from berlyne.models.history import UNKNOWN, TerminalChanges
from berlyne.models.internal_model import InternalModel, expected_missing_by_row
from berlyne.priors.protocols import as_exact
from berlyne.sparse import Counts
from berlyne.strategies.choice import sample_index
from berlyne.strategies.registry import Strategy
from berlyne.validation import UNKNOWN_STATES, FloatArray, IntArray
from berlyne.worlds.world import World

if TYPE_CHECKING:
    from berlyne.priors import ChineseRestaurant


class OpenStateAgent(Agent):
    """Beliefs, utilities and choices of one explorer that discovers its states.

    Parameters
    ----------
    prior : ChineseRestaurant
        A prior without a number of states.
    n_actions : int
        Number of actions, M.
    strategy : Strategy
        The strategy to run; it must not need the true world.
    compiled : bool, default=True
        Whether the inner agent is compiled; otherwise it is a `NumpyAgent`.
    seed : numpy.random.SeedSequence, optional
        Seed of the inner agent, if it is a `NumpyAgent`.

    Attributes
    ----------
    discovered : list of int
        States in the order of discovery; the position of a state is its cell.
    terminal : set of int
        Terminal states, discovered or not.
    current_prior : ChineseRestaurant
        The prior with the current number of cells and the current concentration.
    n_obs : int
        Number of observations.
    n_rebuilds : int
        How often the inner agent was rebuilt. Each time all rows are valued again.
    """

    discovers_states: ClassVar[bool] = True

    def __init__(
        self,
        prior: ChineseRestaurant,
        n_actions: int,
        strategy: Strategy,
        compiled: bool = True,
        seed: np.random.SeedSequence | None = None,
    ) -> None:
        if strategy.sees_world:
            raise ValueError(f"{strategy} plans with the true world, but its states are unknown{UNKNOWN_STATES}")
        super().__init__(prior, strategy, n_actions)
        self.discovered: list[int] = []
        self._cell: dict[int, int] = {}
        self._last: dict[int, int] = {}
        self.current_prior = prior.sized(1, n_actions)
        self.n_obs, self.n_rebuilds = 0, 0
        self._row_counts: dict[int, dict[int, int]] = {}  # by row and outcome, while imagining
        self._imagined_bits = 0.0
        self._inner = self._new_inner(compiled, seed)
        self.chooses_without_values = self._inner.chooses_without_values

    def _new_inner(self, compiled: bool, seed: np.random.SeedSequence | None) -> KnownStatesAgent:
        """Return an inner agent without observations."""
        blank = InternalModel(self.current_prior)
        if not compiled:
            return NumpyAgent(blank, self.strategy, seed=seed)
        from berlyne.agents.compiled_agent import CompiledAgent  # keeps Numba out of `import berlyne`

        return CompiledAgent(blank, self.strategy)

    def position(self, s: int) -> int:
        """Return the cell of a state; the last cell if the state is not discovered."""
        return self._cell.get(s, len(self.discovered))

    def discover(self, s: int) -> bool:
        """Add a state; return whether it is new."""
        if s in self._cell:
            return False
        self._cell[s] = len(self.discovered)
        self.discovered.append(s)
        self._rebuild()
        return True

    def _rebuild(self) -> None:
        """Rebuild the inner agent with the current cells and concentration; all rows are valued again."""
        self.current_prior = self.prior.sized(len(self.discovered) + 1, self.n_actions)
        self.n_rebuilds += 1
        self._inner = self._inner.with_more_states(self.current_prior, self._last_outcomes())
        self._mark_inner_terminal()

    def _last_outcomes(self) -> IntArray:
        """Row and last outcome of every row that was tried, in cells, (rows, 2)."""
        return np.array(list(self._last.items()), dtype=np.int64).reshape(-1, 2)

    def copy(self) -> OpenStateAgent:
        """Return an independent copy."""
        clone = copy.copy(self)
        clone.discovered, clone.terminal = list(self.discovered), set(self.terminal)
        clone._cell, clone._last = dict(self._cell), dict(self._last)
        clone._inner = self._inner.copy()
        clone._mark_inner_terminal()
        return clone

    def _mark_inner_terminal(self) -> None:
        """Mark the cells of terminal states; and the last cell, to which a strategy cannot relocate."""
        elsewhere = [len(self.discovered)] if self.strategy.relocates else []
        cells = [self._cell[s] for s in sorted(self.terminal) if s in self._cell] + elsewhere
        if cells:
            self._inner.mark_terminal(np.array(cells, dtype=np.int64))

    def mark_terminal(self, states: IntArray) -> None:
        """Mark states as terminal; those not yet discovered are marked at their discovery."""
        self.terminal.update(np.asarray(states).tolist())
        self._mark_inner_terminal()

    def unmark_terminal(self, s: int) -> None:
        """Undo `mark_terminal` for a discovered state in which no action was tried."""
        self.terminal.discard(s)
        self._inner.unmark_terminal(self._cell[s])

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
        self.discover(s)
        self.discover(s_next)
        self._inner.observe(self._cell[s], a, self._cell[s_next])
        self._last[self._cell[s] * self.n_actions + a] = self._cell[s_next]
        self.n_obs += 1
        prior = self._refitted(self.n_obs, at_once=len(self.discovered) > n_known)
        if prior is not self.prior:
            self.prior = prior
            self._rebuild()

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
        """Expected missing information of every row in bits, `[a, s]`; 0 elsewhere and in terminal states."""
        missing = expected_missing_by_row(self.model())
        missing[:, [*(self._cell[s] for s in self.terminal if s in self._cell), len(self.discovered)]] = 0.0
        return missing

    def measures(self, world: World) -> tuple[float, float]:
        """Missing information in bits and L1 distance, summed over all rows of a world.

        The probability of elsewhere is divided equally among the undiscovered states.
        """
        missing, l1 = self._row_measures(world, np.arange(world.n_states * world.n_actions))
        return float(missing.sum()), float(l1.sum())

    def _row_measures(self, world: World, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Missing information in bits and L1 distance of the rows `r = s * M + a` in `rows` of a world."""
        size = np.diff(world.rows.indptr)[rows]
        entry = np.concatenate([np.arange(world.rows.indptr[r], world.rows.indptr[r + 1]) for r in rows])
        line, theta = np.repeat(np.arange(len(rows)), size), world.rows.data[entry]
        cells = np.full(world.n_states, len(self.discovered))
        cells[self.discovered] = np.arange(len(self.discovered))
        s, a = np.divmod(rows[line], world.n_actions)
        s_next = cells[world.rows.indices[entry]]
        row, exact = cells[s] * self.n_actions + a, as_exact(self.current_prior)
        if exact is None:
            theta_hat = self.model().estimate_at(row, s_next)
        else:  # faster: no model is made
            theta_hat = exact.estimate_at(self._inner.counts(), row, s_next)
        n_hidden = world.n_states - len(self.discovered)
        theta_hat = np.where(s_next == len(self.discovered), theta_hat / max(n_hidden, 1), theta_hat)
        missing = np.bincount(line, theta * np.log2(theta / theta_hat), len(rows))
        distance = np.bincount(line, np.abs(theta - theta_hat) - theta_hat, len(rows)) + 1.0
        counted = ~world.episodes.is_terminal[rows // world.n_actions]
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

    def replay(self, steps: IntArray, ends: TerminalChanges = ()) -> tuple[ReplayRecord, int]:
        """Replay a history, and record values and probabilities before each step; see `Agent.replay`.

        Discovered states count in the expected missing information. A compiled inner agent replays runs of lines that
        discover no state.
        """
        self._cells, discoveries = self._history_in_cells(steps)
        changes = [end.t for end in ends if not end.is_terminal]
        self._changes = np.union1d(discoveries, [*changes, len(steps)])
        return super().replay(steps, ends)

    def _replay_segment(self, record: ReplayRecord, steps: IntArray, begin: int, until: int) -> int:
        """Replay the lines from `begin` to `until`; return the first line that is impossible, or `until`."""
        t = begin
        while t < until:
            next_change = int(self._changes[np.searchsorted(self._changes, t)])
            end = self._end_of_lines_at_once(t, min(next_change, until))
            if end > t:
                t = self._replay_at_once(record, self._cells[:end], t)
                if t < end:
                    return t
            elif self._replay_line(record, steps, t):
                t += 1
                record.missing[t] = self.expected_missing().sum()
            else:
                return t
        return until

    def _replay_line(self, record: ReplayRecord, steps: IntArray, t: int) -> bool:
        """Replay line `t` after arriving in its state; see `Agent._replay_line`."""
        self._inner._arrive(self._cell[int(steps[t, 0])])
        return super()._replay_line(record, steps, t)

    def _history_in_cells(self, steps: IntArray) -> tuple[IntArray, IntArray]:
        """Return a history with the cells that its states will have, and the lines that discover a state."""
        order, cell = steps[:, ::2].ravel(), {UNKNOWN: UNKNOWN, **self._cell}
        states, first, index = np.unique(order, return_index=True, return_inverse=True)
        new = [i for i in np.argsort(first) if int(states[i]) not in cell]
        cell.update({int(states[i]): len(self._cell) + k for k, i in enumerate(new)})
        cells = steps.copy()
        cells[:, ::2] = np.array([cell[s] for s in states.tolist()], dtype=np.int64)[index].reshape(-1, 2)
        return cells, np.unique((first[new] - 1) // 2)  # a line discovers the state of the next line

    def _end_of_lines_at_once(self, t: int, until: int) -> int:
        """Return the end of the lines from `t` that the inner agent can replay at once, without a rebuild.

        No state must be discovered before `until`. The result is `t` if the inner agent replays no lines at once.
        """
        if not self._inner.replays_at_once:
            return t
        if self.schedule is None:
            return until
        return min(until, max(t, t + self.schedule.next_refit(self._n_obs_at_refit) - self.n_obs - 1))

    def _replay_at_once(self, record: ReplayRecord, cells: IntArray, begin: int) -> int:
        """Replay lines from `begin` on, which discover no state; return the first one not replayed."""
        done = self._inner.replay_at_once(record, cells, begin, self._last_outcomes())
        s, a, s_next = cells[begin:done][np.all(cells[begin:done] >= 0, axis=1)].T
        self._last.update(zip((s * self.n_actions + a).tolist(), s_next.tolist(), strict=True))
        self.n_obs += len(s)
        return done

    def information(self) -> float:
        """Sum of the predicted information gains (PIG) of all imagined steps, in bits.

        A state that is discovered adds missing information, so the decrease of missing information is not a gain.
        """
        return self._imagined_bits

    def reseed(self, u: FloatArray) -> None:
        """Let the random numbers of a method depend on uniform numbers `u`; see `Agent.reseed`."""
        self._inner.reseed(u)

    def imagine(self, begin: int, u_agent: FloatArray, u_world: FloatArray) -> None:
        """Explore from state `begin`, with outcomes drawn from the agent's own estimates; see `Agent.imagine`.

        The outcome elsewhere discovers a new state, whose rows start from the prior. Each step adds the PIG of its row
        (Eq. 11, `eq:kl`) on the cells that exist before the step. By Theorem 2 this is its expected information gain on
        these cells.
        """
        self._row_counts, counts = {}, self.counts()
        for row, cell, n in zip(counts.row.tolist(), counts.s_next.tolist(), counts.n.tolist(), strict=True):
            self._row_counts.setdefault(row, {})[cell] = n
        super().imagine(begin, u_agent, u_world)

    def _imagined_outcome(self, s: int, a: int, u: float) -> int:
        """Draw an outcome from the estimate of row (a, s), and add the PIG of the row; elsewhere is a new state."""
        outcomes = self._row_counts.setdefault(self._cell[s] * self.n_actions + a, {})
        row = np.zeros(len(self.discovered) + 1, dtype=np.int64)
        row[list(outcomes)] = list(outcomes.values())
        self._imagined_bits += self.current_prior.row_utility("PIG", row, a, self._cell[s], -1)
        cell = sample_index(self.current_prior.row_estimate(row, a, self._cell[s]), u)
        outcomes[cell] = outcomes.get(cell, 0) + 1
        return self.discovered[cell] if cell < len(self.discovered) else max(self.discovered) + 1
