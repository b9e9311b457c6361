"""The expected gain against the gain in many worlds."""

from __future__ import annotations

import numpy as np
import pytest

import berlyne
from amounts import amount
from berlyne import Explorer, explore
from oracles.worlds_from_prior import maze_from_the_prior

FROM_THE_PRIOR = {
    "maze supports": (maze_from_the_prior, 100, 200),
    "dense": (berlyne.dense_world, 100, 200),
    "1-2-3": (lambda seed: berlyne.one_two_three_world(seed, ergodic=False), 30, 60),
}


def gains(make, n_before, n_steps, n_worlds):
    """Realised minus expected gain of `n_steps` after `n_before` in many worlds, and the mean expected, in bits."""
    off, expected = np.empty(n_worlds), np.empty(n_worlds)
    for seed in range(n_worlds):
        world = make(seed + 900)
        run = explore(world, "PIG(VI)", n_steps=n_before + n_steps, seed=seed)
        explorer = Explorer(world.prior, "PIG(VI)", seed=3)
        explorer.observe_many((run.states[:n_before], run.actions[:n_before], run.next_states[:n_before]))
        expected[seed] = explorer.expected_gain(n_steps, n_samples=10, seed=seed).bits
        off[seed] = run.missing_information[n_before] - run.missing_information[-1] - expected[seed]
    return off, expected.mean()


@pytest.mark.slow
@pytest.mark.parametrize("kind", FROM_THE_PRIOR)
def test_the_gain_is_as_expected_if_rows_are_drawn_from_the_prior(kind):
    off, _ = gains(*FROM_THE_PRIOR[kind], n_worlds=amount(60, 300))
    assert abs(off.mean()) < 3.5 * off.std(ddof=1) / np.sqrt(len(off))


@pytest.mark.slow
def test_mazes_teach_more_than_expected():
    """Whose law the prior does not say: a quarter more, so a rule that stops by the expected gain stops early."""
    off, expected = gains(berlyne.maze, 100, 200, n_worlds=amount(120, 300))
    error = off.std(ddof=1) / np.sqrt(len(off))
    assert 0.1 * expected < off.mean() - 3.5 * error and off.mean() + 3.5 * error < 0.45 * expected
