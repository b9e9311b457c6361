"""Extreme concentrations: results have ten correct digits, or the concentration is refused."""

from fractions import Fraction

import numpy as np
import pytest

from berlyne import ChineseRestaurant, Dirichlet, World, explore, fit_alpha, fit_c
from berlyne.agents.make import make_open_state_agent
from berlyne.sparse import Counts
from berlyne.strategies.registry import get_strategy
from oracles.decimal_row import estimate, peig, utilities

LEAST, MOST = 1e-140, 1e12
SEEN = [[], [1], [3], [2, 1], [100_000, 1, 1]]
UTILITIES = ["PIG", "parameter_gain", "PMC", "PLC"]


def tolerance(c):
    """Bits of a row near certainty are differences of numbers near one, and digamma of c is known to 1e-16 of it."""
    return {"rel": 1e-9 if c < 1e6 else 2e-2, "abs": 2e-15}


def pseudo_counts(c, d, counts):
    n_seen = sum(n > 0 for n in counts)
    unseen = (Fraction(c) + Fraction(d) * n_seen) / (len(counts) - n_seen)
    return [n - Fraction(d) if n else unseen for n in counts]


@pytest.mark.parametrize("d", [0.0, 5e-324, 1e-300, 1e-17, 0.3, 0.999999])
@pytest.mark.parametrize("c", [LEAST, 1e-100, 1e-20, 1e-16, 1e-8, 1.0, 1e8, MOST])
def test_a_row_under_a_restaurant_prior(c, d):
    for n_cells in (2, 5):
        for seen in (seen for seen in SEEN if len(seen) < n_cells):
            counts = [*seen, *[0] * (n_cells - len(seen))]
            prior, row = ChineseRestaurant(c, d, n_actions=1, n_states=n_cells), np.array(counts)
            truth = utilities(pseudo_counts(c, d, counts))
            assert prior.row_estimate(row, 0, 0) == pytest.approx(estimate(pseudo_counts(c, d, counts)), rel=1e-12)
            for name in UTILITIES:
                assert prior.row_utility(name, row, 0, 0, -1) == pytest.approx(truth[name], **tolerance(c)), name
            if seen:
                before = [seen[0] - 1, *counts[1:]]
                gain = peig(pseudo_counts(c, d, before), 0)
                assert prior.row_utility("PEIG", row, 0, 0, 0) == pytest.approx(gain, **tolerance(c))


@pytest.mark.parametrize("alpha", [1e-300, 1e-160, 1e-20, 1.0, 1e8, MOST])
def test_a_row_under_a_dirichlet_prior(alpha):
    for seen in SEEN:
        counts = np.zeros((1, 4, 4), dtype=int)
        counts[0, 0, : len(seen)] = seen
        prior, truth = (
            Dirichlet(alpha, n_states=4, n_actions=1),
            utilities([Fraction(alpha) + n for n in counts[0, 0].tolist()]),
        )
        for name in UTILITIES:
            near = pytest.approx(truth[name], **tolerance(alpha))
            assert prior.utility(name, Counts.from_dense(counts))[0] == near, name
            assert prior.row_utility(name, counts[0, 0], 0, 0, -1) == near, name


@pytest.mark.parametrize(
    "name", ["PIG(greedy)", "PEIG(greedy)", "PMC(greedy)", "PLC(greedy)", "parameter_gain(greedy)"]
)
@pytest.mark.parametrize(("c", "d"), [(LEAST, 0.0), (1e-17, 0.0), (LEAST, 1e-300), (1e-20, 0.999999), (MOST, 0.5)])
def test_kernels_value_such_rows_as_the_oracle_does(c, d, name):
    strategy = get_strategy(name, untried=0.0) if name.startswith("PEIG") else get_strategy(name)
    for compiled in (True, False):
        agent = make_open_state_agent(ChineseRestaurant(c, d), 1, strategy, "compiled" if compiled else "numpy")
        for s, s_next in [(0, 0), (0, 0), (0, 1), (1, 2), (2, 2)]:
            agent.observe(s, 0, s_next)
        rows = [[2, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0]]
        if name.startswith("PEIG"):
            before = [[2, 0, 0, 0], [0] * 4, [0] * 4]
            truth = [peig(pseudo_counts(c, d, row), last) for row, last in zip(before, (1, 2, 2), strict=True)]
        else:
            truth = [utilities(pseudo_counts(c, d, row))[str(strategy.utility)] for row in rows]
        assert agent.utility()[0, :3] == pytest.approx(truth, **tolerance(c))


@pytest.mark.parametrize("c", [LEAST, 1e-60, 1.0, MOST])
@pytest.mark.parametrize("name", ["PIG(VI)", "PEIG(Q)", "PLC(greedy)"])
def test_missing_information_of_a_run_agrees_with_its_counts(c, name):
    """A tiny c makes an explorer sure after one outcome, so it may miss hundreds of bits: that is what it believes."""
    rng = np.random.default_rng(3)
    theta = rng.dirichlet(np.ones(4), size=(2, 4))
    run = explore(World(theta, ChineseRestaurant(c), start=0), name, n_steps=40, seed=1)
    assert np.all(np.isfinite(run.missing_information))
    counts = np.zeros((2, 4, 4), dtype=int)
    np.add.at(counts, (run.actions, run.states[:-1], run.next_states), 1)
    states = sorted(set(run.states.tolist()) | set(run.next_states.tolist()))
    assert states == [0, 1, 2, 3]  # so the cell elsewhere has no state
    missing = 0.0
    for a, s in np.ndindex(2, 4):
        p = estimate(pseudo_counts(c, 0.0, [*counts[a, s].tolist(), 0]))[:4]
        missing += float(np.sum(theta[a, s] * np.log2(theta[a, s] / p)))
    assert run.missing_information[-1] == pytest.approx(missing, rel=1e-12)


@pytest.mark.parametrize("c", [0.0, 5e-324, 1e-300, 0.99e-140, 1.01e12, np.inf, np.nan])
def test_an_unusable_concentration_is_refused(c):
    with pytest.raises(ValueError, match=r"^c is .*; it must be a number in \[1e-140, 1e\+12\]$"):
        ChineseRestaurant(c)


@pytest.mark.parametrize("bounds", [(1e-150, 1.0), (1e-3, np.inf), (1e-3, 1e13), (np.nan, 1.0)])
def test_fits_search_only_allowed_concentrations(bounds):
    counts = np.array([[[3, 1], [0, 0]]])
    with pytest.raises(ValueError, match=r"^bounds are .*; they must be two numbers in \[1e-140, 1e\+12\], the lower"):
        fit_c(counts, bounds=bounds)
    if bounds[0] != 1e-150:
        with pytest.raises(ValueError, match=r"^bounds are .*; they must be two numbers in \[1e-300, 1e\+12\], the"):
            fit_alpha(counts, bounds=bounds)


def test_fitted_values_at_either_bound_are_valid_for_a_prior():
    sure, never = np.array([[[9, 0, 0]] * 3]), np.array([[[1, 1, 1]] * 3])
    assert ChineseRestaurant(fit_c(sure, bounds=(LEAST, MOST))).c == pytest.approx(LEAST, rel=1e-6)
    assert ChineseRestaurant(fit_c(never, bounds=(LEAST, MOST))).c > 1e6
