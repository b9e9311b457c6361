import numpy as np
import pytest
import scipy.sparse as sp

from berlyne import Dirichlet, World, maze
from berlyne.sparse import Rows
from messages import raises

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
        (changed((1, 2, 0, 0.5)), ("(a=1, s=2)", "1.25", "1")),
        (changed((0, 1, 1, 0.0)), ("(a=0, s=1)", "0", "1")),
        (changed((0, 2, 0, 0.2 + 3e-6)), ("(a=0, s=2)", "1.000003", "1")),
        (changed((1, 1, 0, 0.5), (0, 2, 1, 0.0)), ("(a=1, s=1)", "1.5")),
        (changed((1, 0, 1, -0.5), (1, 0, 0, 1.5)), ("(a=1, s=0)", "-0.5", "state 1", "negative")),
        (changed((0, 1, 2, np.nan)), ("(a=0, s=1)", "nan", "state 2")),
        (changed((0, 1, 2, np.inf)), ("(a=0, s=1)", "inf", "state 2")),
        (GOOD[0], ("theta", "(3, 3)", "(n_actions, n_states, n_states)")),
        (GOOD[:, :, :2], ("theta", "(2, 3, 2)")),
        (np.zeros((0, 3, 3)), ("theta", "(0, 3, 3)")),
        (np.zeros((2, 0, 0)), ("theta", "(2, 0, 0)")),
        ([], ("theta", "(0,)")),
        ("theta", ("theta", "not an array of numbers")),
        ([[[1.0, 0.0], [1.0]]], ("theta", "not an array of numbers")),
        (sp.csr_array(GOOD[0]), ("list", "SciPy sparse")),
        (None, ("theta",)),
    ],
)
def test_arrays_that_are_not_transition_probabilities_are_refused(theta, message):
    with raises(ValueError, *message):
        World(theta)


@pytest.mark.parametrize(
    ("matrices", "message"),
    [
        ([sp.csr_array(GOOD[0]), sp.csr_array(np.eye(2))], ("action 1", "(2, 2)")),
        ([sp.csr_array(np.ones((2, 3)))], ("action 0", "(2, 3)")),
        ([sp.csr_array((0, 0))], ("theta", "1 actions", "0 states")),
        ([sp.csr_array(GOOD[0]), sp.csr_array(GOOD[1] * 2)], ("(a=1, s=0)", "2")),
        ([sp.csr_array(np.array([[1.5, -0.5], [0, 1]]))], ("(a=0, s=0)", "-0.5", "state 1")),
    ],
)
def test_sparse_matrices_that_are_not_transition_probabilities_are_refused(matrices, message):
    with raises(ValueError, *message):
        World(matrices)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"indices": np.array([0, 3, 0, 1, 2, 0, 1, 2, 0, 1, 2], np.int32)}, ("(a=0, s=0)", "state 3")),
        (
            {"indices": np.array([0, 1, 0, 1, 2, 0, 2, 1, 0, 1, 2], np.int32)},
            ("(a=0, s=2)", "state 1", "increasing"),
        ),
        (
            {"indices": np.array([0, 1, 0, 1, 2, 0, 1, 1, 0, 1, 2], np.int32)},
            ("(a=0, s=2)", "state 1", "increasing"),
        ),
        ({"indices": np.array([0, 1, -1, 1, 2, 0, 1, 2, 0, 1, 2], np.int32)}, ("(a=1, s=0)", "-1")),
        ({"indices": np.array([0, 1], np.int32)}, ("indices", "2", "11")),
        ({"indptr": np.array([0, 2, 3])}, ("indptr", "7", "0", "11")),
        ({"indptr": np.array([0, 2, 3, 4, 3, 8, 11])}, ("indptr", "7")),
        ({"data": np.full(11, 0.5)}, ("(a=1, s=0)", "0.5")),
    ],
)
def test_rows_that_are_not_in_order_are_refused(parts, message):
    with raises(ValueError, *message):
        World(rows_with(**parts))


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (Dirichlet(1.0, n_states=4, n_actions=2), ("prior", "n_states=4", "n_states=3")),
        (Dirichlet(1.0, n_states=3, n_actions=1), ("prior", "n_actions=1", "n_actions=2")),
        (
            Dirichlet(1.0, changed((1, 2, 1, 0.0)) > 0),
            ("(a=1, s=2)", "state 1"),
        ),
        (Always(np.ones((2, 2, 2))), ("prior", "estimate", "(2, 2, 2)", "(2, 3, 3)")),
        (
            Always(changed((0, 2, 2, 0.0), (0, 2, 1, 0.8))),
            ("(a=0, s=2)", "state 2"),
        ),
        ("uniform", ("prior", "'uniform'", "estimate(counts)")),
        (
            Always(GOOD + 1.0),
            ("(a=0, s=0)", "Always.estimate", "4", "number", "1"),
        ),
        (
            Always(changed((1, 2, 0, -0.25), (1, 2, 2, 0.75))),
            ("(a=1, s=2)", "Always.estimate", "1", "number", "-0.25"),
        ),
        (
            Always(changed((1, 1, 1, np.nan))),
            ("(a=1, s=1)", "Always.estimate", "nan", "nan"),
        ),
    ],
)
def test_priors_under_which_the_world_is_impossible_are_refused(prior, message):
    with raises(ValueError, *message):
        World(GOOD, prior)


def test_the_error_for_an_empty_row_names_the_argument_that_excludes_the_action():
    with raises(ValueError, "(a=1, s=2)", "sums to 0", "possible=", "own-worlds.md"):
        World(np.where(np.arange(18).reshape(2, 3, 3) < 15, GOOD, 0.0))


def test_a_prior_may_allow_more_than_happens():
    assert World(GOOD, Dirichlet(1.0, changed((1, 0, 2, 1.0)) > 0)).prior is not None
    assert World(GOOD, Always(np.full((2, 3, 3), 1 / 3))).prior is not None


@pytest.mark.parametrize("start", [3, -1, 1.0, "0", True])
def test_a_start_is_one_of_the_states(start):
    with raises(ValueError, "start", "0", "2"):
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
    name, value, last = ("s", s, 2) if s not in range(3) else ("a", a, 1)
    with raises(ValueError, name, value, "0", last):
        World(GOOD).sample(a, s, 0.5)


def test_large_worlds_refuse_dense_arrays_and_name_an_alternative():
    world = maze(0, side=120, n_transporters=1000)
    with raises(ValueError, "4 x 14400 x 14400", "6.2 GiB", "world.rows"):
        _ = world.theta


def test_repr_counts_one_in_the_singular():
    assert repr(World(np.ones((1, 1, 1)))) == "World('world': 1 state, 1 action, no prior)"
