import numpy as np
import pytest

from berlyne import dense_world
from berlyne.validation import check_count, check_dense, check_index, check_number, generator
from messages import raises


def test_equal_seeds_of_any_kind_give_equal_worlds():
    worlds = [dense_world(seed).theta for seed in (7, np.int64(7), np.random.SeedSequence(7), np.random.default_rng(7))]
    for theta in worlds[1:]:
        assert np.array_equal(theta, worlds[0])
    assert not np.array_equal(dense_world(8).theta, worlds[0])


def test_a_generator_is_used_as_it_is():
    rng = np.random.default_rng(0)
    assert generator(rng) is rng
    assert not np.array_equal(dense_world(rng).theta, dense_world(rng).theta)


@pytest.mark.parametrize("seed", [-1, 1.5, "7", None, True, [1], np.random.RandomState(0)])
def test_invalid_seeds_are_refused(seed):
    with raises(ValueError, "seed", repr(seed), "SeedSequence"):
        generator(seed)


@pytest.mark.parametrize("value", [0, -3, 2.0, "2", True, None])
def test_counts_are_whole_numbers_that_are_large_enough(value):
    with raises(ValueError, "size", repr(value), "1"):
        check_count("size", value, 1)
    assert check_count("size", np.int32(1), 1) == 1


@pytest.mark.parametrize("value", [-1, 3, 1.0, True, None])
def test_indices_lie_inside(value):
    with raises(ValueError, "s", repr(value), "0", "2"):
        check_index("s", value, 3)
    assert [check_index("s", i, 3) for i in (0, np.int64(2))] == [0, 2]


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf"), "x", None])
def test_numbers_lie_inside_their_interval(value):
    with raises(ValueError, "p", repr(value), "[0, 1]"):
        check_number("p", value, 0.0, 1.0)


def test_an_open_end_is_excluded_and_closed_ends_are_not():
    assert check_number("p", 0, 0.0, 1.0) == 0.0
    assert check_number("p", 1, 0.0, 1.0, open_low=True) == 1.0
    with raises(ValueError, "p", "0", "(0, 1]"):
        check_number("p", 0, 0.0, 1.0, open_low=True)


def test_a_dense_array_may_have_a_gibibyte_and_no_more():
    check_dense("theta", 2, 2**13, "rows")  # 8 * 2 * 2^26 bytes
    with raises(ValueError, "theta", "3 x 8192 x 8192", "rows"):
        check_dense("theta", 3, 2**13, "rows")
