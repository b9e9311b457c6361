import numpy as np
import pytest
import scipy.sparse as sp

from berlyne import Dirichlet, World, maze
from berlyne.sparse import Rows

GOOD = np.array(
    [[[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.2, 0.3, 0.5]], [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.25, 0.5, 0.25]]]
)


class Always:
    """A prior with estimates only, all of them the same."""

    def __init__(self, theta):
        self.theta = theta

    def estimate(self, counts):
        return self.theta


def changed(*entries):
    """GOOD with some entries replaced: (a, s, s_next, value)."""
    theta = GOOD.copy()
    for a, s, s_next, value in entries:
        theta[a, s, s_next] = value
    return theta


def rows_with(**parts):
    good = Rows.from_dense(GOOD)
    fields = {name: getattr(good, name) for name in ("n_actions", "n_states", "indptr", "indices", "data")}
    return Rows(**(fields | parts))


@pytest.mark.parametrize(
    "theta",
    [
        GOOD,
        GOOD.tolist(),
        [sp.csr_array(GOOD[0]), sp.csr_matrix(GOOD[1])],
        (sp.coo_array(GOOD[0]), sp.csc_array(GOOD[1])),
        Rows.from_dense(GOOD),
    ],
    ids=["array", "lists", "sparse list", "sparse tuple", "Rows"],
)
def test_a_world_may_be_given_in_any_form(theta):
    world = World(theta, Dirichlet(1.0, n_states=3, n_actions=2), start=1, name="mine")
    assert np.array_equal(world.theta, GOOD)
    assert (world.n_actions, world.n_states, world.start, world.geometry) == (2, 3, 1, None)
    assert repr(world).startswith("World('mine': 3 states, 2 actions, prior Dirichlet(")


def test_single_precision_is_rescaled_to_sums_of_one():
    theta = np.random.default_rng(0).dirichlet(np.ones(50), size=(2, 50)).astype(np.float32)
    world = World(theta)
    assert world.theta.dtype == np.float64
    assert world.theta == pytest.approx(theta, rel=1e-6)
    assert world.rows.row_sums(world.rows.data) == pytest.approx(np.ones(100), abs=1e-14)


def test_whole_numbers_make_a_deterministic_world():
    assert World(np.eye(2, dtype=int)[None]).sample(0, 1, 0.3) == 1


def test_theta_is_a_fresh_array():
    world = World(GOOD)
    world.theta[0] = 7.0
    assert np.array_equal(world.theta, GOOD)


@pytest.mark.parametrize(
    ("theta", "message"),
    [
        (changed((1, 2, 0, 0.5)), r"row \(a=1, s=2\) of theta sums to 1.25; every row must sum to 1"),
        (changed((0, 1, 1, 0.0)), r"row \(a=0, s=1\) of theta sums to 0; every row must sum to 1"),
        (changed((0, 2, 0, 0.2 + 3e-6)), r"row \(a=0, s=2\) of theta sums to 1.000003; every row must sum to 1"),
        (changed((1, 1, 0, 0.5), (0, 2, 1, 0.0)), r"row \(a=1, s=1\) of theta sums to 1.5"),
        (changed((1, 0, 1, -0.5), (1, 0, 0, 1.5)), r"row \(a=1, s=0\) .* holds .*-0.5.* for state 1; .* not negative"),
        (changed((0, 1, 2, np.nan)), r"row \(a=0, s=1\) of theta holds .*nan.* for state 2; probabilities must be"),
        (changed((0, 1, 2, np.inf)), r"row \(a=0, s=1\) of theta holds .*inf.* for state 2; probabilities must be"),
        (GOOD[0], r"theta has shape \(3, 3\); it must be \(n_actions, n_states, n_states\)"),
        (GOOD[:, :, :2], r"theta has shape \(2, 3, 2\)"),
        (np.zeros((0, 3, 3)), r"theta has shape \(0, 3, 3\)"),
        (np.zeros((2, 0, 0)), r"theta has shape \(2, 0, 0\)"),
        ([], r"theta has shape \(0,\)"),
        ("theta", "theta is not an array of numbers; it must be"),
        ([[[1.0, 0.0], [1.0]]], "theta is not an array of numbers"),
        (sp.csr_array(GOOD[0]), "or a list of one SciPy sparse matrix per action"),
        (None, r"theta has shape \(\)|theta is not an array of numbers"),
    ],
)
def test_arrays_that_are_not_transition_probabilities_are_refused(theta, message):
    with pytest.raises(ValueError, match=message):
        World(theta)


@pytest.mark.parametrize(
    ("matrices", "message"),
    [
        ([sp.csr_array(GOOD[0]), sp.csr_array(np.eye(2))], r"action 1 has shape \(2, 2\); all must be square like"),
        ([sp.csr_array(np.ones((2, 3)))], r"action 0 has shape \(2, 3\); all must be square"),
        ([sp.csr_array((0, 0))], "theta has 1 actions and 0 states; there must be at least one of each"),
        ([sp.csr_array(GOOD[0]), sp.csr_array(GOOD[1] * 2)], r"row \(a=1, s=0\) of theta sums to 2"),
        ([sp.csr_array(np.array([[1.5, -0.5], [0, 1]]))], r"row \(a=0, s=0\) of theta holds .*-0.5.* for state 1"),
    ],
)
def test_sparse_matrices_that_are_not_transition_probabilities_are_refused(matrices, message):
    with pytest.raises(ValueError, match=message):
        World(matrices)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"indices": np.array([0, 3, 0, 1, 2, 0, 1, 2, 0, 1, 2], np.int32)}, r"row \(a=0, s=0\) .* lists state 3"),
        (
            {"indices": np.array([0, 1, 0, 1, 2, 0, 2, 1, 0, 1, 2], np.int32)},
            r"row \(a=0, s=2\) .* lists state 1; .*strictly increasing",
        ),
        (
            {"indices": np.array([0, 1, 0, 1, 2, 0, 1, 1, 0, 1, 2], np.int32)},
            r"row \(a=0, s=2\) .* lists state 1; .*strictly increasing",
        ),
        ({"indices": np.array([0, 1, -1, 1, 2, 0, 1, 2, 0, 1, 2], np.int32)}, r"row \(a=1, s=0\) .* lists state -1"),
        ({"indices": np.array([0, 1], np.int32)}, "indices of theta have length 2; it must be 11"),
        ({"indptr": np.array([0, 2, 3])}, "indptr of theta must contain 7 numbers rising from 0 to 11"),
        ({"indptr": np.array([0, 2, 3, 4, 3, 8, 11])}, "indptr of theta must contain 7 numbers rising"),
        ({"data": np.full(11, 0.5)}, r"row \(a=1, s=0\) of theta sums to 0.5"),
    ],
)
def test_rows_that_are_not_in_order_are_refused(parts, message):
    with pytest.raises(ValueError, match=message):
        World(rows_with(**parts))


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (Dirichlet(1.0, n_states=4, n_actions=2), "the prior has n_states=4 and theta has n_states=3; they must agree"),
        (Dirichlet(1.0, n_states=3, n_actions=1), "the prior has n_actions=1 and theta has n_actions=2"),
        (
            Dirichlet(1.0, changed((1, 2, 1, 0.0)) > 0),
            r"row \(a=1, s=2\) can reach state 1, which the support of the prior excludes",
        ),
        (Always(np.ones((2, 2, 2))), r"the prior's estimate has shape \(2, 2, 2\); it must be \(2, 3, 3\)"),
        (
            Always(changed((0, 2, 2, 0.0), (0, 2, 1, 0.8))),
            r"row \(a=0, s=2\) can reach state 2, which has probability zero under the prior",
        ),
        ("uniform", r"prior is 'uniform'; it must have a method estimate\(counts\)"),
        (
            Always(GOOD + 1.0),
            r"^row \(a=0, s=0\) of Always.estimate sums to 4, and its smallest number is 1; it must contain prob",
        ),
        (
            Always(changed((1, 2, 0, -0.25), (1, 2, 2, 0.75))),
            r"^row \(a=1, s=2\) of Always.estimate sums to 1, and its smallest number is -0.25; it must contain prob",
        ),
        (
            Always(changed((1, 1, 1, np.nan))),
            r"^row \(a=1, s=1\) of Always.estimate sums to nan, and its smallest number is nan",
        ),
    ],
)
def test_priors_under_which_the_world_is_impossible_are_refused(prior, message):
    with pytest.raises(ValueError, match=message):
        World(GOOD, prior)


def test_a_prior_may_allow_more_than_happens():
    assert World(GOOD, Dirichlet(1.0, changed((1, 0, 2, 1.0)) > 0)).prior is not None
    assert World(GOOD, Always(np.full((2, 3, 3), 1 / 3))).prior is not None


@pytest.mark.parametrize("start", [3, -1, 1.0, "0", True])
def test_a_start_is_one_of_the_states(start):
    with pytest.raises(ValueError, match=r"start is .*; it must be a whole number from 0 to 2"):
        World(GOOD, start=start)


def test_sampling_inverts_the_cumulative_distribution():
    world = World(GOOD)
    assert [world.sample(0, 2, u) for u in (0.0, 0.199, 0.2, 0.499, 0.5, 0.999)] == [0, 0, 1, 1, 2, 2]
    assert [world.sample(1, 1, u) for u in (0.0, 0.999)] == [2, 2]


def test_sampling_never_leaves_the_support_where_rounding_leaves_the_sum_below_one():
    """Ten times 0.1 sums to less than one in double precision; the states behind have probability zero."""
    theta = np.zeros((1, 12, 12))
    theta[0, :, :10] = 0.1
    world = World(theta)
    assert world.rows.cumulative[9] < 1.0
    assert world.sample(0, 0, np.nextafter(1.0, 0.0)) == 9


@pytest.mark.parametrize(("a", "s"), [(2, 0), (-1, 0), (0, 3), (0, -1)])
def test_sampling_from_a_row_that_does_not_exist_is_refused(a, s):
    with pytest.raises(ValueError, match="it must be a whole number from 0 to"):
        World(GOOD).sample(a, s, 0.5)


def test_large_worlds_refuse_dense_arrays_and_name_an_alternative():
    world = maze(0, side=120, n_transporters=1000)
    with pytest.raises(ValueError, match=r"4 x 14400 x 14400 numbers \(6.2 GiB, .*; use world.rows, which stores"):
        _ = world.theta


def test_repr_counts_one_in_the_singular():
    assert repr(World(np.ones((1, 1, 1)))) == "World('world': 1 state, 1 action, no prior)"
