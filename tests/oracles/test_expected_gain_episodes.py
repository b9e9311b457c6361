"""Expected gain with terminal states against enumeration of all outcomes."""

from __future__ import annotations

import numpy as np
import pytest

from berlyne import Dirichlet, Explorer
from berlyne.strategies.registry import get_strategy
from oracles import dirichlet_row

N, M, END = 3, 2, 2
TOLD = [(0, 0, 2, True), (0, 1, 1, False), (1, 0, 0, False), (1, 1, 0, False)] * 3


STARTS = (4, 3, 0)
"""Episodes begin in 0 at first and after each end, and in 1 with each fourth line, which does not follow the third."""


def looked_ahead(c, starts, steps_back):
    """Return Q[s][a] of value iteration on PIG, computed row by row; after an end it goes on where episodes begin."""
    mean = c / c.sum(axis=-1, keepdims=True)
    worth = np.array([[dirichlet_row.expected_gain(c[a, s]) for a in range(M)] for s in range(N)])
    q = worth.copy()
    for _ in range(steps_back):
        best = q.max(axis=1)
        best[END] = (starts[0] * best[0] + starts[1] * best[1]) / (starts[0] + starts[1])
        q = worth + np.array([[mean[a, s] @ best for a in range(M)] for s in range(N)])
    return q


def left(c):
    """Expected missing information of all rows but those of the end."""
    return sum(dirichlet_row.expected_missing(c[a, s], dirichlet_row.mean(c[a, s])) for a in range(M) for s in (0, 1))


def left_after(c, s, starts, n_steps, steps_back, first_of_ties):
    if n_steps == 0:
        return left(c)
    q = looked_ahead(c, starts, steps_back)[s]
    best = np.flatnonzero(q >= q.max() * (1 - 1e-12))
    total = 0.0
    for a in best[:1] if first_of_ties else best:
        for z, p in enumerate(c[a, s] / c[a, s].sum()):
            after = c.copy()
            after[a, s, z] += 1
            begins = [(z, 1.0, starts)]
            if z == END:  # each imagined episode counts as one that began
                later = [np.add(starts, np.eye(N)[b]) for b in (0, 1)]
                begins = [(b, starts[b] / sum(starts), later[b]) for b in (0, 1)]
            for b, chance, seen in begins:
                total += p * chance * left_after(after, b, seen, n_steps - 1, steps_back, first_of_ties)
    return total / (1 if first_of_ties else len(best))


@pytest.mark.parametrize("ties", ["uniform", "first"])
def test_simulated_steps_respect_terminal_states(ties):
    strategy = get_strategy("PIG(VI)", steps_back=2, ties=ties)
    explorer = Explorer(Dirichlet(1.0, n_states=N, n_actions=M), strategy, seed=0)
    c = np.ones((M, N, N))
    for s, a, z, ended in TOLD:
        explorer.observe(s, a, z, ended=ended)
        c[a, s, z] += 1
    exact = left(c) - left_after(c, 0, STARTS, 3, 2, ties == "first")
    gain = explorer.expected_gain(3, s=0, n_samples=6000, seed=4)
    assert abs(gain.bits - exact) < 4 * gain.standard_error
    assert gain.standard_error < 0.004


def test_ties_in_simulated_steps_follow_the_strategy():
    """From 0 both actions lead somewhere for sure, which teaches nothing; only in state 1 is something to learn."""
    support = np.zeros((M, N, N), dtype=bool)
    support[0, 0, 1] = support[1, 0, 2] = True
    support[:, 1, :2] = support[:, 2, 2] = True
    worth = dirichlet_row.expected_gain([1.0, 1.0])
    first, uniform = (
        Explorer(Dirichlet(1.0, support), get_strategy("PIG(greedy)", ties=ties)).expected_gain(2, s=0, n_samples=400)
        for ties in ("first", "uniform")
    )
    assert first.bits == pytest.approx(worth) and first.standard_error == pytest.approx(0.0, abs=1e-12)
    assert abs(uniform.bits - worth / 2) < 4 * uniform.standard_error


def test_the_standard_error_is_that_of_a_mean():
    """Over many seeds the means scatter as the error says; one sample fewer in the divisor shows with two samples."""
    explorer = Explorer(Dirichlet(1.0, n_states=N, n_actions=1), "Random", seed=0)
    gains = [explorer.expected_gain(2, s=0, n_samples=2, seed=seed) for seed in range(1500)]
    scatter = np.var([gain.bits for gain in gains], ddof=1)
    believed = np.mean([gain.standard_error**2 for gain in gains])
    assert believed == pytest.approx(scatter, rel=0.15)


def test_an_explorer_that_relocates_continues_simulating_after_a_terminal_state():
    explorer = Explorer(Dirichlet(1.0, n_states=N, n_actions=M), "Unembodied", seed=0)
    explorer.observe(0, 0, END, ended=True)
    assert explorer.expected_gain(2, n_samples=5).bits > 0.0
