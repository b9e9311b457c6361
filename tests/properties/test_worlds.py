import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from berlyne import Dirichlet, World, is_ergodic
from berlyne.sparse import Support
from messages import raises
from properties.strategies import masks

JUST_BELOW_ONE = float(np.nextafter(1.0, 0.0))


def even(mask):
    return mask / mask.sum(axis=-1, keepdims=True)


@given(masks(max_states=7, max_actions=2))
def test_ergodicity_equals_brute_force_reachability(mask):
    """Every ordered pair: search from the first for the second, taking any action."""
    edges = mask.any(axis=0)
    n_states = len(edges)
    reached = []
    for first in range(n_states):
        visited, border = {first}, [first]
        while border:
            new = set(np.flatnonzero(edges[border.pop()])) - visited
            visited |= new
            border += new
        reached.append(len(visited) == n_states)
    assert is_ergodic(World(even(mask))) == all(reached)


@given(masks(), st.sampled_from([1e-3, 0.25, 1.0]), st.integers(0, 2**32), st.floats(0, JUST_BELOW_ONE))
def test_sampling_returns_possible_states_only(mask, alpha, seed, u):
    world = World(Dirichlet(alpha, mask).sample(seed))
    for a, s in np.ndindex(*mask.shape[:2]):
        for uniform in (u, 0.0, JUST_BELOW_ONE):
            assert mask[a, s, world.sample(a, s, uniform)]


@given(st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=9))
def test_sampling_near_one_stays_in_the_support_under_rounding(weights):
    """Running sums may end below one; what follows in memory is a state that is impossible here."""
    p = np.array([*weights, 0.0]) / np.sum(weights)
    theta = np.zeros((1, len(p), len(p)))
    theta[0, :, -1] = 1.0
    theta[0, 0] = p
    assert World(theta).sample(0, 0, JUST_BELOW_ONE) < len(weights)


@given(masks(), st.integers(0, 2**32))
def test_dense_and_sparse_worlds_are_the_same_world(mask, seed):
    rows = Dirichlet(1.0, mask).sample(seed)
    dense, sparse, own = World(rows.dense()), World([sp.csc_array(m) for m in rows.dense()]), World(rows)
    for world in (sparse, own):
        assert np.array_equal(world.theta, dense.theta)
        assert np.array_equal(world.rows.indptr, dense.rows.indptr)
    assert dense.theta.sum(axis=-1) == pytest.approx(np.ones(mask.shape[:2]))


@given(masks(max_states=6))
def test_a_support_agrees_with_its_mask(mask):
    support = Support.from_mask(mask)
    a, s, s_next = np.indices(mask.shape).reshape(3, -1)
    assert np.array_equal(support.contains(s * mask.shape[0] + a, s_next), mask.ravel())


@given(masks())
def test_a_prior_on_a_smaller_support_is_refused_and_on_its_own_is_not(mask):
    theta = even(mask)
    World(theta, Dirichlet(1.0, mask))
    wide = np.argwhere(mask & (mask.sum(axis=-1, keepdims=True) > 1))
    if len(wide):
        a, s, s_next = wide[-1]
        smaller = mask.copy()
        smaller[a, s, s_next] = False
        with raises(ValueError, f"(a={a}, s={s})", f"state {s_next}"):
            World(theta, Dirichlet(1.0, smaller))
