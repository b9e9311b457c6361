"""Utility per cost, against the enumeration of all plans, in which no code of the package is used."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from berlyne import ChineseRestaurant, Dirichlet, Explorer, LabBook, Strategy, strategy
from berlyne.strategies.coordination import ValueIteration
from messages import raises

N, M = 2, 2
LINES = [(0, 1, 1), (1, 0, 1), (1, 0, 0), (0, 0, 0), (0, 0, 0), (0, 0, 1), (1, 1, 0)]


def sums(theta, reward, policy, s, gamma):
    """Expected discounted sum of `reward[a, s]` under a policy, `policy[t][s]`, from state s."""
    p, total = np.eye(len(theta[0]))[s], 0.0
    for t, actions in enumerate(policy):
        total += gamma**t * sum(p[z] * reward[actions[z], z] for z in range(len(p)))
        p = sum(p[z] * theta[actions[z], z] for z in range(len(p)))
    return total


def best_ratios(theta, utility, costs, s, n_steps, gamma=1.0):
    """Largest ratio of expected utility and expected cost of all plans of `n_steps` steps, by their first action."""
    plans = list(product(product(range(M), repeat=N), repeat=n_steps))
    best = np.full(M, -np.inf)
    for plan in plans:
        ratio = sums(theta, utility, plan, s, gamma) / sums(theta, costs, plan, s, gamma)
        best[plan[0][s]] = max(best[plan[0][s]], ratio)
    return best


@pytest.mark.parametrize("steps_back", [0, 1, 2])
@pytest.mark.parametrize("gamma", [1.0, 0.7])
@pytest.mark.parametrize("costs", [{1: 5.0}, [0.3, 2.0], [[1.0, 4.0], [2.5, 0.5]]], ids=str)
def test_a_plan_has_the_largest_utility_per_cost(steps_back, gamma, costs):
    vi = Strategy("VI", ValueIteration(steps_back, gamma), "PIG")
    explorer = Explorer(Dirichlet(0.6, n_states=N, n_actions=M), vi, costs=costs)
    explorer.observe_many(LINES)
    c = np.array([[1.0, 1.0], [5.0, 5.0]]) if isinstance(costs, dict) else np.broadcast_to(np.array(costs).T, (N, M)).T
    assert np.array_equal(explorer.costs, c)
    for s in range(N):
        expected = best_ratios(explorer.model.theta_hat, explorer.utility(), c, s, steps_back + 1, gamma)
        np.testing.assert_allclose(explorer.action_values(s), expected, rtol=1e-9)
        assert explorer.act(s) == expected.argmax()


def test_costs_of_one_change_no_choice():
    """The ratio of a plan of a fixed number of steps is its sum, divided by this number."""
    plain, costly = (Explorer(Dirichlet(0.6, n_states=3, n_actions=2), costs=c) for c in (None, [1.0, 1.0]))
    for line in ((0, 1, 1), (1, 0, 2), (2, 0, 0), (0, 1, 1)):
        for explorer in (plain, costly):
            explorer.observe(*line)
        for s in range(3):
            np.testing.assert_allclose(costly.action_values(s), plain.action_values(s) / 11.0, rtol=1e-12)


def test_a_walk_is_not_free():
    """Known actions lead to a state of much to learn; the short way costs more. U / c would not see the difference."""
    support = np.zeros((2, 3, 3), dtype=bool)
    support[0, 0, 2] = support[1, 0, 1] = support[:, 1, 2] = True
    support[:, 2, :] = True
    two_steps = Strategy("VI", ValueIteration(steps_back=2), "PIG")
    for price, first in ((1.1, 0), (50.0, 1)):
        costs = np.ones((2, 3))
        costs[0, 0] = price
        explorer = Explorer(Dirichlet(1.0, support), two_steps, costs=costs)
        assert not explorer.utility()[:, 0].any() and explorer.act(0) == first


def test_ends_and_possible_actions_are_those_of_value_iteration():
    """With equal costs, a plan with ends and forbidden actions is that of value iteration, for each way to go on."""
    for after_end in ("restart", "stop"):
        vi = Strategy("VI", ValueIteration(4, 0.9, after_end), "PIG")
        options = {"possible": {1: [0]}, "actions": None}
        plain, costly = (
            Explorer(Dirichlet(0.6, n_states=4, n_actions=2), vi, costs=c, **options) for c in (None, [2, 2])
        )
        for explorer in (plain, costly):
            explorer.observe(0, 1, 3, ended=True)
            explorer.observe(0, 0, 1)
            explorer.observe(1, 0, 0, timed_out=True)
        if after_end == "restart":  # then every plan has the same cost
            total = 2.0 * sum(0.9**t for t in range(5))
            np.testing.assert_allclose(costly.action_values(0), plain.action_values(0) / total, rtol=1e-9)
        assert np.isneginf(costly.action_values(1)[1]) and costly.act(1) == 0


@pytest.mark.parametrize("name", ["PIG(greedy)", "Unembodied", "PIG(VI)"])
@pytest.mark.parametrize("prior", [Dirichlet(1.0, n_states=3, n_actions=2), ChineseRestaurant(1.0, n_actions=2)])
def test_files_and_books_keep_costs(name, prior, tmp_path):
    labels = {"actions": ["heat", "cool"], "costs": {"heat": 5}}
    explorer = Explorer(prior, name, seed=1, **labels)
    book = LabBook.new(tmp_path / "lab", prior, name, seed=1, **labels)
    for line in ((0, "cool", 1), (1, "heat", 2), (2, "heat", 0)):
        explorer.observe(*line)
        book.tell(*line)
    explorer.save(tmp_path / "e.npz")
    for other in (Explorer.load(tmp_path / "e.npz"), book.explorer, LabBook(tmp_path / "lab").explorer):
        assert np.array_equal(other.costs, explorer.costs) and other.costs[0, 0] == 5.0
        if name == "Unembodied":
            assert np.array_equal(other.action_values(), explorer.action_values())
            np.testing.assert_allclose(
                explorer.action_values(), (explorer.utility() / [[5.0], [1.0]]).T[: explorer.n_states], rtol=1e-12
            )
        else:
            assert np.array_equal(other.action_values(1), explorer.action_values(1)) and other.act(1) == explorer.act(1)
    copied = book.copy(tmp_path / "copy", strategy="Random")
    assert copied.explorer.costs[0, 0] == 5.0


def test_the_gain_per_cost_is_that_of_the_steps_made():
    """One row, one step: the gain and the cost are known. Two actions of equal value: the cost is their mean."""
    prior = Dirichlet(1.0, n_states=2, n_actions=2)
    cheap = Explorer(prior, "PIG(greedy)", costs=[4.0, 1.0]).expected_gain(1, s=0, n_samples=50)
    pig = Explorer(prior).utility()[0, 0]
    assert cheap.cost == 1.0 and cheap.per_cost == cheap.bits
    assert abs(cheap.bits - pig) < 4 * cheap.standard_error + 1e-9
    mixed = Explorer(prior, "Random", costs=[4.0, 1.0]).expected_gain(1, s=0, n_samples=2000)
    assert abs(mixed.cost - 2.5) < 4 * 1.5 / np.sqrt(2000) and mixed.per_cost == mixed.bits / mixed.cost
    shown = [
        Explorer(prior, "Random", costs=[4.0, 1.0]).expected_gain(1, s=0, n_samples=40, seed=i) for i in range(300)
    ]
    spread, claimed = np.std([gain.per_cost for gain in shown]), np.mean([gain.per_cost_error for gain in shown])
    assert 0.85 < claimed / spread < 1.15
    plain = Explorer(prior).expected_gain(5, s=0, n_samples=4)
    assert plain.cost == 5.0 and plain.per_cost == plain.bits / 5.0
    assert Explorer(prior).expected_gain(0, s=0, n_samples=4).per_cost == 0.0


def test_costs_that_make_no_sense_are_refused():
    prior, labels = Dirichlet(1.0, n_states=2, n_actions=2), {"actions": ["heat", "cool"]}
    for costs, names in (
        ({"heat": 0}, ("cost", "'heat'", 0)),
        ({"heat": -1}, ("cost", "'heat'", -1)),
        ({"freeze": 2}, ("action", "'freeze'")),
        ([1.0], ("costs", "(2,)", "(2, 2)")),
        ([1.0, np.nan], ("costs", "positive")),
        ("cheap", ("costs", "'cheap'")),
    ):
        with raises(ValueError, *names):
            Explorer(prior, costs=costs, **labels)
    with raises(ValueError, "costs", "(2,)"):
        Explorer(ChineseRestaurant(1.0, n_actions=2), costs=np.ones((2, 2)))
    for name in ("PEIG(Q)", "PIG(VI, replan=episode)", "RF-UCRL"):
        with raises(ValueError, "cost", "PIG(VI)"):
            Explorer(prior, name, costs=[1.0, 2.0])
    assert Explorer(prior, strategy("Random"), costs=[1.0, 2.0]).act(0) in (0, 1)
