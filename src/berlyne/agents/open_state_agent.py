"""The agent for an open state set: states are not known in advance, but discovered during exploration.

The agent has one cell per discovered state and a last cell, *elsewhere*, for all other states. A newly discovered state
gets its own cell, and its rows start from the prior. All rows are then valued again, since each has one more possible
outcome. States are identified by any integers, in any order. Cells are numbered in the order of discovery.

Beliefs and choices belong to an inner agent on the cells: a `CompiledAgent`, or a `NumpyAgent` if a part is custom. The
inner agent is rebuilt at every discovery. If the prior learns its concentration, the inner agent is also rebuilt when
another concentration becomes most likely.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.agents.numpy_agent import NumpyAgent
from berlyne.engine.records import ReplayRecord, RunRecord
from berlyne.models.history import TerminalChanges, iter_segments
from berlyne.models.internal_model import InternalModel, expected_missing_by_row
from berlyne.priors.protocols import as_exact
from berlyne.sparse import Counts
from berlyne.strategies.choice import sample_index
from berlyne.strategies.registry import Strategy
from berlyne.validation import UNKNOWN_STATES, FloatArray, IntArray
from berlyne.worlds.world import World

if TYPE_CHECKING:
    from berlyne.agents.compiled_agent import CompiledAgent
    from berlyne.priors import ChineseRestaurant


NO_COUNTS = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
"""Keys and counts of an empty `Counts`."""


class OpenStateAgent:
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

    def __init__(self, prior: ChineseRestaurant, n_actions: int, strategy: Strategy, compiled: bool = True) -> None:
        if strategy.sees_world:
            raise ValueError(f"{strategy} plans with the true world, but its states are unknown{UNKNOWN_STATES}")
        self.prior, self.n_actions, self.strategy = prior, n_actions, strategy
        self.discovered: list[int] = []
        self.terminal: set[int] = set()
        self._cell: dict[int, int] = {}
        self._last: dict[int, int] = {}
        self._is_adaptive = bool(getattr(prior, "is_adaptive", False))
        self._fitted_prior = prior.fitted(Counts.from_keys(n_actions, 1, *NO_COUNTS)) if self._is_adaptive else prior
        self.current_prior = self._fitted_prior.sized(1, n_actions)
        self.n_obs, self._n_obs_at_fit, self.n_rebuilds = 0, 0, 0
        self._inner: CompiledAgent | NumpyAgent
        blank = InternalModel(self.current_prior)
        self._inner = self._compiled(blank) if compiled else NumpyAgent(blank, strategy)

    def _compiled(self, model: InternalModel) -> CompiledAgent:
        from berlyne.agents.compiled_agent import CompiledAgent  # keeps Numba out of `import berlyne`

        return CompiledAgent(model, self.strategy)

    @property
    def chooses_without_values(self) -> bool:
        """Whether the method chooses an action itself, instead of giving values to the choice rule."""
        return bool(getattr(self._inner, "chooses_without_values", False))

    def cell(self, state: int) -> int:
        """Return the cell of a state; the last cell if the state is not discovered."""
        return self._cell.get(state, len(self.discovered))

    def discover(self, state: int) -> bool:
        """Add a state; return whether it is new."""
        if state in self._cell:
            return False
        self._cell[state] = len(self.discovered)
        self.discovered.append(state)
        self._rebuild()
        return True

    def _rebuild(self) -> None:
        """Rebuild the inner agent with the current cells and concentration; all rows are valued again."""
        self.current_prior = self._fitted_prior.sized(len(self.discovered) + 1, self.n_actions)
        self.n_rebuilds += 1
        if isinstance(self._inner, NumpyAgent):
            self._inner = self._inner.with_more_states(self.model())
        else:
            memory = self._inner.state_dict()
            n_new = len(self.discovered) + 1 - len(memory["visits"])
            memory["visits"] = np.append(memory["visits"], np.zeros(n_new, dtype=np.int64))
            memory["q"] = np.concatenate([memory["q"], *[memory["q"][-1:]] * n_new])
            self._inner = self._compiled(InternalModel(self.current_prior))
            self._inner.load_state(memory, self._last_outcomes())
        self._mark_inner_terminal()

    def _last_outcomes(self) -> IntArray:
        """Row and last outcome of every row that was tried, in cells, (rows, 2)."""
        return np.array(list(self._last.items()), dtype=np.int64).reshape(-1, 2)

    def _refit(self) -> None:
        """Fit the concentration to all observations; rebuild the inner agent if it changes."""
        self._n_obs_at_fit, before = self.n_obs, self._fitted_prior
        self._fitted_prior = self.prior.fitted(self.counts())
        if self._fitted_prior.describe() != before.describe():
            self._rebuild()

    def copy(self) -> OpenStateAgent:
        """Return an independent copy."""
        clone = copy.copy(self)
        clone.discovered, clone.terminal = list(self.discovered), set(self.terminal)
        clone._cell, clone._last = dict(self._cell), dict(self._last)
        clone._inner = self._inner.copy(self.model())
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

    def unmark_terminal(self, state: int) -> None:
        """Undo `mark_terminal` for a discovered state."""
        self.terminal.discard(state)
        self._inner.unmark_terminal(self._cell[state])

    @property
    def current_state(self) -> int:
        """The current state; -1 if it is unknown."""
        cell = self._inner.current_state
        return self.discovered[cell] if cell >= 0 else -1

    def act(self, s: int, u: FloatArray) -> int:
        """Choose an action in state `s`; `u` holds two uniform numbers in [0, 1)."""
        return self._inner.act(self.cell(s), u)

    def choose_pair(self, u: FloatArray) -> tuple[int, int]:
        """Choose a discovered state and an action in it, for a strategy that may relocate."""
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
        if self._is_adaptive and (len(self.discovered) > n_known or self.n_obs >= 2 * self._n_obs_at_fit):
            self._refit()

    def action_values(self, s: int) -> FloatArray:
        """Value of each action in state `s` to the coordination method, (M,)."""
        return self._inner.action_values(self.cell(s))

    def probabilities(self, s: int) -> FloatArray:
        """Probability of each action in state `s`, (M,)."""
        return self._inner.probabilities(self.cell(s))

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
        counts, n = self._inner.counts(), len(self.discovered) + 1
        return Counts.from_keys(self.n_actions, n, counts.row * n + counts.s_next, counts.n)

    def model(self, labels: Any = None) -> InternalModel:
        """Return the internal model on cells: states in the order of discovery, then elsewhere."""
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

    def run(
        self,
        world: World,
        record: RunRecord,
        u_agent: FloatArray,
        u_world: FloatArray,
        u_start: FloatArray | None = None,
    ) -> int:
        """Explore a world as `NumpyAgent.run` does; return the number of steps made, always T."""
        missing, l1 = self._row_measures(world, np.arange(world.n_states * world.n_actions))
        for t, (u_choice, u_outcome) in enumerate(zip(u_agent, u_world, strict=True)):
            s = int(record.states[t])
            s, a = self.choose_pair(u_choice) if self.strategy.relocates else (s, self.act(s, u_choice))
            s_next = world.sample(a, s, float(u_outcome))
            n_rebuilds = self.n_rebuilds
            self.observe(s, a, s_next)
            resets = u_start is not None and bool(world.episodes.is_terminal[s_next])
            begins = world.episodes.draw(float(u_start[t])) if u_start is not None and resets else s_next
            self.discover(begins)  # the next step begins there
            record.states[t], record.actions[t], record.outcomes[t], record.states[t + 1] = s, a, s_next, begins
            changed = np.arange(len(missing)) if self.n_rebuilds > n_rebuilds else np.array([s * world.n_actions + a])
            missing[changed], l1[changed] = self._row_measures(world, changed)
            record.missing[t + 1], record.l1[t + 1] = missing.sum(), l1.sum()
        return len(u_world)

    def replay(self, steps: IntArray, ends: TerminalChanges = ()) -> ReplayRecord:
        """Replay a history, and record values and probabilities before each of its steps.

        The agent must have no observations. The state of the first line is discovered at the start. The state of every
        other line is discovered after the line before it. Discovered states count in the expected missing information.
        A compiled inner agent replays runs of lines that discover no state.

        Parameters
        ----------
        steps : ndarray of int, shape (T, 3)
            Lines s, a, s_next.
        ends : sequence, optional
            Changes of the terminal states, as `berlyne.models.history.iter_segments` takes them.

        Returns
        -------
        ReplayRecord
            Values, utilities and probabilities before each step.
        """
        cells, discoveries = self._history_in_cells(steps)
        discoveries = np.union1d(discoveries, [end.t for end in ends if not end.is_terminal] + [len(steps)])
        for s in steps[:1, 0].tolist():
            self.discover(s)
        missing = float(self.expected_missing().sum())
        record = ReplayRecord.allocate(len(steps), self.n_actions, missing, self.strategy.relocates)
        for first, until, terminal, not_terminal in iter_segments(len(steps), ends):
            if terminal:
                self.mark_terminal(np.array(terminal, dtype=np.int64))
                record.missing[first] = self.expected_missing().sum()
            for s in not_terminal:
                self.unmark_terminal(s)
            t = first
            while t < until:
                compiled_until = self._end_of_compiled_lines(
                    t, min(int(discoveries[np.searchsorted(discoveries, t)]), until)
                )
                if compiled_until > t:
                    self._replay_lines(record, cells[:compiled_until], t)
                else:
                    self._replay_line(record, steps, t)
                t = max(compiled_until, t + 1)
        return record

    def _history_in_cells(self, steps: IntArray) -> tuple[IntArray, IntArray]:
        """Return a history with the cells that its states will have, and the lines that discover a state."""
        order, cell = steps[:, ::2].ravel(), dict(self._cell)
        states, first, index = np.unique(order, return_index=True, return_inverse=True)
        new = [i for i in np.argsort(first) if int(states[i]) not in cell]
        cell.update({int(states[i]): len(cell) + k for k, i in enumerate(new)})
        cells = steps.copy()
        cells[:, ::2] = np.array([cell[s] for s in states.tolist()], dtype=np.int64)[index].reshape(-1, 2)
        return cells, np.unique((first[new] - 1) // 2)  # a line discovers the state of the next line

    def _end_of_compiled_lines(self, t: int, until: int) -> int:
        """Return the end of the lines from `t` that the inner agent can replay without a rebuild.

        No state must be discovered before `until`. The result is `t` if the inner agent is not compiled.
        """
        if isinstance(self._inner, NumpyAgent):
            return t
        return min(until, max(t, t + 2 * self._n_obs_at_fit - self.n_obs - 1)) if self._is_adaptive else until

    def _replay_lines(self, record: ReplayRecord, cells: IntArray, begin: int) -> None:
        """Replay lines from `begin` on, which discover no state, in the inner agent."""
        assert not isinstance(self._inner, NumpyAgent)
        self._inner.replay_lines(self._inner.copy_with_novelty(self._last_outcomes()), record, cells, begin)
        s, a, s_next = cells[begin:].T
        self._last.update(zip((s * self.n_actions + a).tolist(), s_next.tolist(), strict=True))
        self.n_obs += len(s)

    def _replay_line(self, record: ReplayRecord, steps: IntArray, t: int) -> None:
        """Record values before line `t`, learn it, and discover its states and the state of the next line."""
        s, a, s_next = steps[t].tolist()
        cell, relocates = self._cell[s], self.strategy.relocates
        record.utility[t] = self.utility()[:, cell]
        record.values[t] = self.pair_values()[cell] if relocates else self.action_values(s)
        record.probabilities[t] = self.pair_probabilities()[cell] if relocates else self.probabilities(s)
        self.observe(s, a, s_next)
        for begin in steps[t + 1 : t + 2, 0].tolist():
            self.discover(begin)
        record.missing[t + 1] = self.expected_missing().sum()

    def imagine(self, begin: int, u_agent: FloatArray, u_world: FloatArray) -> float:
        """Explore from state `begin`, with outcomes drawn from the agent's own estimates.

        The outcome elsewhere discovers a new state, whose rows start from the prior. Each step adds the PIG of its row
        (Eq. 11, `eq:kl`) on the cells that exist before the step. By Theorem 2 this is its expected information gain on
        these cells.

        Parameters
        ----------
        begin : int
            State in which every episode begins.
        u_agent : ndarray of shape (T, 2)
            Uniform numbers in [0, 1) for the choices, two per step.
        u_world : ndarray of shape (T,)
            Uniform numbers in [0, 1) for the outcomes.

        Returns
        -------
        float
            Sum of the predicted information gains, in bits.
        """
        seen: dict[int, dict[int, int]] = {}
        counts = self.counts()
        for row, cell, n in zip(counts.row.tolist(), counts.s_next.tolist(), counts.n.tolist(), strict=True):
            seen.setdefault(row, {})[cell] = n
        s, bits = begin, 0.0
        if not self.strategy.relocates:
            self.discover(begin)
        for u_choice, u_outcome in zip(u_agent, u_world, strict=True):
            s, a = self.choose_pair(u_choice) if self.strategy.relocates else (s, self.act(s, u_choice))
            outcomes = seen.setdefault(self._cell[s] * self.n_actions + a, {})
            row = np.zeros(len(self.discovered) + 1, dtype=np.int64)
            row[list(outcomes)] = list(outcomes.values())
            bits += self.current_prior.row_utility("PIG", row, a, self._cell[s], -1)
            cell = sample_index(self.current_prior.row_estimate(row, a, self._cell[s]), float(u_outcome))
            outcomes[cell] = outcomes.get(cell, 0) + 1
            s_next = self.discovered[cell] if cell < len(self.discovered) else max(self.discovered) + 1
            self.observe(s, a, s_next)
            s = begin if s_next in self.terminal else s_next
        return bits
