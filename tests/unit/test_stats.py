import numpy as np
import pytest

from berlyne import stats
from messages import raises


def test_embodiment_index_is_relative_to_the_unembodied():
    assert stats.embodiment_index([30.0, 10.0], [10.0, 10.0]).tolist() == [2.0, 0.0]


def test_rank_one_is_the_smallest_and_ties_share():
    assert stats.ranks([[5.0, 1.0, 3.0], [2.0, 2.0, 1.0]]).tolist() == [[3.0, 1.0, 2.0], [2.5, 2.5, 1.0]]


@pytest.mark.parametrize(("k", "expected"), [(4, 0.485), (8, 1.009), (14, 1.831)])
def test_critical_differences_of_reading_16(k, expected):
    """The reading prints 0.49, 1.01 and 1.83."""
    assert stats.critical_difference(k, 200, 0.001) == pytest.approx(expected, abs=5e-4)


def test_a_difference_is_critical_exactly_where_its_p_value_is_alpha():
    p, mean = stats.mean_rank_p_values(np.random.default_rng(0).normal(size=(30, 4)))
    assert stats.critical_difference(4, 30, p[0, 2]) == pytest.approx(abs(mean[0] - mean[2]))


def test_strategies_that_never_differ():
    same = np.ones((10, 3))
    assert stats.friedman(same) == (0.0, 2, 1.0)
    p, mean = stats.mean_rank_p_values(same)
    assert np.all(p == 1.0) and mean.tolist() == [2.0, 2.0, 2.0]


def test_a_strategy_that_always_loses():
    values = np.tile([1.0, 2.0], (50, 1))
    p, mean = stats.mean_rank_p_values(values)
    assert mean.tolist() == [1.0, 2.0]
    assert p[0, 1] < 1e-10 and p[0, 0] == 1.0
    assert stats.share_larger(values[:, 1], values[:, 0]) == 1.0


def test_ties_count_half_and_zero_references_are_left_out():
    assert stats.share_larger([1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 5.0, 5.0]) == 0.375
    assert stats.relative_difference([2.0, 3.0, 1.0], [1.0, 0.0, 2.0]).value == 0.25


def test_too_little_data_gives_no_interval():
    assert stats.relative_difference([2.0], [1.0]).value == 1.0
    assert np.isnan(stats.relative_difference([2.0], [1.0]).low)
    assert np.isnan(stats.relative_difference([2.0], [0.0]).value)


def test_the_range_of_nothing_is_exceeded_for_sure():
    assert stats.studentized_range_sf([-1.0, 0.0], 3).tolist() == [1.0, 1.0]
    assert stats.studentized_range_isf(1.0, 3) == 0.0


def test_invalid_tables_are_refused():
    for wrong in ([1.0, 2.0], [[1.0], [2.0]], [[1.0, np.nan]]):
        with raises(ValueError, "values", np.shape(wrong), "(n_worlds, n_strategies)"):
            stats.ranks(wrong)
    with raises(ValueError, "values", "(2,)", "reference", "(1,)", "(n_worlds,)"):
        stats.share_larger([1.0, 2.0], [1.0])
    with raises(ValueError, "values", "(1, 2)", "reference", "(1, 2)", "(n_worlds,)"):
        stats.relative_difference([[1.0, 2.0]], [[1.0, 2.0]])
