"""Learned weights of the prior of unknown states against their exact posterior, on a grid.

A row predicts each state with the sum of the weights of its labels and its number of observations, in proportion: an
urn, drawn from one observation after the other. As stated, the urn contains the cells that exist in the end from the
start, and the state that a row discovered has the label elsewhere, too. Nothing here is shared with the package.
"""

from __future__ import annotations

import numpy as np
import pytest

from berlyne import Explorer, SharedRestaurant
from berlyne.sparse import Counts

MEAN = 0.2
"""Mean of the exponential distributions from which weights are drawn."""


def walk(seed, n_lines, p_new, p_stay):
    """Return lines (s, s_next) of a walk that stays, discovers a state, or goes to any, with fixed probabilities."""
    rng, s, n, lines = np.random.default_rng(seed), 0, 1, []
    for _ in range(n_lines):
        u = rng.random()
        if u < p_new:
            s_next, n = n, n + 1
        else:
            s_next = s if u < p_new + p_stay else int(rng.integers(n))
        lines.append((s, s_next))
        s = s_next
    return lines


def posterior_means(lines):
    """Posterior means of the weights of staying, of leaving and of elsewhere, on a grid of their logarithms."""
    grid = np.linspace(np.log(MEAN) - 7.0, np.log(MEAN) + 4.0, 67)
    stay, leave, new = np.exp(np.meshgrid(grid, grid, grid, indexing="ij"))
    log_p = np.log(stay * leave * new) - (stay + leave + new) / MEAN  # with the Jacobian of the logarithm
    n_cells, known, origin = 1 + max(max(line) for line in lines), {0}, {}
    for s, s_next in lines:
        if s_next not in known:
            origin[s_next] = s
        known.add(s_next)
    counts: dict[tuple[int, int], int] = {}
    for s, s_next in lines:
        seen = sum(n for (row, _), n in counts.items() if row == s)
        n_discovered = sum(source == s for source in origin.values())
        total = stay + (n_cells - 1) * leave + (1 + n_discovered) * new + seen
        ball = (stay if s_next == s else leave) + (new if origin.get(s_next) == s else 0.0)
        log_p = log_p + np.log(ball + counts.get((s, s_next), 0)) - np.log(total)
        counts[s, s_next] = counts.get((s, s_next), 0) + 1
    p = np.exp(log_p - log_p.max())
    return [float((p * w).sum() / p.sum()) for w in (stay, leave, new)]


@pytest.mark.parametrize("p_new", [0.05, 0.2])
@pytest.mark.parametrize("p_stay", [0.1, 0.7])
def test_learned_weights_are_near_the_exact_posterior(p_new, p_stay):
    ratios = []
    for seed in range(4):
        lines = walk(seed, 60, p_new, p_stay)
        prior = SharedRestaurant(lambda s, a, z: "stay" if s == z else "leave", MEAN, strength=1e12)
        explorer = Explorer(prior, n_actions=1)
        explorer.observe_many([(s, 0, z) for s, z in lines])
        learned, counts = explorer._agent.prior, Counts.from_dense(explorer.model.counts)
        for _ in range(300):  # to the fixed point
            learned = learned.refit(counts)
        names = "stay", "leave", "elsewhere"
        ratios.append([learned.weights[name] / w for name, w in zip(names, posterior_means(lines), strict=True)])
    assert np.abs(np.log(np.mean(ratios, axis=0))).max() < np.log(1.25), np.round(ratios, 2)
