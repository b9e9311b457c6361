import numpy as np
import pytest

from berlyne import OneTwoThree, World, is_ergodic, one_two_three_world
from messages import raises


def test_defaults_are_the_papers():
    world = one_two_three_world(0)
    assert (world.n_actions, world.n_states, world.prior.p_escape, world.prior.formula) == (3, 20, 0.75, "exact")
    for a in range(3):
        assert np.all((world.theta[a] > 0).sum(axis=-1) == a + 1)
        assert np.unique(world.theta[a]).tolist() == [0.0, 1 / (a + 1)]


def test_the_first_ergodic_draw_is_returned():
    """Worlds that are not ergodic are drawn again from the same stream."""
    n_redrawn = 0
    for seed in range(30):
        rng, prior = np.random.default_rng(seed), OneTwoThree(20)
        draws = [prior.sample(rng)]
        while not is_ergodic(World(draws[-1])):
            draws.append(prior.sample(rng))
        n_redrawn += len(draws) > 1
        assert np.array_equal(one_two_three_world(seed).theta, draws[-1].dense())
        assert np.array_equal(one_two_three_world(seed, ergodic=False).theta, draws[0].dense())
    assert n_redrawn > 0


def test_the_printed_formula_changes_the_prior_and_not_the_world():
    exact, printed = one_two_three_world(5), one_two_three_world(5, formula="printed")
    assert np.array_equal(exact.theta, printed.theta)
    assert printed.prior.formula == "printed"


def test_failing_to_find_an_ergodic_world_is_an_error():
    with raises(ValueError, "50", "ergodic"):
        one_two_three_world(0, p_escape=1.0, max_draws=50)  # nothing ever leads to state 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_states": 3}, ("n_states", "3", "4")),
        ({"p_escape": 1.5}, ("p_escape", "1.5", "[0, 1]")),
        ({"n_actions": 0}, ("n_actions", "0")),
        ({"max_draws": 0}, ("max_draws", "0", "1")),
        ({"formula": "other"}, ("formula", "'other'")),
    ],
)
def test_parameters_outside_their_range_are_refused(arguments, message):
    with raises(ValueError, *message):
        one_two_three_world(0, **arguments)
