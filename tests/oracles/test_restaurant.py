"""The priors of the Chinese restaurant and of Pitman and Yor against step-by-step definitions and enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import berlyne
from berlyne import ChineseRestaurant, InternalModel, fit_c
from berlyne.priors.chinese_restaurant import partition_likelihood
from berlyne.sparse import Counts
from messages import raises


def pseudo_counts(c, d, counts):
    """As it is stated: n_i - d where seen, the rest of c + d T shared evenly."""
    counts = np.asarray(counts)
    n_seen = np.count_nonzero(counts)
    return np.where(counts > 0, counts - d, (c + d * n_seen) / (len(counts) - n_seen))


rows = st.lists(st.integers(0, 30), min_size=1, max_size=8).map(lambda n: [*n, 0])  # elsewhere was never observed


@settings(deadline=None, max_examples=200)
@given(rows, st.floats(1e-3, 50), st.floats(0, 0.95))
def test_predictions_sum_to_one_and_are_those_of_the_restaurant(counts, c, d):
    prior = ChineseRestaurant(c, d, n_actions=1, n_states=len(counts))
    table = np.zeros((1, len(counts), len(counts)), dtype=int)
    table[0, 0] = counts
    theta_hat = prior.estimate(table)
    assert theta_hat.sum(axis=-1) == pytest.approx(1.0) and np.all(theta_hat > 0)
    n, n_seen = sum(counts), np.count_nonzero(counts)
    for i, n_i in enumerate(counts):
        if n_i:
            assert theta_hat[0, 0, i] == pytest.approx((n_i - d) / (n + c))
    new = theta_hat[0, 0][np.array(counts) == 0]
    assert new.sum() == pytest.approx((c + d * n_seen) / (n + c)) and np.ptp(new) < 1e-12
    assert prior.row_estimate(np.array(counts), 0, 0) == pytest.approx(theta_hat[0, 0])


@pytest.mark.parametrize("d", [0.0, 0.4])
@pytest.mark.parametrize("counts", [[0, 0, 0, 0], [3, 0, 1, 0], [1, 1, 1, 0], [40, 0, 0, 0]])
def test_utilities_average_over_outcomes_on_the_current_cells(counts, d):
    c = 0.7
    model = InternalModel(ChineseRestaurant(c, d, n_actions=1, n_states=4))
    model.observe_many([(0, 0, i) for i, n in enumerate(counts) for _ in range(n)])
    pseudo = pseudo_counts(c, d, counts)
    now = pseudo / pseudo.sum()
    pig, pmc, plc = 0.0, -now.max(), 0.0
    for outcome, p in enumerate(now):
        after = pseudo.copy()
        after[outcome] += 1
        after /= after.sum()
        pig += p * np.sum(after * np.log2(after / now))
        pmc += p * after.max()
        plc += p * np.abs(after - now).sum() / 4
    assert berlyne.pig(model)[0, 0] == pytest.approx(pig, abs=1e-12)
    assert berlyne.pmc(model)[0, 0] == pytest.approx(pmc, abs=1e-12)
    assert berlyne.plc(model)[0, 0] == pytest.approx(plc, abs=1e-12)
    assert model.theta_hat_after(0, 0)[2] == pytest.approx((pseudo + np.eye(4)[2]) / (pseudo.sum() + 1))
    drawn = np.random.default_rng(0).dirichlet(pseudo, 300_000)
    drawn = np.maximum(drawn, 1e-300)
    each = (drawn * np.log2(drawn / now)).sum(axis=1)
    missing = model.expected_missing_information()
    assert missing.rows[0, 0] == pytest.approx(each.mean(), abs=6 * each.std() / np.sqrt(len(each)))
    variance = model.prior.missing_information_variance(model.counts)
    assert variance[0, 0] == pytest.approx(each.var(), rel=0.05)
    assert not missing.rows[:, -1].any() and not variance[:, -1].any()


@pytest.mark.parametrize("d", [0.0, 0.4])
def test_merging_new_cells_gives_the_update_of_the_restaurant(d):
    """On the outcomes of a row and "something new", today's cells change as the restaurant's own predictions do."""
    c, counts = 0.8, np.array([3, 1, 0, 0, 0])
    prior = ChineseRestaurant(c, d, n_actions=1, n_states=5)
    table = np.zeros((1, 5, 5), dtype=int)
    table[0, 0] = counts
    after = prior.estimate_after(table, 0, 0)
    n, n_seen = counts.sum(), np.count_nonzero(counts)
    assert after[0, :2] == pytest.approx(np.array([4 - d, 1 - d]) / (n + 1 + c))
    assert after[0, 2:].sum() == pytest.approx((c + d * n_seen) / (n + 1 + c))
    assert after[3, :2] == pytest.approx(np.array([3 - d, 1 - d]) / (n + 1 + c))
    one_more_table = (1 - d) + (c + d * (n_seen + 1))
    assert after[3, 2:].sum() == pytest.approx(one_more_table / (n + 1 + c))


@pytest.mark.parametrize(("c", "d"), [(1.0, 0.0), (0.3, 0.5), (-0.2, 0.6), (4.0, 0.1)])
def test_the_likelihood_is_the_product_of_the_steps(c, d):
    rng = np.random.default_rng(1)
    for _ in range(20):
        path = rng.integers(4, size=rng.integers(1, 12)).tolist()
        seen: dict[int, int] = {}
        expected = 0.0
        for n, outcome in enumerate(path):
            new = 1.0 if n == 0 else (c + d * len(seen)) / (n + c)
            expected += np.log((seen[outcome] - d) / (n + c) if outcome in seen else new)
            seen[outcome] = seen.get(outcome, 0) + 1
        table = np.zeros((1, 5, 5), dtype=int)
        for outcome, n in seen.items():
            table[0, 2, outcome] = n
        assert partition_likelihood(c, d, Counts.from_dense(table)) == pytest.approx(expected)


def test_the_likelihoods_of_all_partitions_of_a_row_sum_to_one():
    total = 0.0
    for path in itertools.product(range(4), repeat=4):
        if all(outcome <= max(path[:i], default=-1) + 1 for i, outcome in enumerate(path)):  # each partition once
            table = np.zeros((1, 5, 5), dtype=int)
            np.add.at(table, (0, 0, list(path)), 1)
            total += np.exp(ChineseRestaurant(0.6, 0.3, n_actions=1, n_states=5).log_marginal_likelihood(table))
    assert total == pytest.approx(1.0)


@pytest.mark.parametrize("d", [0.0, 0.3])
def test_the_most_likely_c_is_that_of_a_grid(d):
    run = berlyne.explore(berlyne.maze(3), "Random", n_steps=600, seed=2)
    fitted = fit_c(run.counts, d)
    grid = np.exp(np.linspace(np.log(1e-3), np.log(1e3), 4001))
    best = grid[np.argmax([partition_likelihood(c, d, run.counts) for c in grid])]
    assert fitted == pytest.approx(best, rel=4e-3)
    assert partition_likelihood(fitted, d, run.counts) >= partition_likelihood(best, d, run.counts) - 1e-9


def test_the_fitted_c_is_close_to_the_true_one():
    """Rows drawn from a restaurant of c = 2: the estimate is near it, and one row seen once tells nothing."""
    rng, c = np.random.default_rng(0), 2.0
    table = np.zeros((1, 60, 60), dtype=int)
    for s in range(60):
        seen: list[int] = []
        for n in range(40):
            new = rng.random() < c / (n + c)
            outcome = len(set(seen)) if new else seen[rng.integers(n)]
            seen.append(outcome)
            table[0, s, outcome] += 1
    assert fit_c(table) == pytest.approx(c, rel=0.2)
    once = np.zeros((1, 3, 3), dtype=int)
    once[0, 0, 1] = 1
    assert fit_c(once, start=0.4) == 0.4


def test_bad_numbers_are_refused():
    wrong_d = "d", "1.0", "[0, 0.999999]"
    for wrong, named in (({"c": 0.0}, ("c", "0.0")), ({"d": 1.0}, wrong_d), ({"c": -0.2, "d": 0.3}, ("c", "-0.2"))):
        with raises(ValueError, *named):
            ChineseRestaurant(**wrong)
    with raises(ValueError, "counts", "3", "0", "undiscovered"):
        ChineseRestaurant(n_actions=1, n_states=4).estimate(np.ones((1, 4, 4), dtype=int))
    with raises(ValueError, "draw worlds"):
        ChineseRestaurant().sample(0)
    with raises(ValueError, "number of cells"):
        ChineseRestaurant(n_actions=1).estimate(np.zeros((1, 4, 4), dtype=int))
    with raises(ValueError, "bounds"):
        fit_c(np.zeros((1, 2, 2), dtype=int), bounds=(2.0, 1.0))


def test_pig_ignores_part_of_the_update_for_new_outcomes():
    """The numbers of the page on unknown states: PIG on the cells of now, and how far the estimate really moves."""
    explorer = berlyne.Explorer(ChineseRestaurant(1.0), n_actions=1, states=["A", "B", "C"])
    now, moved = explorer.model.theta_hat_row(0, "A"), 0.0
    for outcome, p in zip(["A", "B", "C", "new"], now, strict=True):
        other = berlyne.Explorer(ChineseRestaurant(1.0), n_actions=1, states=["A", "B", "C"])
        other.observe("A", 0, outcome)
        row = other.model.theta_hat_row(0, "A")
        after = np.append(row[:3], row[3:].sum())  # what is new by now was elsewhere
        moved += p * np.sum(after * np.log2(after / now))
    assert round(moved, 2) == 0.27
    assert round(float(berlyne.pig(explorer.model)[0, 0]), 2) == 0.45
