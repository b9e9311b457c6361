"""Refused and undone observations leave no effect, and declared states stay declared."""

import numpy as np
import pytest

from berlyne import ChineseRestaurant, Dirichlet, Explorer, Strategy
from berlyne.strategies.coordination import CounterBased
from messages import raises

SUPPORT = np.array([[[True, True, False], [True, True, True], [True, False, True]]] * 2)


class MyCounter(CounterBased):
    """The built-in method as a custom method, which runs in plain NumPy."""


@pytest.mark.parametrize("method", [CounterBased(), MyCounter()], ids=["compiled", "plain"])
def test_an_impossible_transition_is_no_visit(method):
    one, other = (Explorer(Dirichlet(1.0, SUPPORT), Strategy("CB", method), seed=0) for _ in range(2))
    for explorer in (one, other):
        explorer.observe(0, 0, 1)
    with raises(ValueError, "probability zero", "prior"):
        one.observe(2, 0, 1)
    assert one.here == other.here == 1
    for s in range(3):
        assert one.action_values(s).tolist() == other.action_values(s).tolist()


def test_a_state_declared_after_it_was_observed_stays_known():
    explorer = Explorer(ChineseRestaurant(1.0), n_actions=2)
    explorer.observe("a", 0, "b")
    explorer.discover(["a"])
    explorer.undo()
    assert list(explorer.states) == ["a"]


def test_states_stay_known_in_the_order_of_declaration(tmp_path):
    explorer = Explorer(ChineseRestaurant(1.0), n_actions=2)
    explorer.observe("a", 0, "b")
    explorer.discover(["c", "a"])
    explorer.ends_in(["b"])
    explorer.save(tmp_path / "explorer.npz")
    for one in (explorer, Explorer.load(tmp_path / "explorer.npz")):
        one.undo()
        assert list(one.states) == ["c", "a", "b"]
        assert one.model.theta_hat[0, 2].tolist() == [0.25] * 4


def random_choices(explorer, steps, ask=True):
    """Observe the lines of some steps, and return the choice before each of them if it is asked for."""
    choices = []
    for i in steps:
        choices += [explorer.act(i % 3)] if ask else []
        explorer.observe(i % 3, i % 4, (i + 1) % 3)
    return choices


def test_choices_do_not_depend_on_whether_earlier_ones_were_asked_for():
    asked, silent = (Explorer(Dirichlet(1.0, n_states=3, n_actions=4), "Random", seed=5) for _ in range(2))
    random_choices(asked, range(9))
    random_choices(silent, range(9), ask=False)
    assert random_choices(asked, range(9, 30)) == random_choices(silent, range(9, 30))


@pytest.mark.parametrize("n", [1, 7, 20])
def test_choices_are_the_same_again_after_an_undo(n):
    explorer = Explorer(Dirichlet(1.0, n_states=3, n_actions=4), "Random", seed=5)
    choices = random_choices(explorer, range(20))
    explorer.act(0)  # the draw of a choice that is never observed
    explorer.undo(n)
    assert random_choices(explorer, range(20 - n, 20)) == choices[20 - n :]
