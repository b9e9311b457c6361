"""Scores of a benchmark, in cases that can be worked out by hand, and against SciPy."""

from itertools import product

import numpy as np
import pytest
import scipy.stats

from berlyne import stats
from messages import raises

RNG = np.random.default_rng(0)
SCORES = RNG.normal(0.6, 0.2, size=(3, 4, 7))  # 3 agents, 4 worlds, 7 runs


def test_random_scores_zero_and_the_bound_one():
    scores = stats.normalized_scores([[10.0, 4.0], [7.0, 1.0]], random=[10.0, 5.0], bound=[2.0, 1.0])
    assert scores.tolist() == [[0.0, 0.75], [-0.5, 1.0]]


def test_the_interquartile_mean_leaves_out_the_extremes():
    assert stats.interquartile_mean([[0.0, 1.0, 2.0, 300.0]]) == 1.5
    assert stats.interquartile_mean([[0.0, 1.0], [2.0, 300.0]]) == 1.5
    assert stats.interquartile_mean([[1.0, 2.0, 6.0]]) == 3.0  # a quarter of three runs is less than one


def test_the_interquartile_mean_is_a_trimmed_mean():
    expected = [scipy.stats.trim_mean(scores, 0.25, axis=None) for scores in SCORES]
    assert stats.interquartile_mean(SCORES) == pytest.approx(expected)


def test_the_optimality_gap_ignores_excess():
    assert stats.optimality_gap([[0.5, 2.0]]) == 0.25
    assert stats.optimality_gap([[0.5, 2.0]], target=2.0) == 0.75


def test_profiles_count_runs_above_a_threshold():
    profile = stats.performance_profile([[0.0, 0.5], [0.5, 1.0]], [-1.0, 0.0, 0.25, 0.5, 1.0])
    assert profile.tolist() == [1.0, 0.75, 0.75, 0.25, 0.0]
    many = stats.performance_profile(SCORES, [0.4, 0.7])
    assert many == pytest.approx(np.array([[np.mean(scores > t) for t in (0.4, 0.7)] for scores in SCORES]))


def test_probability_of_improvement_is_the_statistic_of_mann_and_whitney():
    assert stats.probability_of_improvement([[1.0, 2.0]], [[0.0, 1.0]]) == (1 + 0.5 + 1 + 1) / 4
    x, y = np.round(SCORES[0], 1), np.round(SCORES[1, :, :5], 1)  # with ties, and fewer runs
    u = [scipy.stats.mannwhitneyu(a, b).statistic / (7 * 5) for a, b in zip(x, y, strict=True)]
    assert stats.probability_of_improvement(x, y) == pytest.approx(np.mean(u))
    assert stats.probability_of_improvement(SCORES, SCORES[:1]).shape == (3,)
    assert stats.probability_of_improvement(x, x) == 0.5


def test_the_interval_is_that_of_all_possible_resamples():
    """Two worlds with three runs each have 3^6 resamples."""
    scores = np.array([[0.0, 0.3, 1.0], [0.2, 0.9, 0.5]])
    runs = list(product(range(3), repeat=3))
    means = [scores[0, list(i)].mean() / 2 + scores[1, list(j)].mean() / 2 for i in runs for j in runs]
    interval = stats.stratified_bootstrap(
        lambda x: x.mean(axis=(-2, -1)), scores, seed=1, n_resamples=20_000, level=0.8
    )
    assert interval.value == scores.mean()
    assert (interval.low, interval.high) == pytest.approx(tuple(np.quantile(means, [0.1, 0.9])), abs=0.02)


def test_the_interval_of_one_world_is_that_of_scipy():
    scores = SCORES[0].reshape(1, -1)
    ours = stats.stratified_bootstrap(stats.interquartile_mean, scores, seed=0, n_resamples=4000)
    theirs = scipy.stats.bootstrap(
        scores, lambda x, axis: scipy.stats.trim_mean(x, 0.25, axis=axis), method="percentile", n_resamples=4000, rng=1
    ).confidence_interval
    width = theirs.high - theirs.low
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.05 * width)


def test_worlds_are_strata():
    """If runs of a world agree, nothing varies, however much worlds differ."""
    interval = stats.stratified_bootstrap(stats.interquartile_mean, np.arange(5.0)[:, None] * np.ones(4), seed=0)
    assert interval == (2.0, 2.0, 2.0)


def test_paired_runs_are_resampled_together():
    """One agent is always a little better. Its mean difference has no spread, unless runs are drawn independently."""

    def difference(x, y):
        return np.mean(x - y)

    x, y = SCORES[0] + 0.01, SCORES[0]
    paired = stats.stratified_bootstrap(difference, x, y, seed=0, n_resamples=50)
    assert paired == pytest.approx((0.01, 0.01, 0.01))
    independent = stats.stratified_bootstrap(difference, x, y, seed=0, n_resamples=50, paired=False)
    assert independent.low < 0.0 < 0.02 < independent.high


def test_agents_on_leading_axes_get_the_intervals_of_a_joint_resample():
    joint = stats.stratified_bootstrap(stats.interquartile_mean, SCORES, seed=3, n_resamples=40)
    single = stats.stratified_bootstrap(stats.interquartile_mean, SCORES[1], seed=3, n_resamples=40)
    assert joint.low.shape == (3,)
    assert (joint.low[1], joint.high[1]) == (single.low, single.high)
    generator = np.random.default_rng(3)
    assert stats.stratified_bootstrap(stats.interquartile_mean, SCORES[1], seed=generator, n_resamples=40) == single


def test_about_95_of_100_intervals_contain_the_mean():
    rng, hits = np.random.default_rng(5), 0
    for _ in range(150):
        scores = rng.normal(size=(3, 20))
        interval = stats.stratified_bootstrap(np.mean, scores, seed=rng, n_resamples=200)
        hits += interval.low <= 0.0 <= interval.high
    assert 0.88 < hits / 150 < 0.99


def test_invalid_scores_are_refused():
    for wrong in ([1.0, 2.0], [[np.nan]], np.empty((2, 0))):
        with raises(ValueError, "scores", np.shape(wrong), "(..., n_worlds, n_runs)"):
            stats.interquartile_mean(wrong)
    with raises(ValueError, "random", "(1,)", "2 worlds"):
        stats.normalized_scores([[1.0], [2.0]], [0.0], [1.0])
    with raises(ValueError, "random and bound", 1, "world 1", "differ"):
        stats.normalized_scores([[1.0], [2.0]], [0.0, 1.0], [1.0, 1.0])
    with raises(ValueError, "paired"):
        stats.stratified_bootstrap(stats.probability_of_improvement, SCORES[0], SCORES[0, :, :3], seed=0)
    with raises(ValueError, "level", 2.0):
        stats.stratified_bootstrap(np.mean, SCORES[0], seed=0, level=2.0)
