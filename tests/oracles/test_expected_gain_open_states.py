"""Expected gain with unknown states against enumeration, and the fitted c against a grid search."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from berlyne import ChineseRestaurant, Explorer, Strategy, explore, maze
from berlyne.agents.make import make_open_state_agent
from berlyne.strategies.registry import get_strategy
from messages import raises

TOLD = [("a", 0, "b"), ("b", 1, "a"), ("a", 0, "b"), ("a", 1, "c"), ("c", 0, "a")]


def pseudo_counts(c, d, outcomes, n_cells):
    """Return the pseudo-counts of a row with these outcomes on `n_cells` cells, elsewhere last."""
    counts = np.bincount(outcomes, minlength=n_cells) if len(outcomes) else np.zeros(n_cells, dtype=int)
    n_seen = np.count_nonzero(counts)
    return np.where(counts > 0, counts - d, (c + d * n_seen) / (n_cells - n_seen))


def pig(pseudo):
    """Eq. 11 by enumerating outcomes, in bits."""
    now, total = pseudo / pseudo.sum(), 0.0
    for outcome, p in enumerate(now):
        after = (pseudo + np.eye(len(pseudo))[outcome]) / (pseudo.sum() + 1)
        total += p * np.sum(after * np.log2(after / now))
    return total


def by_enumeration(c, d, plan, discovered, lines, s):
    """Expected sum of PIG over a fixed plan of actions: every way in which the steps may turn out."""
    if not plan:
        return 0.0
    row = [s_next for z, a, s_next in lines if (z, a) == (s, plan[0])]
    pseudo = pseudo_counts(c, d, row, discovered + 1)
    total = pig(pseudo)
    for outcome, p in enumerate(pseudo / pseudo.sum()):  # the last is a state that is found now
        later = by_enumeration(c, d, plan[1:], max(discovered, outcome + 1), [*lines, (s, plan[0], outcome)], outcome)
        total += p * later
    return total


def numbered(history):
    names: list[str] = []
    for s, _, s_next in history:
        names += [name for name in (s, s_next) if name not in names]
    return [(names.index(s), a, names.index(s_next)) for s, a, s_next in history]


@pytest.mark.parametrize("d", [0.0, 0.3])
@pytest.mark.parametrize("strategy", ["PIG(greedy)", "Random", "PIG(VI, temperature=0.2)", "PEIG(Q)", "PMC(greedy)"])
def test_one_step_gains_the_pig_of_the_possible_actions(strategy, d):
    explorer = Explorer(ChineseRestaurant(0.8, d), strategy, seed=1, n_actions=2)
    explorer.observe_many(TOLD)
    lines = numbered(TOLD)
    for s, number in (("a", 0), ("c", 2)):
        worth = [pig(pseudo_counts(0.8, d, [z for y, b, z in lines if (y, b) == (number, a)], 4)) for a in (0, 1)]
        expected = float(explorer.probabilities(s) @ worth)
        gain = explorer.expected_gain(1, s, n_samples=120, seed=3)
        assert gain.bits == pytest.approx(expected, abs=5 * gain.standard_error + 1e-12)
        if max(explorer.probabilities(s)) == 1.0:
            assert gain.bits == pytest.approx(expected, abs=1e-12) and gain.standard_error < 1e-12


class Plan:
    """Take the actions in a fixed order."""

    def __init__(self, *actions):
        self.actions = actions

    def start(self, view):
        view.memory = 0

    def grow(self, view, memory):
        view.memory = memory

    def learn(self, view, s, a, s_next, reward):
        view.memory += 1

    def choose(self, view, s, u):
        return self.actions[view.memory % len(self.actions)]


@pytest.mark.parametrize("plan", [(0, 1), (1, 1, 0)])
def test_several_steps_gain_the_sum_over_all_outcomes(plan):
    """States that are imagined have rows of their own; a step is worth its PIG on the cells there are by then."""
    explorer = Explorer(ChineseRestaurant(0.8, 0.2), Strategy("plan", Plan(*plan)), n_actions=2)
    history = TOLD[: len(plan)]  # after which the plan begins anew
    explorer.observe_many(history)
    expected = by_enumeration(0.8, 0.2, plan, len({s for line in history for s in line[::2]}), numbered(history), 0)
    gain = explorer.expected_gain(len(plan), "a", n_samples=500, seed=5)
    assert gain.bits == pytest.approx(expected, abs=5 * gain.standard_error)
    assert 0 < gain.standard_error < 0.03 * expected


def test_simulated_steps_have_no_side_effects():
    explorer = Explorer(ChineseRestaurant(1.0), "PIG(VI)", seed=4, n_actions=2)
    explorer.observe_many(TOLD)
    before = explorer.utility(), explorer.act("b"), list(explorer.states), explorer.history
    assert explorer.expected_gain(0, "a").bits == 0.0
    assert explorer.expected_gain(12, n_samples=5) == explorer.expected_gain(12, "a", n_samples=5)
    unknown = explorer.expected_gain(2, "never visited", n_samples=5).bits
    assert unknown > 0
    after = explorer.utility(), explorer.act("b"), list(explorer.states), explorer.history
    assert np.array_equal(before[0], after[0]) and before[1:] == after[1:]


def test_simulated_episodes_that_end_begin_again():
    """From a, everything is known to end in a state where nothing can be tried: it is never acted there."""
    explorer = Explorer(ChineseRestaurant(1e-9), "PIG(VI)", n_actions=1)
    for _ in range(3):
        explorer.observe("a", 0, "end", ended=True)
    with raises(ValueError, "episode", "state 'end'"):
        explorer.expected_gain(2)
    twice = explorer.expected_gain(2, "a", n_samples=2).bits
    three, four = (pig(pseudo_counts(1e-9, 0.0, [1] * n, 3)) for n in (3, 4))
    assert twice == pytest.approx(three + four, abs=1e-12)


def test_unembodied_simulates_steps_in_known_states():
    explorer = Explorer(ChineseRestaurant(1.0), "Unembodied", n_actions=2)
    with raises(ValueError, "discover"):
        explorer.expected_gain(1)
    explorer.discover(["a"])
    assert explorer.expected_gain(1).bits == pytest.approx(pig(pseudo_counts(1.0, 0.0, [], 2)), abs=1e-12)


def likelihood(c, d, lines):
    """Return the likelihood of new and repeated outcomes of rows, step by step."""
    total, rows = 0.0, {}
    for s, a, s_next in lines:
        seen = rows.setdefault((s, a), {})
        n = sum(seen.values())
        if n:
            total += np.log((seen[s_next] - d) / (n + c) if s_next in seen else (c + d * len(seen)) / (n + c))
        seen[s_next] = seen.get(s_next, 0) + 1
    return total


def test_c_is_fitted_during_exploration():
    """At every discovery and doubling it is the most likely of a grid; between them it stays."""
    grid, d = np.exp(np.linspace(np.log(1e-3), np.log(1e3), 1201)), 0.2
    agent = make_open_state_agent(ChineseRestaurant("ml", d), 2, get_strategy("PIG(greedy)"))
    rng, lines, discovered, fitted, s, n_refits = np.random.default_rng(2), [], {0}, 0, 0, 0
    agent.discover(0)
    for t in range(1, 70):
        a, s_next = int(rng.integers(2)), int(rng.integers(min(2 + t // 8, 6)))
        agent.observe(s, a, s_next)
        lines.append((s, a, s_next))
        if s_next not in discovered or t >= 2 * fitted:
            fitted, discovered = t, discovered | {s_next}
            expected, n_refits = grid[np.argmax([likelihood(c, d, lines) for c in grid])], n_refits + 1
            repeated = len({line[:2] for line in lines}) < len(lines)
            if not repeated:
                expected = 1.0
        assert agent.current_prior.c == pytest.approx(expected, rel=0.012)
        s = s_next
    assert n_refits >= 8 and len(discovered) == 6
    fixed = make_open_state_agent(ChineseRestaurant(agent.current_prior.c, d), 2, get_strategy("PIG(greedy)"))
    for number in agent.discovered:
        fixed.discover(number)
    for line in lines:
        fixed.observe(*line)
    assert agent.utility() == pytest.approx(fixed.utility(), abs=1e-12)


@pytest.mark.parametrize("strategy", ["PIG(VI)", "PIG(Q)"])
def test_a_run_with_fitted_c_uses_it_in_measures_and_beliefs(strategy):
    world = maze(1, side=3, n_transporters=4).with_prior(ChineseRestaurant("ml"))
    run = explore(world, strategy, n_steps=50, seed=2)
    assert run.model.prior.c != 1.0 and run.model.prior.n_states == len(set(run.states.tolist())) + 1
    c, discovered = run.model.prior.c, list(run.model.states[:-1])
    total = 0.0
    for a, s in itertools.product(range(4), range(9)):
        outcomes = run.next_states[(run.states[:-1] == s) & (run.actions == a)]
        cells = [discovered.index(z) for z in outcomes]
        theta_hat = pseudo_counts(c, 0.0, cells, len(discovered) + 1)
        theta_hat = theta_hat / theta_hat.sum()
        for z in np.flatnonzero(world.theta[a, s]):
            cell = discovered.index(z) if z in discovered else -1
            p = theta_hat[cell] / (1 if z in discovered else 9 - len(discovered))
            total += world.theta[a, s, z] * np.log2(world.theta[a, s, z] / p)
    assert run.missing_information[-1] == pytest.approx(total, abs=1e-9)


def test_a_c_that_is_not_a_number_is_refused():
    with raises(ValueError, "c", "'most'", "'ml'"):
        ChineseRestaurant("most")
    with raises(ValueError, "c", "'ml'", "n_states"):
        ChineseRestaurant("ml", n_states=4)
    assert repr(ChineseRestaurant("ml", 0.5)) == "ChineseRestaurant(c='ml', d=0.5)"


def test_simulated_steps_are_not_logged():
    """This also holds if a simulated step discovers a state, and the agent of a custom method is created again."""

    class Logging(Plan):
        def __init__(self):
            super().__init__(0, 1)
            self.log = []

        def learn(self, view, s, a, s_next, reward):
            super().learn(view, s, a, s_next, reward)
            self.log.append(s_next)

    method = Logging()
    explorer = Explorer(ChineseRestaurant(5.0), Strategy("logging", method), n_actions=2)
    explorer.observe("a", 0, "b")
    explorer.expected_gain(15, n_samples=3)
    assert method.log == [1]
