"""A mind for worlds whose states nobody knows: states appear while it explores.

It has a cell for every state that was discovered and one, the last, for elsewhere. A state that is discovered gets a
cell of its own, its rows start from the prior, and all rows are valued again, since what is new to them has one
cell more to be. States are told by any whole numbers, in any order; inside they are numbered as they were discovered.

What thinks inside is a compiled mind, or a plain one if some part is a user's own; it is made anew at every discovery,
and whenever another concentration is found to be most likely, if the prior leaves that open.
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


NOTHING = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
"""Keys and numbers of no transitions."""


class OpenStateAgent:
    """Beliefs, utilities and choices of one explorer that discovers its states.

    Parameters
    ----------
    prior : one that grows.
    n_actions : M.
    strategy : how it acts; not one that needs the true world.
    compiled : whether kernels know all parts; else plain NumPy runs them.

    Attributes
    ----------
    assumed : the prior for the cells, and with the concentration, of now.
    n_made : how often the mind inside was made; whenever it is, all rows are valued again.
    """

    def __init__(self, prior: ChineseRestaurant, n_actions: int, strategy: Strategy, compiled: bool = True) -> None:
        if strategy.sees_world:
            raise ValueError(f"{strategy} plans with the true world, whose states are not known here{UNKNOWN_STATES}")
        self.prior, self.n_actions, self.strategy = prior, n_actions, strategy
        self.discovered: list[int] = []
        self.terminal: set[int] = set()
        self._cell: dict[int, int] = {}
        self._last: dict[int, int] = {}
        self._learns = bool(getattr(prior, "is_adaptive", False))
        self._now = prior.fitted(Counts.from_keys(n_actions, 1, *NOTHING)) if self._learns else prior
        self.current_prior = self._now.sized(1, n_actions)
        self.n_obs, self._fitted, self.n_rebuilds = 0, 0, 0
        self._inner: CompiledAgent | NumpyAgent
        blank = InternalModel(self.current_prior)
        self._inner = self._compiled(blank) if compiled else NumpyAgent(blank, strategy)

    def _compiled(self, model: InternalModel) -> CompiledAgent:
        from berlyne.agents.compiled_agent import CompiledAgent  # here, so that `import berlyne` need not import Numba

        return CompiledAgent(model, self.strategy)

    @property
    def chooses_without_values(self) -> bool:
        """Whether its method decides for itself, rather than by values."""
        return bool(getattr(self._inner, "chooses_without_values", False))

    def cell(self, state: int) -> int:
        """The cell of a state: its own, or elsewhere."""
        return self._cell.get(state, len(self.discovered))

    def discover(self, state: int) -> bool:
        """Know that a state exists; whether that is new."""
        if state in self._cell:
            return False
        self._cell[state] = len(self.discovered)
        self.discovered.append(state)
        self._make_again()
        return True

    def _make_again(self) -> None:
        """Think with the cells and the concentration of now: all rows are valued anew."""
        self.current_prior = self._now.sized(len(self.discovered) + 1, self.n_actions)
        self.n_rebuilds += 1
        if isinstance(self._inner, NumpyAgent):
            self._inner = self._inner.with_more_states(self.model())
        else:
            memory = self._inner.state_dict()
            n_new = len(self.discovered) + 1 - len(memory["visits"])
            memory["visits"] = np.append(memory["visits"], np.zeros(n_new, dtype=np.int64))
            memory["q"] = np.concatenate([memory["q"], *[memory["q"][-1:]] * n_new])
            code, self._inner = self._inner.entry_points, self._compiled(InternalModel(self.current_prior))
            self._inner.entry_points = code
            self._inner.load_state(memory, self._last_outcomes())
        self._close()

    def _last_outcomes(self) -> IntArray:
        """Row and last outcome of every row that was tried, (rows, 2)."""
        return np.array(list(self._last.items()), dtype=np.int64).reshape(-1, 2)

    def _refit(self) -> None:
        """Take the concentration that is most likely by now."""
        self._fitted, before = self.n_obs, self._now
        self._now = self.prior.fitted(self.counts())
        if self._now.describe() != before.describe():
            self._make_again()

    def copy(self) -> OpenStateAgent:
        """Another mind that knows what this one does, and goes its own way."""
        other = copy.copy(self)
        other.discovered, other.terminal = list(self.discovered), set(self.terminal)
        other._cell, other._last = dict(self._cell), dict(self._last)
        other._inner = self._inner.copy(self.model())
        other._close()
        return other

    def _close(self) -> None:
        """No action can be taken where episodes end; and nobody can go elsewhere at will."""
        nowhere = [len(self.discovered)] if self.strategy.relocates else []
        cells = [self._cell[s] for s in sorted(self.terminal) if s in self._cell] + nowhere
        if cells:
            self._inner.mark_terminal(np.array(cells, dtype=np.int64))

    def mark_terminal(self, states: IntArray) -> None:
        """Know that episodes end in these states, once they are discovered."""
        self.terminal.update(np.asarray(states).tolist())
        self._close()

    def unmark_terminal(self, state: int) -> None:
        """Know that actions can be taken in this state after all."""
        self.terminal.discard(state)
        self._inner.unmark_terminal(self._cell[state])

    @property
    def current_state(self) -> int:
        """The state it is in as far as it knows; -1 for unknown."""
        here = self._inner.current_state
        return self.discovered[here] if here >= 0 else -1

    def act(self, s: int, u: FloatArray) -> int:
        """The action to take in state `s`."""
        return self._inner.act(self.cell(s), u)

    def choose_pair(self, u: FloatArray) -> tuple[int, int]:
        """The state to go to and the action to take there, of a strategy that may relocate to what it knows."""
        if not self.discovered:
            raise ValueError(f"{self.strategy} knows of no state to go to; tell it of one by discover")
        s, a = self._inner.choose_pair(u)
        return self.discovered[s], a

    def observe(self, s: int, a: int, s_next: int) -> None:
        """Learn one transition, and of the states it is between."""
        known = len(self.discovered)
        self.discover(s)
        self.discover(s_next)
        self._inner.observe(self._cell[s], a, self._cell[s_next])
        self._last[self._cell[s] * self.n_actions + a] = self._cell[s_next]
        self.n_obs += 1
        if self._learns and (len(self.discovered) > known or self.n_obs >= 2 * self._fitted):
            self._refit()

    def action_values(self, s: int) -> FloatArray:
        """What the method thinks of each action in state `s`, (M,)."""
        return self._inner.action_values(self.cell(s))

    def probabilities(self, s: int) -> FloatArray:
        """The chance of each action in state `s`, (M,)."""
        return self._inner.probabilities(self.cell(s))

    def pair_values(self) -> FloatArray:
        """What a method that may relocate thinks of all pairs, `[s, a]`, states as they were discovered."""
        return self._inner.pair_values()[:-1]

    def pair_probabilities(self) -> FloatArray:
        """The chance of each pair, `[s, a]`, states as they were discovered."""
        return self._inner.pair_probabilities()[:-1]

    def utility(self) -> FloatArray:
        """Current utilities `[a, s]`, states as they were discovered, and elsewhere last."""
        return self._inner.utility()

    def counts(self) -> Counts:
        """Observed transitions between states as they were discovered, and elsewhere."""
        counts, n = self._inner.counts(), len(self.discovered) + 1
        return Counts.from_keys(self.n_actions, n, counts.row * n + counts.s_next, counts.n)

    def model(self, labels: Any = None) -> InternalModel:
        """What it believes, states as they were discovered, and elsewhere last."""
        return InternalModel.from_counts(self.current_prior, self.counts(), self._last, labels)

    def expected_missing(self) -> FloatArray:
        """Expected missing information of every row, in bits, `[a, s]`; none elsewhere and where episodes end."""
        left = expected_missing_by_row(self.model())
        left[:, [*(self._cell[s] for s in self.terminal if s in self._cell), len(self.discovered)]] = 0.0
        return left

    def measures(self, world: World) -> tuple[float, float]:
        """Missing information in bits and L1 distance of all rows; elsewhere is spread over undiscovered states."""
        missing, l1 = self._of_rows(world, np.arange(world.n_states * world.n_actions))
        return float(missing.sum()), float(l1.sum())

    def _of_rows(self, world: World, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Missing information and L1 distance of some rows r = s M + a of a world."""
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
        else:  # no model need be made of what is counted
            theta_hat = exact.estimate_at(self._inner.counts(), row, s_next)
        n_hidden = world.n_states - len(self.discovered)
        theta_hat = np.where(s_next == len(self.discovered), theta_hat / max(n_hidden, 1), theta_hat)
        missing = np.bincount(line, theta * np.log2(theta / theta_hat), len(rows))
        apart = np.bincount(line, np.abs(theta - theta_hat) - theta_hat, len(rows)) + 1.0
        counted = ~world.episodes.is_terminal[rows // world.n_actions]
        return np.asarray(missing * counted, dtype=float), np.asarray(apart * counted, dtype=float)

    def run(
        self,
        world: World,
        record: RunRecord,
        u_agent: FloatArray,
        u_world: FloatArray,
        u_start: FloatArray | None = None,
    ) -> int:
        """Choose, transition, learn, measure; once for each line of `u_agent`. Returns the steps made, all of them."""
        missing, l1 = self._of_rows(world, np.arange(world.n_states * world.n_actions))
        for t, (u_choice, u_outcome) in enumerate(zip(u_agent, u_world, strict=True)):
            s = int(record.states[t])
            s, a = self.choose_pair(u_choice) if self.strategy.relocates else (s, self.act(s, u_choice))
            s_next = world.sample(a, s, float(u_outcome))
            n_rebuilds = self.n_rebuilds
            self.observe(s, a, s_next)
            resets = u_start is not None and bool(world.episodes.is_terminal[s_next])
            begins = world.episodes.draw(float(u_start[t])) if u_start is not None and resets else s_next
            self.discover(begins)  # it finds itself there
            record.states[t], record.actions[t], record.outcomes[t], record.states[t + 1] = s, a, s_next, begins
            changed = np.arange(len(missing)) if self.n_rebuilds > n_rebuilds else np.array([s * world.n_actions + a])
            missing[changed], l1[changed] = self._of_rows(world, changed)
            record.missing[t + 1], record.l1[t + 1] = missing.sum(), l1.sum()
        return len(u_world)

    def replay(self, steps: IntArray, ends: TerminalChanges = ()) -> ReplayRecord:
        """What this mind, which has seen nothing yet, thinks along a history (T, 3) of lines s, a, s_next.

        The mind finds itself where the first line begins, and after each line where the next one does. These states
        are discovered then, and count with what is left to learn. `ends` are what is learned of ends. Lines that
        discover nothing are left to the mind inside, if it is compiled.
        """
        cells, surprises = self._foreseen(steps)
        surprises = np.union1d(surprises, [end.t for end in ends if not end.is_terminal] + [len(steps)])
        for s in steps[:1, 0].tolist():
            self.discover(s)
        left = float(self.expected_missing().sum())
        record = ReplayRecord.allocate(len(steps), self.n_actions, left, self.strategy.relocates)
        for first, until, closed, opened in iter_segments(len(steps), ends):
            if closed:
                self.mark_terminal(np.array(closed, dtype=np.int64))
                record.missing[first] = self.expected_missing().sum()
            for s in opened:
                self.unmark_terminal(s)
            t = first
            while t < until:
                calm = self._calm(t, min(int(surprises[np.searchsorted(surprises, t)]), until))
                if calm > t:
                    self._replay_lines(record, cells[:calm], t)
                else:
                    self._step(record, steps, t)
                t = max(calm, t + 1)
        return record

    def _foreseen(self, steps: IntArray) -> tuple[IntArray, IntArray]:
        """A history in cells, which states will have once they are discovered, and the lines that discover some."""
        order, cell = steps[:, ::2].ravel(), dict(self._cell)
        met, first, which = np.unique(order, return_index=True, return_inverse=True)
        new = [i for i in np.argsort(first) if int(met[i]) not in cell]
        cell.update({int(met[i]): len(cell) + k for k, i in enumerate(new)})
        cells = steps.copy()
        cells[:, ::2] = np.array([cell[s] for s in met.tolist()], dtype=np.int64)[which].reshape(-1, 2)
        return cells, np.unique((first[new] - 1) // 2)  # where a line begins is discovered when the one before ends

    def _calm(self, t: int, until: int) -> int:
        """Up to which line nothing changes but what is known of single rows, if no state is discovered before `until`.

        It is `t` itself if the mind inside is not compiled.
        """
        if isinstance(self._inner, NumpyAgent):
            return t
        return min(until, max(t, t + 2 * self._fitted - self.n_obs - 1)) if self._learns else until

    def _replay_lines(self, record: ReplayRecord, cells: IntArray, begin: int) -> None:
        """Go along lines from `begin` on, which discover nothing."""
        assert not isinstance(self._inner, NumpyAgent)
        self._inner.replay_lines(self._inner.copy_with_novelty(self._last_outcomes()), record, cells, begin)
        s, a, s_next = cells[begin:].T
        self._last.update(zip((s * self.n_actions + a).tolist(), s_next.tolist(), strict=True))
        self.n_obs += len(s)

    def _step(self, record: ReplayRecord, steps: IntArray, t: int) -> None:
        """Think before line `t`, learn it, and discover what it shows and where the next one begins."""
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
        """Go on from state `begin` where what is predicted happens; the bits that this was expected to teach.

        One step for each line of `u_agent`. What leads elsewhere discovers a state, whose rows start from the prior. A
        step counts with the PIG of the row that it tries (Eq. 11, `eq:kl`), on the cells of that moment: by
        Theorem 2 what it was expected to teach of them. Where an episode ends, it begins again.
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
