"""Expected missing information against draws from the posterior, enumeration, and the truth of many worlds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

import berlyne
from amounts import amount
from berlyne import Dirichlet, InternalModel, OneTwoThree
from berlyne.models.uncertainty import MissingInformationEstimate
from oracles.worlds_from_prior import maze_from_the_prior

CLASSES = {"dense": berlyne.dense_world, "maze": berlyne.maze, "1-2-3": berlyne.one_two_three_world}


def divergence(theta, theta_hat):
    """D(theta || theta_hat) in bits over the last axis."""
    ratio = np.where(theta > 0, theta / np.where(theta > 0, theta_hat, 1.0), 1.0)
    return (theta * np.log2(ratio)).sum(axis=-1)


@pytest.mark.parametrize("counts", [[0, 0, 0], [5, 1, 0], [40, 0, 3]])
@pytest.mark.parametrize("alpha", [0.25, 1.0, 3.0])
def test_mean_and_variance_of_a_dirichlet_row_are_those_of_draws(alpha, counts):
    prior = Dirichlet(alpha, n_states=3, n_actions=1)
    model = InternalModel(prior)
    model.observe_many([(0, 0, i) for i, n in enumerate(counts) for _ in range(n)])
    c = alpha + np.array(counts)
    drawn = divergence(np.random.default_rng(0).dirichlet(c, 400_000), c / c.sum())
    variance = prior.missing_information_variance(model.counts)[0, 0]
    assert model.expected_missing_information().rows[0, 0] == pytest.approx(drawn.mean(), abs=5 * drawn.std() / 632)
    assert variance == pytest.approx(drawn.var(), rel=5 * np.sqrt((stats.kurtosis(drawn) + 2) / 400_000))


def test_rows_of_a_support_are_separate():
    prior = berlyne.maze(0).prior
    model = InternalModel(prior)
    a, s = 2, 7
    reach = prior.support.row(a, s)
    model.observe_many([(s, a, int(reach[0]))] * 3)
    c = prior.alpha + 3.0 * (np.arange(len(reach)) == 0)
    drawn = divergence(np.random.default_rng(1).dirichlet(c, 400_000), c / c.sum())
    variance = prior.missing_information_variance(model.counts)
    assert variance[a, s] == pytest.approx(drawn.var(), rel=0.03)
    assert np.count_nonzero(np.abs(variance - variance[a, s]) < 1e-9) == 1  # no other row was tried


@pytest.mark.parametrize("formula", ["exact", "printed"])
@pytest.mark.parametrize("p_escape", [0.75, 0.3, 0.0, 1.0])
def test_mean_and_variance_of_a_1_2_3_row_are_those_of_all_target_sets(p_escape, formula):
    n = 6
    prior = OneTwoThree(n, 3, p_escape=p_escape, formula=formula)
    for a, seen in [(0, []), (1, []), (1, [3]), (2, []), (2, [0]), (2, [4]), (2, [1, 5]), (2, [0, 2])]:
        k = a + 1
        sets = [set(t) for t in itertools.combinations(range(n), k) if set(seen) <= set(t)]
        q = p_escape**k
        n_with = len(list(itertools.combinations(range(n - 1), k - 1)))
        n_without = len(list(itertools.combinations(range(n - 1), k)))
        weight = np.array([(1 - q) / n_with if 0 in t else q / n_without for t in sets])
        if weight.sum() == 0.0:
            continue
        model = InternalModel(prior)
        model.observe_many([(1, a, s) for s in seen])
        estimate = model.theta_hat_row(a, 1)
        rows = np.array([[(i in t) / k for i in range(n)] for t in sets])[weight > 0]
        chance = weight[weight > 0] / weight.sum()
        each = divergence(rows, estimate)
        mean = chance @ each
        missing = model.expected_missing_information()
        assert missing.rows[a, 1] == pytest.approx(mean, abs=1e-12)
        variance = prior.missing_information_variance(model.counts)[a, 1]
        assert variance == pytest.approx(chance @ (each - mean) ** 2, abs=1e-12)


def test_draws_of_all_rows_are_those_of_enumeration():
    """Two rows whose state 0 is open, the others known for sure: four sums, as often as they are likely."""
    prior = OneTwoThree(4, 1, p_escape=0.6)
    model = InternalModel(prior)
    model.observe_many([(2, 0, 1), (3, 0, 0)])
    estimate = model.theta_hat_row(0, 0)
    one, zero = -np.log2(estimate[1]), -np.log2(estimate[0])
    draws = prior.draw_missing_information(model.counts)
    for bits, chance in [(2 * zero, 0.4**2), (zero + one, 2 * 0.4 * 0.6), (2 * one, 0.6**2)]:
        assert np.mean(np.abs(draws - bits) < 1e-9) == pytest.approx(chance, abs=5 * np.sqrt(0.25 / len(draws)))
    assert model.expected_missing_information(0.5).high == pytest.approx(sorted([2 * zero, zero + one, 2 * one])[2])


def test_the_whole_is_the_sum_of_the_rows_and_has_quantiles_of_a_gamma():
    model = berlyne.explore(berlyne.maze(3), "Random", n_steps=300, seed=1).model
    missing = model.expected_missing_information(level=0.8)
    assert missing.bits == pytest.approx(missing.rows.sum()) and np.array_equal(
        missing.rows, berlyne.parameter_gain(model)
    )
    assert missing.variance == pytest.approx(model.prior.missing_information_variance(model.counts).sum())
    gamma = stats.gamma(missing.bits**2 / missing.variance, scale=missing.variance / missing.bits)
    assert (missing.low, missing.high) == pytest.approx((gamma.ppf(0.1), gamma.ppf(0.9)))
    assert missing.quantile(0.5) == pytest.approx(gamma.median())


def test_certain_rows_have_no_interval():
    known = MissingInformationEstimate(0.0, 0.0, np.zeros((1, 1)))
    assert (known.low, known.high) == (0.0, 0.0)


def misses(make, steps=(60, 1000)):
    """How much more is missing than expected in each of many worlds, and how much is expected on average, in bits.

    One exploration of each world is looked at early and late.
    """
    n_worlds = amount(120, 2000)
    off, expected = np.empty((2, len(steps), n_worlds))
    for seed in range(n_worlds):
        run = berlyne.explore(make(seed), "PIG(VI)", n_steps=max(steps), seed=seed)
        for i, t in enumerate(steps):
            expected[i, seed] = run.model_at(t).expected_missing_information().bits
            off[i, seed] = run.missing_information[t] - expected[i, seed]
    return zip(off, expected.mean(axis=1), strict=True)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The prior does not agree")  # by chance, in one of 4,000 checks
def test_expectation_is_unbiased_if_rows_are_drawn_from_the_prior():
    """On the supports of mazes, with rows that mazes do not have."""
    for off, _ in misses(maze_from_the_prior):
        assert abs(off.mean()) < 3.5 * off.std(ddof=1) / np.sqrt(len(off))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The prior does not agree")  # by chance, and because of the law of mazes
def test_expectation_is_a_little_too_high_in_mazes():
    """An action's largest probability is that of its own direction, which the prior does not say: 1 % at most."""
    for off, expected in misses(berlyne.maze):
        error = off.std(ddof=1) / np.sqrt(len(off))
        assert -0.01 * expected - 3.5 * error < off.mean() < 3.5 * error


@pytest.mark.slow
@pytest.mark.parametrize("kind", CLASSES)
def test_expectation_and_interval_are_calibrated_in_worlds_from_the_prior(kind):
    """The mean of (true - expected) is zero within its error, and the interval holds the truth as often as it says."""
    n_worlds, level = amount(50, 200), 0.9
    for strategy, n_steps in [("PIG(VI)", 60), ("PIG(VI)", 400), ("Random", 200)]:
        off, inside = [], 0
        for seed in range(n_worlds):
            world = CLASSES[kind](seed, ergodic=False) if kind == "1-2-3" else CLASSES[kind](seed)
            run = berlyne.explore(world, strategy, n_steps=n_steps, seed=seed)
            expected = run.model.expected_missing_information(level)
            off.append(run.missing_information[-1] - expected.bits)
            inside += expected.low - 1e-9 <= run.missing_information[-1] <= expected.high + 1e-9
        error = np.std(off, ddof=1) / np.sqrt(n_worlds)
        assert abs(np.mean(off)) < 3.5 * error + 1e-9, (kind, strategy, n_steps, np.mean(off), error)
        error = np.sqrt(level * (1 - level) / n_worlds)
        assert inside / n_worlds > level - 4 * error, (strategy, n_steps, inside)
        assert inside / n_worlds < level + 4 * error or kind == "1-2-3", (
            strategy,
            n_steps,
            inside,
        )  # whose bits are few


@pytest.mark.slow
@pytest.mark.parametrize("kind", CLASSES)
def test_the_stopping_rule_is_right_as_often_as_stated(kind):
    """Asked again and again on the way: at most `bits` are missing where it first says so, in as many worlds."""
    confidence, n_worlds, right = 0.8, amount(30, 80), []
    for seed in range(n_worlds):
        world = CLASSES[kind](seed, ergodic=False) if kind == "1-2-3" else CLASSES[kind](seed)
        bits = 0.6 * InternalModel(world.prior).expected_missing_information().bits  # told by the prior, not the world
        run = berlyne.explore(world, "PIG(VI)", n_steps=2500, seed=seed, snapshots=range(100, 2501, 100))
        for t, counts in run.snapshots.items():
            model = InternalModel.from_counts(world.prior, counts, {})
            if model.expected_missing_information().quantile(confidence) <= bits:
                right.append(run.missing_information[t] <= bits)
                break
    assert len(right) > 0.9 * n_worlds
    assert np.mean(right) > confidence - 4 * np.sqrt(confidence * (1 - confidence) / len(right))
