"""States that were marked as terminal and in which an action is requested later."""

from __future__ import annotations

import numpy as np
import pytest

from berlyne import ChineseRestaurant, Dirichlet, Explorer, OneTwoThree, Strategy
from berlyne.strategies.coordination import Greedy

TESTED_STRATEGIES = ["PIG(VI)", "PIG(greedy)", "PIG(Q, epsilon=0)", "PEIG(VI)", "LTA", "CB", "PIG(VI, temperature=0.5)"]
OWN = Strategy("own", Greedy(), utility=lambda now, after: float(np.max(now) + 0.1))
PRIORS = {
    "known": lambda: Dirichlet(0.5, n_states=4, n_actions=3),
    "1-2-3": lambda: OneTwoThree(n_states=4, n_actions=3),
    "found": lambda: ChineseRestaurant(1.0, n_actions=3),
}


def led(prior, strategy, lines):
    explorer = Explorer(PRIORS[prior](), strategy, seed=5)
    for line in lines:
        explorer.observe(*line[:3], ended=len(line) > 3)
    return explorer


@pytest.mark.parametrize("strategy", [*TESTED_STRATEGIES, OWN], ids=str)
@pytest.mark.parametrize("prior", PRIORS)
def test_act_in_a_state_marked_as_terminal_treats_it_as_non_terminal(strategy, prior):
    lines = [(0, 0, 1), (1, 2, 2), (2, 1, 0), (0, 1, 1)]
    ended = led(prior, strategy, [*lines[:2], (*lines[2], "ended"), lines[3], (1, 1, 3, "ended")])
    plain = led(prior, strategy, [*lines, (1, 1, 3)])
    worth, values = ended.utility(), ended.action_values(1)
    assert not worth[:, 3].any()
    assert ended.act(3) == plain.act(3) == ended.act(3)
    assert ended.action_values(3) == pytest.approx(plain.action_values(3), abs=1e-12)
    assert ended.probabilities(3) == pytest.approx(plain.probabilities(3), abs=1e-12)
    assert ended.act(3, among=[2]) == 2
    assert np.array_equal(ended.utility(), worth)  # asking changes nothing
    assert np.array_equal(ended.action_values(1), values)
    ended.observe(3, 0, 2)
    plain.observe(3, 0, 2)
    assert ended.utility() == pytest.approx(plain.utility(), abs=1e-12)
    assert [ended.act(s) for s in range(4)] == [plain.act(s) for s in range(4)]


def test_an_untried_action_has_a_value_there():
    explorer = led("known", "PIG(VI)", [(0, 0, 3, "ended")])
    assert explorer.action_values(3).min() > 0 and not explorer.utility()[:, 3].any()


@pytest.mark.parametrize("prior", PRIORS)
def test_states_in_which_an_action_was_taken_are_not_terminal(prior):
    """Told so afterwards, it is not believed: what was learned there keeps its worth."""
    explorer = led(prior, "PIG(VI)", [(0, 0, 1), (1, 0, 2)])
    worth = explorer.utility()
    explorer.ends_in([1])
    assert np.array_equal(explorer.utility(), worth)
    explorer.ends_in([2])
    assert not explorer.utility()[:, 2].any()
    explorer.observe(2, 1, 0)
    assert explorer.utility()[:, 2].all()


def test_undo_keeps_terminal_states_declared_later():
    """Also not by an action taken there before, which is what undoing lives through again."""
    explorer = led("known", "PIG(VI)", [(0, 0, 1), (1, 0, 2)])
    explorer.ends_in([3])
    explorer.observe(3, 0, 1)
    explorer.observe(1, 1, 2)
    explorer.undo()
    assert explorer.utility()[:, 3].all()  # it was reopened
    explorer.undo()
    assert not explorer.utility()[:, 3].any()
    explorer.undo(2)
    assert not explorer.utility()[:, 3].any() and explorer.utility()[:, :3].all()


def test_declared_terminal_states_are_saved(tmp_path):
    explorer = led("known", "PIG(VI)", [(0, 0, 1), (1, 0, 2, "ended")])
    explorer.ends_in([3])
    explorer.save(tmp_path / "saved.npz")
    loaded = Explorer.load(tmp_path / "saved.npz")
    assert loaded._declared_terminal == explorer._declared_terminal == {3: 2}
    for one in (explorer, loaded):
        one.undo()
        assert not one.utility()[:, 3].any() and one.utility()[:, 2].all()
