import numpy as np
import pytest

from berlyne import InternalModel, OneTwoThree, World
from messages import raises


def learned(prior, a, *outcomes):
    model = InternalModel(prior)
    model.observe_many([(1, a, s_next) for s_next in outcomes])
    return model.theta_hat[a, 1]


def test_before_any_observation_state_0_stands_out():
    """theta_hat(0) = (1 - 0.75^k) / k for k targets; the rest is shared evenly."""
    prior = OneTwoThree(20)
    for a, first in enumerate([0.25, (1 - 0.75**2) / 2, (1 - 0.75**3) / 3]):
        assert learned(prior, a) == pytest.approx([first] + [(1 - first) / 19] * 19)


def test_seen_targets_are_known_and_the_rest_is_shared():
    """Two of three targets seen, state 0 among them: 1/3 for them, 1/3 over the other three states."""
    assert learned(OneTwoThree(5), 2, 0, 3) == pytest.approx([1 / 3, 1 / 9, 1 / 9, 1 / 3, 1 / 9])


def test_state_0_unseen_after_one_of_two_targets():
    """R3: (1/2)(1 - q) / (1 - q + 2 q), q = 9/16: 7/50. Printed: (1/2) (1 - q) = 7/32."""
    assert learned(OneTwoThree(5), 1, 2)[0] == pytest.approx(7 / 50)
    assert learned(OneTwoThree(5, formula="printed"), 1, 2)[0] == pytest.approx(7 / 32)


@pytest.mark.parametrize("formula", ["exact", "printed"])
def test_all_targets_known_leaves_nothing(formula):
    assert learned(OneTwoThree(5, formula=formula), 1, 4, 2) == pytest.approx([0, 0, 0.5, 0, 0.5], abs=0)
    assert learned(OneTwoThree(5, formula=formula), 0, 0) == pytest.approx([1, 0, 0, 0, 0], abs=0)


def test_one_unseen_target_that_must_be_state_0_gets_all_the_rest():
    """p_escape = 0: no phantom probability is left for other states by rounding."""
    assert learned(OneTwoThree(5, p_escape=0.0), 2, 1, 2) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0, 0], abs=0)


def test_more_actions_have_more_targets():
    theta = World(OneTwoThree(8, n_actions=5).sample(0)).theta
    for a in range(5):
        assert np.all((theta[a] > 0).sum(axis=-1) == a + 1)
        assert np.unique(theta[a]).tolist() == [0.0, 1 / (a + 1)]


@pytest.mark.parametrize("p_escape", [0.0, 1.0])
def test_state_0_is_always_or_never_a_target_at_the_ends(p_escape):
    theta = OneTwoThree(6, p_escape=p_escape).sample(1).dense()
    assert np.all((theta[:, :, 0] > 0) == (p_escape == 0.0))


def test_the_smallest_world_has_one_state_more_than_targets():
    theta = OneTwoThree(4, 3, p_escape=1.0).sample(0).dense()
    assert np.array_equal(theta[2], np.tile([0, 1 / 3, 1 / 3, 1 / 3], (4, 1)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_states": 3}, ("n_states", "3", "4")),
        ({"n_states": 5, "n_actions": 0}, ("n_actions", "0", "1")),
        ({"n_states": 5, "p_escape": -0.1}, ("p_escape", "-0.1", "[0, 1]")),
        ({"n_states": 5, "p_escape": 1.1}, ("p_escape", "1.1", "[0, 1]")),
        ({"n_states": 5, "p_escape": float("nan")}, ("p_escape", "nan")),
        ({"n_states": 5, "formula": "guess"}, ("formula", "'guess'", "'exact'", "'printed'")),
    ],
)
def test_parameters_outside_their_range_are_refused(arguments, message):
    with raises(ValueError, *message):
        OneTwoThree(**arguments)


def test_counts_of_another_size_are_refused():
    prior = OneTwoThree(5)
    for method in (prior.estimate, prior.expected_missing_information, prior.log_marginal_likelihood):
        with raises(ValueError, "counts", "3 actions", "4 states", "prior", "3 actions", "5 states"):
            method(np.zeros((3, 4, 4), dtype=int))


@pytest.mark.parametrize(
    ("p_escape", "row", "message"),
    [
        (0.75, [0, 1, 1], ("[1 2]", "1-2-3", "1 target")),
        (1.0, [1, 0, 0], ("[0]", "1-2-3", "1 target", "state 0", "never")),
        (0.0, [0, 1, 0], ("[1]", "1-2-3", "1 target", "state 0", "always")),
    ],
)
def test_counts_that_no_target_set_explains_are_refused(p_escape, row, message):
    counts = np.zeros((1, 3, 3), dtype=int)
    counts[0, 2] = row
    prior = OneTwoThree(3, 1, p_escape)
    with raises(ValueError, "(a=0, s=2)", *message):
        prior.estimate(counts)
    assert prior.log_marginal_likelihood(counts) == -np.inf


@pytest.mark.parametrize(
    ("p_escape", "row", "message"),
    [
        (0.75, [0.5, 0.5, 0.0], ("1 states", "1/1")),
        (1.0, [1.0, 0.0, 0.0], ("state 0", "never")),
        (0.0, [0.0, 1.0, 0.0], ("state 0", "always")),
    ],
)
def test_worlds_that_the_prior_cannot_draw_are_refused(p_escape, row, message):
    theta = np.tile([0.0, 0.0, 1.0] if p_escape else [1.0, 0.0, 0.0], (1, 3, 1))
    prior = OneTwoThree(3, 1, p_escape)
    assert World(theta, prior).n_states == 3
    theta[0, 1] = row
    with raises(ValueError, "(a=0, s=1)", "1-2-3", *message):
        World(theta, prior)


def test_uneven_targets_are_refused():
    theta = np.zeros((2, 3, 3))
    theta[0, :, 0] = 1.0
    theta[1, :, 1:] = 0.5
    theta[1, 2] = [0.0, 0.6, 0.4]
    with raises(ValueError, "(a=1, s=2)", "2 states", "1/2"):
        World(theta, OneTwoThree(3, 2))


def test_repr_shows_the_parameters():
    assert repr(OneTwoThree(5)) == "OneTwoThree(n_states=5, n_actions=3, p_escape=0.75)"
    assert repr(OneTwoThree(5, formula="printed")).endswith("p_escape=0.75, formula='printed')")
