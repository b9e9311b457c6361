"""Replay one person's choices in plain NumPy: discovered states, PIG, rarity, plans with ends; no code of berlyne."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Step(NamedTuple):
    """A choice: state, action (a number), next state, and whether the episode ended and another one begins here."""

    s: Any
    a: int
    s_next: Any
    ended: bool
    begins: bool


class PlainPerson:
    """Counts, visits, ends and starts of one person who discovers states; dictionaries by label.

    The estimate of a row with n observations: seen outcomes have n_i / (n + c); all other discovered states, and one
    cell for the undiscovered ones, share c / (n + c) evenly.
    """

    def __init__(self, c: float, n_actions: int) -> None:
        self.c, self.n_actions = c, n_actions
        self.states: list[Any] = []
        self.counts: dict[tuple[int, Any], dict[Any, int]] = {}
        self.visits: dict[Any, int] = {}
        self.starts: dict[Any, int] = {}
        self.terminal: set[Any] = set()
        self.last: Any = None

    def discover(self, s: Any) -> None:
        if s not in self.states:
            self.states.append(s)

    def arrive(self, s: Any, begins: bool) -> None:
        """Discover the state of a choice. Count its visit, unless the last step led there, and a start."""
        self.discover(s)
        self.terminal.discard(s)
        if self.last != s:
            self.visits[s] = self.visits.get(s, 0) + 1
        if begins:
            self.starts[s] = self.starts.get(s, 0) + 1

    def learn(self, step: Step) -> None:
        self.discover(step.s_next)
        row = self.counts.setdefault((step.a, step.s), {})
        row[step.s_next] = row.get(step.s_next, 0) + 1
        self.visits[step.s_next] = self.visits.get(step.s_next, 0) + 1
        self.last = step.s_next
        if step.ended and not any(s == step.s_next for _, s in self.counts):
            self.terminal.add(step.s_next)

    def pseudo_counts(self) -> Any:
        """Pseudo-counts [a, s, s_next] of all cells; the last one stands for all undiscovered states."""
        n_cells = len(self.states) + 1
        kappa = np.full((self.n_actions, n_cells, n_cells), self.c / n_cells)
        for (a, s), row in self.counts.items():
            kappa[a, self.states.index(s)] = self.c / (n_cells - len(row))
            for s_next, n in row.items():
                kappa[a, self.states.index(s), self.states.index(s_next)] = n
        return kappa

    def utility(self, drive: str) -> Any:
        """Utility [a, s] in bits."""
        kappa = self.pseudo_counts()
        theta = kappa / kappa.sum(axis=-1, keepdims=True)
        if drive == "rarity":
            n = np.array([self.visits.get(s, 0) for s in self.states] + [0.0])
            return -theta @ np.log2((n + 1) / (n.sum() + len(n)))
        after = kappa[..., None, :] + np.eye(kappa.shape[-1])  # [a, s, s_star, s_next]
        after /= after.sum(axis=-1, keepdims=True)
        return np.einsum("asi,asij->as", theta, after * np.log2(after / theta[..., None, :]))

    def values(self, drive: str, s: Any, gamma: float, steps_back: int = 10) -> Any:
        """Values of the actions in state `s`: utility summed over the next steps; after an end the next episode."""
        kappa, utility = self.pseudo_counts(), self.utility(drive)
        theta, q = kappa / kappa.sum(axis=-1, keepdims=True), utility
        for _ in range(steps_back):
            v = q.max(axis=0)
            begin = {b: n for b, n in self.starts.items() if b not in self.terminal}
            restart = sum(n * v[self.states.index(b)] for b, n in begin.items()) / max(1, sum(begin.values()))
            for end in self.terminal:
                v[self.states.index(end)] = restart
            q = utility + gamma * theta @ v
        return q[:, self.states.index(s)]


def replay(steps: list[Step], drive: str, c: float, gamma: float, n_actions: int) -> Any:
    """Values of the actions before each choice of one person, (T, A)."""
    person, values = PlainPerson(c, n_actions), []
    for step in steps:
        person.arrive(step.s, step.begins)
        values.append(person.values(drive, step.s, gamma))
        person.learn(step)
    return np.array(values)


def nuisance(steps: list[Step], n_actions: int) -> Any:
    """Bias of each action but the first, repetition within an episode, and log(1 + n(s, a)), (T, A, A + 1)."""
    x, n, before = np.zeros((len(steps), n_actions, n_actions + 1)), {}, None
    for t, step in enumerate(steps):
        x[t, 1:, : n_actions - 1] = np.eye(n_actions - 1)
        if not step.begins and before is not None:
            x[t, before, n_actions - 1] = 1.0
        x[t, :, n_actions] = np.log1p([n.get((step.s, a), 0) for a in range(n_actions)])
        n[step.s, step.a] = n.get((step.s, step.a), 0) + 1
        before = step.a
    return x
