import numpy as np
import pytest

from berlyne import entropy, information_gain, kl_divergence, l1_distance, missing_information


def test_entropy_in_bits():
    assert entropy([0.5, 0.5]) == 1.0
    assert entropy([1.0, 0.0]) == 0.0
    assert entropy([[0.25] * 4, [0.5, 0.5, 0, 0]]) == pytest.approx([2.0, 1.0])


def test_divergence_in_bits():
    assert kl_divergence([0.5, 0.5], [0.25, 0.75]) == pytest.approx(0.5 * np.log2(2) + 0.5 * np.log2(2 / 3))
    assert kl_divergence([1.0, 0.0], [0.5, 0.5]) == 1.0
    assert kl_divergence([0.3, 0.7], [0.3, 0.7]) == 0.0


def test_divergence_is_infinite_where_the_model_excludes_what_happens_and_only_there():
    assert kl_divergence([0.5, 0.5], [1.0, 0.0]) == np.inf
    assert kl_divergence([1.0, 0.0], [1.0, 0.0]) == 0.0


def test_divergence_broadcasts():
    assert kl_divergence([[1.0, 0.0], [0.0, 1.0]], [0.25, 0.75]) == pytest.approx([2.0, np.log2(4 / 3)])


def test_missing_information_is_summed_over_rows():
    theta = np.array([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.5, 0.5]]])
    assert missing_information(theta, np.full((2, 2, 2), 0.5)) == 3.0
    assert missing_information(theta, theta) == 0.0


def test_information_gain_may_be_negative():
    theta, even, leaning = [[0.5, 0.5]], [[0.5, 0.5]], [[0.25, 0.75]]
    lost = 0.5 * np.log2(0.5) + 0.5 * np.log2(1.5)
    assert information_gain(theta, even, leaning) == pytest.approx(lost)
    assert information_gain(theta, leaning, even) == pytest.approx(-lost)


def test_information_gain_ignores_outcomes_that_cannot_happen():
    assert information_gain([[1.0, 0.0]], [[0.5, 0.5]], [[1.0, 0.0]]) == 1.0


def test_l1_distance():
    assert l1_distance([[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.25, 0.75]]) == 2.5
