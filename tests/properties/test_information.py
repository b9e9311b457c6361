import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from berlyne import entropy, information_gain, kl_divergence, l1_distance


@st.composite
def distributions(draw, how_many=2):
    """Distributions over the same 1 to 6 states, some with zeros."""
    n = draw(st.integers(1, 6))
    weights = st.lists(st.just(0.0) | st.floats(1e-6, 1.0), min_size=n, max_size=n).filter(any)
    return [np.array(w) / np.sum(w) for w in (draw(weights) for _ in range(how_many))]


@given(distributions())
def test_divergence_is_positive_unless_both_are_equal(pair):
    p, q = pair
    assert kl_divergence(p, q) >= -1e-12
    assert kl_divergence(p, p) == 0.0
    assert np.isinf(kl_divergence(p, q)) == bool(np.any((p > 0) & (q == 0)))


@given(distributions())
def test_pinskers_inequality_ties_divergence_to_l1_distance(pair):
    """D >= |p - q|^2 / (2 ln 2)."""
    p, q = pair
    assert kl_divergence(p, q) >= l1_distance(p, q) ** 2 / (2 * np.log(2)) - 1e-12


@given(distributions(how_many=1))
def test_entropy_lies_between_nothing_and_log2_n(single):
    (p,) = single
    assert -1e-15 <= entropy(p) <= np.log2(len(p)) + 1e-12
    uniform = np.full(len(p), 1 / len(p))
    assert entropy(p) == pytest.approx(np.log2(len(p)) - kl_divergence(p, uniform), abs=1e-12)


@given(distributions(how_many=3))
def test_gains_there_and_back_cancel(three):
    theta, one, other = three
    one, other = (one + 1 / len(one)) / 2, (other + 1 / len(one)) / 2  # no infinities
    assert information_gain(theta, one, other) == pytest.approx(-information_gain(theta, other, one), abs=1e-12)
