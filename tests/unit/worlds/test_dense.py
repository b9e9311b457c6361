import numpy as np
import pytest

from berlyne import Dirichlet, dense_world
from messages import raises


def test_defaults_are_the_papers():
    world = dense_world(0)
    assert world.theta.shape == (4, 10, 10)
    assert isinstance(world.prior, Dirichlet) and world.prior.alpha == 1.0 and world.prior.support.is_full
    assert np.all(world.theta > 0) and world.theta.sum(axis=-1) == pytest.approx(np.ones((4, 10)))


def test_every_parameter_can_be_changed():
    world = dense_world(0, n_states=3, n_actions=2, alpha=0.5)
    assert world.theta.shape == (2, 3, 3) and world.prior.alpha == 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_states": 0}, ("n_states", "0", "1")),
        ({"n_actions": 0}, ("n_actions", "0", "1")),
        ({"alpha": 0.0}, ("alpha", "0.0", "1e-300")),
    ],
)
def test_parameters_outside_their_range_are_refused(arguments, message):
    with raises(ValueError, *message):
        dense_world(0, **arguments)


def test_bad_seeds_are_refused():
    with raises(ValueError, "seed", "-1"):
        dense_world(-1)
