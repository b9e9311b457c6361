"""A mind for worlds whose states nobody knows: states appear while it explores.

It has a cell for every state that was discovered and one, the last, for elsewhere. A state that is discovered gets a
cell of its own, its rows start from the prior, and all rows are valued again, since what is new to them has one
cell more to be. States are told by any whole numbers, in any order; inside they are numbered as they were discovered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.arrays import FloatArray, IntArray
from berlyne.model import InternalModel
from berlyne.rows import Counts
from berlyne.strategies import Strategy
from berlyne.trace import Trace
from berlyne.worlds.world import World

if TYPE_CHECKING:
    from berlyne.engine.mind import CompiledMind
    from berlyne.priors import ChineseRestaurant


class GrowingMind:
    """Beliefs, utilities and choices of one explorer that discovers its states.

    Parameters
    ----------
    prior : one that grows.
    n_actions : M.
    strategy : how it acts; not one that needs the true world, nor a part of a user's own.
    """

    by_itself = False

    def __init__(self, prior: ChineseRestaurant, n_actions: int, strategy: Strategy) -> None:
        from berlyne.engine.mind import can_compile  # here, so that `import berlyne` need not import Numba

        if strategy.sees_world:
            raise ValueError(f"{strategy} plans with the true world, whose states are not known here")
        if not can_compile(prior.sized(1, n_actions), strategy):
            raise ValueError(
                f"{strategy} has a part that cannot discover states; {prior!r} needs parts of berlyne's own"
            )
        self.prior, self.n_actions, self.strategy = prior, n_actions, strategy
        self.found: list[int] = []
        self.closed: set[int] = set()
        self._cell: dict[int, int] = {}
        self._last: dict[int, int] = {}
        self._mind = self._made()

    def _made(self) -> CompiledMind:
        """A mind of as many cells as there are to be, which has observed nothing."""
        from berlyne.engine.mind import CompiledMind

        return CompiledMind(InternalModel(self.prior.sized(len(self.found) + 1, self.n_actions)), self.strategy)

    def cell(self, state: int) -> int:
        """The cell of a state: its own, or elsewhere."""
        return self._cell.get(state, len(self.found))

    def discover(self, state: int) -> bool:
        """Know that a state exists; whether that is new."""
        if state in self._cell:
            return False
        memory = self._mind.memory()
        self._cell[state] = len(self.found)
        self.found.append(state)
        self._mind = self._made()
        memory["visits"] = np.append(memory["visits"], 0)
        memory["q"] = np.concatenate([memory["q"], memory["q"][-1:]])
        self._mind.remember(memory, np.array(list(self._last.items()), dtype=np.int64).reshape(-1, 2))
        self._close()
        return True

    def _close(self) -> None:
        """No action can be taken where episodes end; and nobody can go elsewhere at will."""
        nowhere = [len(self.found)] if self.strategy.relocates else []
        cells = [self._cell[s] for s in sorted(self.closed) if s in self._cell] + nowhere
        if cells:
            self._mind.close(np.array(cells, dtype=np.int64))

    def close(self, states: IntArray) -> None:
        """Know that episodes end in these states, once they are discovered."""
        self.closed.update(np.asarray(states).tolist())
        self._close()

    def open(self, state: int) -> None:
        """Know that actions can be taken in this state after all."""
        self.closed.discard(state)
        self._mind.open(self._cell[state])

    @property
    def where(self) -> int:
        """The state it is in as far as it knows; -1 for unknown."""
        here = self._mind.where
        return self.found[here] if here >= 0 else -1

    def act(self, s: int, u: FloatArray) -> int:
        """The action to take in state `s`."""
        return self._mind.act(self.cell(s), u)

    def choose_pair(self, u: FloatArray) -> tuple[int, int]:
        """The state to go to and the action to take there, of a strategy that may relocate to what it knows."""
        if not self.found:
            raise ValueError(f"{self.strategy} knows of no state to go to; tell it of one by discover")
        s, a = self._mind.choose_pair(u)
        return self.found[s], a

    def observe(self, s: int, a: int, s_next: int) -> None:
        """Learn one transition, and of the states it is between."""
        self.discover(s)
        self.discover(s_next)
        self._mind.observe(self._cell[s], a, self._cell[s_next])
        self._last[self._cell[s] * self.n_actions + a] = self._cell[s_next]

    def action_values(self, s: int) -> FloatArray:
        """What the method thinks of each action in state `s`, (M,)."""
        return self._mind.action_values(self.cell(s))

    def probabilities(self, s: int) -> FloatArray:
        """The chance of each action in state `s`, (M,)."""
        return self._mind.probabilities(self.cell(s))

    def pair_values(self) -> FloatArray:
        """What a method that may relocate thinks of all pairs, `[s, a]`, states as they were discovered."""
        return self._mind.pair_values()[:-1]

    def pair_probabilities(self) -> FloatArray:
        """The chance of each pair, `[s, a]`, states as they were discovered."""
        return self._mind.pair_probabilities()[:-1]

    def utility(self) -> FloatArray:
        """Current utilities `[a, s]`, states as they were discovered, and elsewhere last."""
        return self._mind.utility()

    def counts(self) -> Counts:
        """Observed transitions between states as they were discovered, and elsewhere."""
        return self._mind.counts()

    def model(self, labels: Any = None) -> InternalModel:
        """What it believes, states as they were discovered, and elsewhere last."""
        prior = self.prior.sized(len(self.found) + 1, self.n_actions)
        return InternalModel.from_counts(prior, self._mind.counts(), self._last, labels)

    def measures(self, world: World) -> tuple[float, float]:
        """Missing information in bits and L1 distance of all rows; elsewhere is spread over undiscovered states."""
        missing, l1 = self._of_rows(world, np.arange(world.n_states * world.n_actions))
        return float(missing.sum()), float(l1.sum())

    def _of_rows(self, world: World, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Missing information and L1 distance of some rows r = s M + a of a world."""
        size = np.diff(world.rows.indptr)[rows]
        entry = np.concatenate([np.arange(world.rows.indptr[r], world.rows.indptr[r + 1]) for r in rows])
        line, theta = np.repeat(np.arange(len(rows)), size), world.rows.data[entry]
        cells = np.full(world.n_states, len(self.found))
        cells[self.found] = np.arange(len(self.found))
        s, a = np.divmod(rows[line], world.n_actions)
        s_next = cells[world.rows.indices[entry]]
        prior, counts = self.prior.sized(len(self.found) + 1, self.n_actions), self._mind.counts()
        theta_hat = prior.estimate_at(counts, cells[s] * self.n_actions + a, s_next)
        n_hidden = world.n_states - len(self.found)
        theta_hat = np.where(s_next == len(self.found), theta_hat / max(n_hidden, 1), theta_hat)
        missing = np.bincount(line, theta * np.log2(theta / theta_hat), len(rows))
        apart = np.bincount(line, np.abs(theta - theta_hat) - theta_hat, len(rows)) + 1.0
        counted = ~world.episodes.ends[rows // world.n_actions]
        return np.asarray(missing * counted, dtype=float), np.asarray(apart * counted, dtype=float)

    def run(
        self, world: World, trace: Trace, u_agent: FloatArray, u_world: FloatArray, u_start: FloatArray | None = None
    ) -> int:
        """Choose, transition, learn, measure; once for each line of `u_agent`. Returns the steps made, all of them."""
        missing, l1 = self._of_rows(world, np.arange(world.n_states * world.n_actions))
        for t, (u_choice, u_outcome) in enumerate(zip(u_agent, u_world, strict=True)):
            s = int(trace.states[t])
            s, a = self.choose_pair(u_choice) if self.strategy.relocates else (s, self.act(s, u_choice))
            s_next = world.sample(a, s, float(u_outcome))
            n_found = len(self.found)
            self.observe(s, a, s_next)
            resets = u_start is not None and bool(world.episodes.ends[s_next])
            begins = world.episodes.draw(float(u_start[t])) if u_start is not None and resets else s_next
            self.discover(begins)  # it finds itself there
            trace.states[t], trace.actions[t], trace.outcomes[t], trace.states[t + 1] = s, a, s_next, begins
            changed = np.arange(len(missing)) if len(self.found) > n_found else np.array([s * world.n_actions + a])
            missing[changed], l1[changed] = self._of_rows(world, changed)
            trace.missing[t + 1], trace.l1[t + 1] = missing.sum(), l1.sum()
        return len(u_world)
