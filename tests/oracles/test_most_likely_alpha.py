"""The learned concentration has nine correct digits: SciPy's likelihood has slope zero there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

import berlyne


def slope(alpha: float, counts: np.ndarray, support: np.ndarray) -> float:
    """d log L / d alpha, row by row: rows are Dirichlet-multinomial over what is possible."""
    total = 0.0
    for n, possible in zip(counts, support, strict=True):
        size = int(possible.sum())
        total += sum(1 / (alpha + j) for n_entry in n for j in range(n_entry))
        total -= sum(size / (alpha * size + j) for j in range(int(n.sum())))
    return total


@pytest.mark.parametrize("make", [berlyne.dense_world, berlyne.maze])
@pytest.mark.parametrize("strategy", ["Random", "PIG(VI)"])
def test_the_likelihood_has_slope_zero_at_the_learned_value(make, strategy) -> None:
    world, n_steps = make(5), 250
    prior = berlyne.Dirichlet("ml", world.prior.support, start=1.0, bounds=(1e-3, 1e3), schedule=berlyne.Refit(n_steps))
    run = berlyne.explore(world.with_prior(prior), strategy, n_steps, seed=3)
    support = (world.theta > 0).reshape(-1, world.n_states)
    counts, inside = np.zeros_like(world.theta, dtype=int), 0
    for t in range(n_steps):
        counts[run.actions[t], run.states[t], run.next_states[t]] += 1
        if t % 10 == 9 and counts.sum(axis=2).max() > 1 and 1e-3 < run.learned[t + 1] < 1e3:
            seen = counts.reshape(-1, world.n_states)
            best = brentq(slope, 1e-3, 1e3, args=(seen, support), xtol=1e-14, rtol=1e-14)
            assert run.learned[t + 1] == pytest.approx(best, rel=1e-9)
            inside += 1
    assert inside >= 15
