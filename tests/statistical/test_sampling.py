"""World.sample follows theta."""

import numpy as np
import pytest
from scipy import stats

from berlyne import dense_world, maze, one_two_three_world

N_DRAWS = 2000


@pytest.mark.parametrize("world", [dense_world(1, n_states=5), maze(1), one_two_three_world(1)], ids=lambda w: w.name)
def test_outcomes_follow_theta(world):
    rng = np.random.default_rng(2)
    pairs = [(a, s) for s in (0, world.n_states - 1) for a in range(world.n_actions)]
    for a, s in pairs:
        drawn = [world.sample(a, s, u) for u in rng.random(N_DRAWS)]
        observed, p = np.bincount(drawn, minlength=world.n_states), world.theta[a, s]
        assert np.all(observed[p == 0] == 0)
        common = p * N_DRAWS >= 5
        lumped = [*observed[common], observed[~common].sum()], [*p[common], p[~common].sum()]
        possible = np.array(lumped[1]) > 0
        expected = np.array(lumped[1])[possible] / np.sum(lumped[1]) * N_DRAWS
        if possible.sum() > 1:
            assert stats.chisquare(np.array(lumped[0])[possible], expected).pvalue > 1e-4
