"""Replays with unknown states: an explorer's own choices, likelihoods, subjects, labels."""

from __future__ import annotations

import numpy as np
import pytest

import berlyne
from berlyne import ChineseRestaurant, Explorer, World, explore, replay
from berlyne.agents.make import make_open_state_agent
from unit.exploration.test_replay_ends import ask_and_tell

TESTED_STRATEGIES = [
    "PIG(VI)",
    "PIG(greedy)",
    "PIG(Q, epsilon=0.2)",
    "PEIG(VI)",
    "PMC(greedy)",
    "CB",
    "LTA",
    "Unembodied",
]


def world_of(c=1.0, **parts):
    theta = np.random.default_rng(1).dirichlet(np.full(6, 0.4), (3, 6))
    return World(theta, ChineseRestaurant(c), start=0, **parts)


@pytest.mark.parametrize("strategy", TESTED_STRATEGIES)
@pytest.mark.parametrize("c", [0.9, "ml"])
def test_own_choices_are_certain_but_for_ties(strategy, c):
    world = world_of(c)
    run = explore(world, strategy, n_steps=60, seed=3)
    led = replay(world, run, strategy)
    chance = led.probabilities.values[np.arange(60), run.actions]
    largest = led.action_values.values.max(axis=1, keepdims=True)
    best = led.action_values.values >= largest - 1e-12 * np.abs(largest)
    if strategy == "Unembodied":
        assert np.all(chance > 0) and np.any(chance == 1.0)
    elif "Q" in strategy:
        assert np.all(chance >= 0.2 / 3 - 1e-12) and led.probabilities.values.sum(axis=1) == pytest.approx(1.0)
    else:
        assert np.all(best[np.arange(60), run.actions])
        assert chance == pytest.approx(1.0 / best.sum(axis=1))
    assert led.log_likelihood.values == pytest.approx(np.log(chance))
    after = led.expected_missing_information_after.values
    assert np.array_equal(after[:-1], led.expected_missing_information.values[1:])
    assert after[-1] == pytest.approx(run.model.expected_missing_information().bits, abs=1e-9)


def test_start_states_of_episodes_are_discovered_when_they_begin():
    """By the explorer before it chooses, and by its replay: both see the same number of cells."""
    theta = np.zeros((2, 8, 8))
    theta[:, :, 7] = 1.0  # every step ends an episode, and only beginnings lead on
    start = np.array([0.3, 0.3, 0.1, 0.1, 0.1, 0.05, 0.05, 0.0])
    world = World(theta, ChineseRestaurant(1.0), start=start, terminal=[7])
    run = explore(world, "PIG(greedy)", n_steps=25, seed=2)
    led, discovered, counts = replay(world, run, "PIG(greedy)"), set(), np.zeros((2, 8))
    for t, (s, a) in enumerate(zip(run.states, run.actions, strict=False)):
        discovered |= {int(s)}
        n_cells = len(discovered) + 1
        worth = [pig(row(1.0, 0.0, [("s", 0, "end")] * int(counts[b, s]), "s", 0, n_cells)) for b in (0, 1)]
        assert led.utilities.values[t] == pytest.approx(worth, abs=1e-12)
        counts[a, s] += 1
        discovered |= {7} | {int(run.states[t + 1])}
        now = np.array([[counts[b, z] / (counts[b, z] + 1.0) for z in range(7)] for b in (0, 1)])
        unseen = 1.0 / (counts[:, :7] + 1.0) / (len(discovered) + 1 - (counts[:, :7] > 0))
        assert run.missing_information[t + 1] == pytest.approx(-np.log2(np.where(counts[:, :7] > 0, now, unseen)).sum())
    assert len(discovered) == 8


def row(c, d, lines, s, a, n_cells):
    """Predictions of a row: pseudo-counts of cells, by the labels of states in `lines`."""
    seen: dict[str, int] = {}
    for z, b, s_next in lines:
        if (z, b) == (s, a):
            seen[s_next] = seen.get(s_next, 0) + 1
    unseen = (c + d * len(seen)) / (n_cells - len(seen))
    return np.array([n - d for n in seen.values()] + [unseen] * (n_cells - len(seen)))


def pig(pseudo):
    now, total = pseudo / pseudo.sum(), 0.0
    for outcome, p in enumerate(now):
        after = (pseudo + np.eye(len(pseudo))[outcome]) / (pseudo.sum() + 1)
        total += p * np.sum(after * np.log2(after / now))
    return total


def test_the_likelihood_is_that_of_an_independent_version():
    """Softmax of PIG of the actions, each on the states found by then; subjects know nothing of each other."""
    pd = pytest.importorskip("pandas")
    history = {
        "ann": [("a", "x", "b"), ("b", "y", "c"), ("a", "x", "b"), ("b", "x", "a")],
        "bob": [("c", "y", "c"), ("c", "y", "d"), ("a", "x", "a"), ("a", "y", "c")],
    }
    frame = pd.DataFrame(
        [(who, *line) for pair in zip(*history.values(), strict=True) for who, line in zip(history, pair, strict=True)],
        columns=["subject", "s", "a", "s_next"],
    )
    led = replay(ChineseRestaurant(0.7, 0.2), frame, "PIG(greedy, temperature=0.3)", actions=["x", "y"])
    for who, lines in history.items():
        own = led.isel(step=np.flatnonzero(led.subject.values == who))
        for t, (s, a, _) in enumerate(lines):
            discovered = {z for line in lines[:t] for z in line[::2]} | {s}
            worth = np.array([pig(row(0.7, 0.2, lines[:t], s, b, len(discovered) + 1)) for b in ("x", "y")])
            chance = np.exp(worth / 0.3) / np.exp(worth / 0.3).sum()
            assert own.utilities.values[t] == pytest.approx(worth, abs=1e-12)
            assert own.log_likelihood.values[t] == pytest.approx(np.log(chance["xy".index(a)]), abs=1e-12)
    assert led.s.values.tolist() == frame["s"].tolist() and led.action.values.tolist() == ["x", "y"]
    assert led.s_next.values.tolist() == frame["s_next"].tolist()


def test_expected_missing_information_is_that_of_an_explorer():
    lines = [(10, 0, 20), (20, 1, 10), (10, 0, 10), (30, 1, 20)]
    led = replay(ChineseRestaurant(1.3), lines, "PIG(VI)", n_actions=2)
    explorer = Explorer(ChineseRestaurant(1.3), "PIG(VI)", n_actions=2)
    for t, line in enumerate(lines):
        explorer.discover([line[0]])
        missing = explorer.expected_missing_information().bits
        assert led.expected_missing_information.values[t] == pytest.approx(missing, abs=1e-9)
        assert led.action_values.values[t] == pytest.approx(explorer.action_values(line[0]), abs=1e-12)
        explorer.observe(*line)
    missing = explorer.expected_missing_information().bits
    assert led.expected_missing_information_after.values[-1] == pytest.approx(missing, abs=1e-9)
    assert led.s.values.tolist() == [10, 20, 10, 30]


@pytest.mark.filterwarnings("ignore:the rows of the history seem to be in no order")
@pytest.mark.parametrize("engine", ["compiled", "numpy"])
@pytest.mark.parametrize("strategy", ["PIG(VI)", "PEIG(VI)", "PIG(Q)", "CB", "PIG(greedy, temperature=0.2, lapse=0.1)"])
@pytest.mark.parametrize("prior", [ChineseRestaurant(0.7, 0.1), ChineseRestaurant("ml")], ids=repr)
def test_long_replays_agree_with_an_explorer(prior, strategy, engine):
    """Most lines discover nothing; some states have more outcomes than there is room for at first; ends come and go."""
    pd, rng = pytest.importorskip("pandas"), np.random.default_rng(8)
    usual, rare = np.array([40, 3, 77]), np.setdiff1d(np.arange(90), [40, 3, 77])
    steps = np.stack([rng.choice(usual, 400), rng.integers(2, size=400), rng.choice(usual, 400)], axis=1)
    steps[350:380:2, 0], steps[100:340:6, 2] = rng.choice(rare[:20], 15), rare[:40]
    ended = (rng.random(400) < 0.5) & (steps[:, 2] >= 60) & (steps[:, 2] != 77) | (np.arange(400) == 30)
    table = pd.DataFrame({"s": steps[:, 0], "a": steps[:, 1], "s_next": steps[:, 2], "ended": ended})
    led = replay(prior, table, strategy, n_actions=2, engine=engine)
    explorer = Explorer(prior, strategy, n_actions=2)
    for name, expected in ask_and_tell(explorer, steps.tolist(), ended).items():
        np.testing.assert_allclose(led[name], expected, rtol=1e-9, atol=1e-10, err_msg=name)
    assert explorer.n_states == len(np.unique(steps[:, ::2])) > 32


@pytest.mark.parametrize("strategy", ["Unembodied", "Unembodied(temperature=0.2, lapse=0.1)", "Unembodied(ties=first)"])
def test_replays_of_a_relocating_explorer_agree_too(strategy):
    rng = np.random.default_rng(2)
    steps = np.stack([rng.integers(4, size=80), rng.integers(2, size=80), rng.integers(4, size=80)], axis=1)
    steps[[30, 50], 2] = 7, 9
    led = replay(ChineseRestaurant(0.7), steps.tolist(), strategy, n_actions=2)
    explorer = Explorer(ChineseRestaurant(0.7), strategy, n_actions=2)
    for name, expected in ask_and_tell(explorer, steps.tolist(), np.zeros(80)).items():
        np.testing.assert_allclose(led[name], expected, rtol=1e-9, atol=1e-10, err_msg=name)


def test_nothing_needs_to_be_discovered():
    """All states are told in advance."""
    lines = [(0, 0, 1), (1, 1, 0), (0, 1, 1)] * 5
    led = replay(ChineseRestaurant(1.0), lines, "PIG(VI)", n_actions=2, states=[0, 1])
    explorer = Explorer(ChineseRestaurant(1.0), "PIG(VI)", n_actions=2)
    explorer.discover([0, 1])
    for name, expected in ask_and_tell(explorer, lines, np.zeros(15)).items():
        np.testing.assert_allclose(led[name], expected, rtol=1e-9, atol=1e-10, err_msg=name)


def test_states_that_are_named_are_known_from_the_start():
    lines = [("a", 0, "b")]
    for states, n_cells in ((None, 2), (["b", "q"], 4)):
        led = replay(ChineseRestaurant(1.0), lines, "PIG(greedy)", n_actions=1, states=states)
        assert led.utilities.values[0] == pytest.approx(pig(row(1.0, 0.0, [], "a", 0, n_cells)), abs=1e-12)


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
@pytest.mark.parametrize("make", [berlyne.dense_world, berlyne.one_two_three_world])
def test_terminal_states_have_nothing_to_learn_if_states_are_known(make, engine):
    world = make(1, n_states=6).replace(start=1, terminal=[4])
    run = explore(world, "PIG(VI)", n_steps=40, seed=1)
    led = replay(world, run, "PIG(VI)", engine=engine)
    for t, estimate in ((0, led.expected_missing_information), (-1, led.expected_missing_information_after)):
        model = run.model if t else berlyne.InternalModel(world.prior)
        expected = model.expected_missing_information(without=[4]).bits
        assert estimate.values[t] == pytest.approx(expected, abs=1e-9)
        assert expected < model.expected_missing_information().bits


def test_terminal_states_have_nothing_to_learn():
    world = world_of(terminal=[4])
    run = explore(world, "PIG(VI)", n_steps=80, seed=1)
    assert 4 in run.next_states
    led = replay(world, run, "PIG(VI)")
    chance = led.probabilities.values[np.arange(80), run.actions]
    assert np.all(chance >= 1 / 3) and np.mean(chance == 1.0) > 0.7
    model = run.model
    expected = model.expected_missing_information(without=[model.states.index(4)]).bits
    assert led.expected_missing_information_after.values[-1] == pytest.approx(expected, abs=1e-9)


def test_expected_missing_information_ignores_unobserved_cells():
    """Room for states in a world, or in a list of labels, is no state that was found."""
    agent = make_open_state_agent(ChineseRestaurant(1.0), 2, berlyne.strategy("PIG(VI)"))
    agent.observe(5, 0, 900)
    assert not agent.expected_missing()[:, -1].any() and agent.expected_missing()[:, :2].all()
    few, many = (berlyne.InternalModel(ChineseRestaurant(1.0, n_actions=1, n_states=n)) for n in (2, 3))
    assert few.expected_missing_information().bits < many.expected_missing_information().bits  # one that was found
    explorer = Explorer(ChineseRestaurant(1.0), n_actions=2)
    explorer.observe("a", 0, "b")
    before = explorer.expected_missing_information().bits
    explorer.act("never seen before"), explorer.action_values("nor this"), explorer.expected_gain(20, n_samples=5)
    assert explorer.expected_missing_information().bits == before == pytest.approx(agent.expected_missing().sum())


def test_bad_histories_are_refused():
    prior = ChineseRestaurant(1.0)
    with pytest.raises(ValueError, match=r"n_states is 4; .* discovers its states, so leave it out"):
        replay(prior, [(0, 0, 1)], n_states=4, n_actions=1)
    with pytest.raises(ValueError, match=r"line 1 of the history, counted from 0: s is .*not hashable"):
        replay(prior, [("a", 0, "b"), ([1], 0, "b")], n_actions=1)
    with pytest.raises(ValueError, match=r"line 0 of the history, counted from 0: .*is not equal to itself"):
        replay(prior, [(float("nan"), 0, "b")], n_actions=1)
    with pytest.raises(ValueError, match="a is 7 in line 0"):
        replay(prior, [("a", 7, "b")], n_actions=1)
    with pytest.raises(ValueError, match="does not define the number of actions"):
        replay(prior, [])
    with pytest.raises(ValueError, match="s is 9 in line 0"):
        replay(world_of(), [(9, 0, 1)])
    assert replay(prior, [], n_actions=2).sizes["step"] == 0
