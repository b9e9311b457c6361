"""Statistics against SciPy and scikit-posthocs."""

import numpy as np
import pytest
import scikit_posthocs
from scipy import stats as scipy_stats

from berlyne import stats


def areas(seed, n=40, k=5, round_to=None):
    values = np.random.default_rng(seed).normal(size=(n, k)) + np.linspace(0, 1, k)
    return values if round_to is None else values.round(round_to)


@pytest.mark.parametrize("round_to", [None, 0, 1])
@pytest.mark.parametrize(("n", "k"), [(40, 3), (12, 8)])
def test_friedmans_test_is_scipys(n, k, round_to):
    values = areas(1, n, k, round_to)
    ours, theirs = stats.friedman(values), scipy_stats.friedmanchisquare(*values.T)
    assert ours.statistic == pytest.approx(theirs.statistic)
    assert ours.p == pytest.approx(theirs.pvalue)
    assert ours.df == k - 1


@pytest.mark.parametrize(("n", "k"), [(30, 2), (40, 5), (200, 14)])
def test_comparisons_of_mean_ranks_are_those_of_nemenyi(n, k):
    values = areas(2, n, k)
    p, mean = stats.mean_rank_p_values(values)
    assert p == pytest.approx(scikit_posthocs.posthoc_nemenyi_friedman(values).to_numpy(), abs=1e-10)
    assert mean == pytest.approx(scipy_stats.rankdata(values, axis=1).mean(axis=0))


def test_with_ties_the_variance_is_that_of_friedmans_test():
    """As in MATLAB's multcompare with friedman: the tie-corrected sigma instead of k (k + 1) / 12."""
    values = areas(3, 50, 6, round_to=0)
    n, k = values.shape
    ranked = scipy_stats.rankdata(values, axis=1)
    tied = sum(c**3 - c for row in ranked for c in np.unique(row, return_counts=True)[1])
    variance = k * (k + 1) / 12 - tied / (12 * n * (k - 1))
    assert stats.rank_variance(ranked) == pytest.approx(variance)
    p, mean = stats.mean_rank_p_values(values)
    q = abs(mean[0] - mean[3]) / np.sqrt(variance / n)
    assert p[0, 3] == pytest.approx(scipy_stats.studentized_range.sf(q, k, np.inf))
    uncorrected = scikit_posthocs.posthoc_nemenyi_friedman(values).to_numpy()
    assert p[0, 3] < uncorrected[0, 3]


@pytest.mark.parametrize("k", [2, 3, 8, 15])
def test_studentised_range_is_scipys(k):
    q = np.array([0.05, 0.5, 1.0, 2.0, 3.5, 5.0, 6.5])
    assert stats.studentized_range_sf(q, k) == pytest.approx(scipy_stats.studentized_range.sf(q, k, np.inf), rel=1e-8)
    for alpha in (0.5, 0.05, 0.001):
        expected = scipy_stats.studentized_range.isf(alpha, k, np.inf)
        assert stats.studentized_range_isf(alpha, k) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("q", [1.0, 10.0, 30.0])
def test_the_range_of_two_is_a_normal_difference_far_into_the_tail(q):
    expected = 2 * scipy_stats.norm.sf(q / np.sqrt(2))
    assert stats.studentized_range_sf(q, 2) == pytest.approx(expected, rel=1e-9)


def test_students_interval_is_scipys():
    rng = np.random.default_rng(4)
    x, y = rng.gamma(5.0, size=30), rng.gamma(6.0, size=30)
    interval = scipy_stats.ttest_1samp(x / y - 1, 0).confidence_interval(0.99)
    difference = stats.relative_difference(x, y, level=0.99)
    assert difference == pytest.approx((np.mean(x / y - 1), interval.low, interval.high))


def averaged_ranks(n: int, k: int, n_times: int, seed: int) -> np.ndarray:
    """Ranks in several orders of each world that have much in common, averaged, (n, k)."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 1, k)) + 0.12 * np.arange(k)
    orders = common + 0.7 * rng.normal(size=(n, n_times, k))
    return np.asarray((orders.argsort(axis=2).argsort(axis=2) + 1.0).mean(axis=1))


@pytest.mark.parametrize("seed", range(3))
def test_averaged_ranks_agree_with_a_permutation_test(seed: int) -> None:
    ranked = averaged_ranks(30, 4, 6, seed)
    test = stats.friedman_of_ranks(ranked)
    p, mean = stats.p_values_of_ranks(ranked)
    rng, n_drawn = np.random.default_rng(seed + 10), 20_000
    drawn = rng.permuted(np.broadcast_to(ranked, (n_drawn, 30, 4)), axis=2).mean(axis=1)  # (drawn, strategy)
    spread = np.sum((drawn - 2.5) ** 2, axis=1)
    by_chance = float(np.mean(spread >= np.sum((mean - 2.5) ** 2)))
    assert test.p == pytest.approx(by_chance, abs=4 * np.sqrt(by_chance * (1 - by_chance) / n_drawn) + 0.012)
    ranges = np.ptp(drawn, axis=1)
    for i, j in ((0, 1), (0, 3), (2, 3)):
        by_chance = float(np.mean(ranges >= abs(mean[i] - mean[j])))
        assert p[i, j] == pytest.approx(by_chance, abs=4 * np.sqrt(by_chance * (1 - by_chance) / n_drawn) + 0.02)


def test_the_reach_of_averaged_ranks_has_the_p_value_it_stands_for() -> None:
    ranked = averaged_ranks(200, 5, 6, 7)
    variance = np.sum((ranked - 3.0) ** 2) / (200 * 4)
    for alpha in (0.05, 0.001):
        q = stats.reach_of_ranks(ranked, alpha) / np.sqrt(variance / 200)
        assert scipy_stats.studentized_range.sf(q, 5, np.inf) == pytest.approx(alpha, rel=1e-3)


def test_whole_ranks_are_a_special_case() -> None:
    values = np.random.default_rng(3).normal(size=(40, 6))
    assert stats.friedman_of_ranks(stats.ranks(values)) == stats.friedman(values)
    assert stats.friedman(values).statistic == pytest.approx(scipy_stats.friedmanchisquare(*values.T).statistic)
    assert stats.reach_of_ranks(stats.ranks(values), 0.01) == pytest.approx(stats.critical_difference(6, 40, 0.01))
