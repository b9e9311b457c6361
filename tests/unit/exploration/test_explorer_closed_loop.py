"""Ask and tell: asking changes nothing, observations can be undone, and future steps can be simulated."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

import berlyne
from berlyne import STRATEGIES, ChineseRestaurant, Dirichlet, Explorer, InternalModel, OneTwoThree, Strategy, explore
from berlyne.strategies.coordination import ValueIteration
from messages import raises
from parity.cases import CLASSES
from unit.archives import rewrite_archive

EMBODIED = [name for name, strategy in STRATEGIES.items() if not strategy.relocates and not strategy.sees_world]


def own_agent(strategy):
    """Return the strategy with a subclass of its method, which runs in plain NumPy."""
    strategy = STRATEGIES[strategy]
    kind = type(strategy.coordinate)
    mine = type("Mine", (kind,), {})
    return Strategy("mine", mine(**vars(strategy.coordinate)), strategy.utility)


def lines(run):
    return np.stack([run.states[:-1], run.actions, run.next_states], axis=1)


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("strategy", [*EMBODIED, own_agent("CB"), own_agent("PIG(Q)")], ids=str)
def test_asking_changes_nothing(kind, strategy):
    """Additional calls of `act`, in any states, do not change the run."""
    world = CLASSES[kind](1)
    run = explore(world, strategy, n_steps=80, seed=5)
    explorer, rng = Explorer(world.prior, strategy, seed=5), np.random.default_rng(0)
    for s, a, s_next in lines(run).tolist():
        for z in rng.integers(world.n_states, size=2).tolist():
            explorer.act(z)
        assert [explorer.act(s) for _ in range(3)] == [a, a, a]
        explorer.observe(s, a, s_next)


def test_every_observation_has_its_own_random_numbers():
    prior = Dirichlet(1.0, n_states=3, n_actions=4)
    asked, informed = Explorer(prior, "Random", seed=1), Explorer(prior, "Random", seed=1)
    for _ in range(20):
        asked.act(0)
        asked.observe(0, 0, 0)
        informed.observe(0, 0, 0)
        assert asked.act(0) == informed.act(0)
    assert len({informed.act(0)} | {informed.observe(0, 0, 0) or informed.act(0) for _ in range(30)}) == 4


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("strategy", ["PIG(VI)", "PEIG(Q)", "CB", "Unembodied", own_agent("PIG(Q)")], ids=str)
def test_undo_equals_never_having_observed(kind, strategy):
    world = CLASSES[kind](2)
    history = lines(explore(world, "Random", n_steps=60, seed=3))
    one, other = Explorer(world.prior, strategy, seed=4), Explorer(world.prior, strategy, seed=4)

    def ask(explorer):
        return explorer.choose_pair() if explorer.strategy.relocates else explorer.act(0)

    one.observe_many(history[:30])
    answers = []
    for line in history[30:]:
        answers.append(ask(one))
        one.observe(*line.tolist())
    ask(one)
    one.undo()
    assert ask(one) == answers[-1]
    one.undo(29)
    assert ask(one) == answers[0] and one.n_obs == 30
    other.observe_many(history[:30])
    assert np.array_equal(one.history, history[:30]) and np.array_equal(one.utility(), other.utility())
    assert np.array_equal(one.model.last_outcomes, other.model.last_outcomes)
    for line, answer in zip(history[30:], answers, strict=True):
        assert ask(one) == ask(other) == answer
        one.observe(*line.tolist())
        other.observe(*line.tolist())
    one.undo(60)
    assert one.n_obs == 0 and not one.model.counts.any() and len(one.history) == 0


def test_a_history_is_learned_whole_or_not_at_all():
    world = berlyne.one_two_three_world(0)
    history = lines(explore(world, "Random", n_steps=40))
    one, other = Explorer(world.prior, "PIG(Q)"), Explorer(world.prior, "PIG(Q)")
    one.observe_many(iter(history.tolist()))
    for line in history.tolist():
        other.observe(*line)
    assert np.array_equal(one.history, history) and np.array_equal(one.utility(), other.utility())
    targets = np.flatnonzero(world.theta[0, 3])
    wrong = next(s for s in range(1, 20) if s not in targets)
    with raises(ValueError, "line 2", "action 0", "state 3", f"state {wrong}"):
        one.observe_many([(0, 0, int(np.flatnonzero(world.theta[0, 0])[0])), (3, 0, int(targets[0])), (3, 0, wrong)])
    with raises(ValueError, "s_next", "20", "line 1", "0", "19"):
        one.observe_many([(1, 2, 3), (1, 2, 20)])
    assert np.array_equal(one.history, history) and one.n_obs == 40


def test_bad_undoing_is_refused():
    explorer = Explorer(Dirichlet(1.0, n_states=3, n_actions=2))
    with raises(ValueError, "n", "1", "0"):
        explorer.undo()
    with raises(ValueError, "n", "0"):
        explorer.undo(0)


@pytest.mark.parametrize("strategy", ["PIG(VI)", "Random", "PEIG(Q)"])
def test_saving_between_act_and_observe_changes_nothing(strategy, tmp_path):
    explorer, never = (Explorer(berlyne.maze(0).prior, strategy, seed=2) for _ in range(2))
    for line in lines(explore(berlyne.maze(0), "Random", n_steps=30)).tolist():
        answer = explorer.act(line[0])
        explorer.save(tmp_path / "explorer.npz")
        assert answer == explorer.act(line[0]) == never.act(line[0])
        explorer = Explorer.load(tmp_path / "explorer.npz")
        assert answer == explorer.act(line[0])
        explorer.observe(*line)
        never.observe(*line)
    assert np.array_equal(explorer.history, never.history)
    explorer.undo(5)
    assert explorer.n_obs == 25


def test_a_history_that_was_not_counted_is_refused(tmp_path):
    explorer = Explorer(berlyne.maze(0).prior)
    explorer.observe_many(lines(explore(berlyne.maze(0), "Random", n_steps=30)))
    path = tmp_path / "explorer.npz"
    explorer.save(path)
    for change in (lambda h: h[:-1], lambda h: np.concatenate([h[:-1], h[:1]]), lambda h: h + 1000):
        rewrite_archive(
            path, lambda _, arrays, f=change: arrays.update(history=f(arrays["history"])), tmp_path / "changed.npz"
        )
        with raises(ValueError, "explorer", "damaged"):
            Explorer.load(tmp_path / "changed.npz")
    rewrite_archive(path, lambda settings, arrays: arrays.pop("history"), tmp_path / "older.npz")
    older = Explorer.load(tmp_path / "older.npz")
    assert older.n_obs == 30
    with raises(ValueError, "explorer", "without a history"):
        older.undo()


# --- what is ahead ----------------------------------------------------------------------------------------------------


def gain_by_enumeration(prior, transitions, s, n_steps):
    """Return the expected gain of greedy exploration, by enumerating all outcomes with their probabilities."""

    def after(history, s, n):
        model = InternalModel(prior)
        model.observe_many(history)
        if n == 0:
            return berlyne.parameter_gain(model).sum()  # the same, without a check of the prior
        worth = berlyne.pig(model)[:, s]
        best = np.flatnonzero(worth >= worth.max() * (1 - 1e-12))
        return np.mean(
            [
                sum(
                    p * after([*history, (s, int(a), z)], z, n - 1)
                    for z, p in enumerate(model.theta_hat_row(int(a), s))
                    if p > 0
                )
                for a in best
            ]
        )

    return after(transitions, s, 0) - after(transitions, s, n_steps)


@pytest.mark.parametrize(
    "prior",
    [Dirichlet(0.5, n_states=3, n_actions=2), OneTwoThree(5, 2), Dirichlet(0.7, n_states=40, n_actions=1)],
    ids=repr,
)
@pytest.mark.parametrize("mine", [False, True])
def test_the_expected_gain_is_that_of_enumeration(prior, mine):
    n_steps = 1 if prior.n_states == 40 else 3
    history = [(0, 0, 1), (1, 0, 2), (1, 0, 2)] if prior.n_states != 5 else [(0, 0, 1), (1, 1, 2)]
    explorer = Explorer(prior, own_agent("PIG(greedy)") if mine else "PIG(greedy)", seed=1)
    explorer.observe_many(history)
    before = explorer.act(0), explorer.utility()
    gain = explorer.expected_gain(n_steps, s=1, n_samples=60 if mine else 1500, seed=3)
    exact = gain_by_enumeration(prior, history, 1, n_steps)
    assert abs(gain.bits - exact) < 4.5 * gain.standard_error + 1e-9
    assert gain.standard_error < (0.3 if mine else 0.05)
    assert (
        explorer.act(0) == before[0]
        and np.array_equal(explorer.utility(), before[1])
        and explorer.n_obs == len(history)
    )


def test_many_imagined_steps_make_room_for_outcomes_and_teach_more():
    explorer = Explorer(Dirichlet(1.0, n_states=60, n_actions=1), "Random")
    none, ten, many = (explorer.expected_gain(n, s=0, n_samples=20) for n in (0, 10, 3000))
    assert none == (0.0, 0.0) and none.bits < ten.bits < many.bits
    assert many.bits < explorer.expected_missing_information().bits


def test_steps_ahead_begin_where_the_last_observation_ended():
    prior = Dirichlet(1.0, n_states=3, n_actions=1)
    explorer = Explorer(prior, "Random")
    with raises(ValueError, "nothing was observed", "start state"):
        explorer.expected_gain(5)
    explorer.observe_many([(0, 0, 1)] * 50)
    assert explorer.expected_gain(1, s=0).bits < 0.02 < explorer.expected_gain(1).bits
    assert explorer.expected_gain(1) == explorer.expected_gain(1, s=1)
    assert Explorer(prior, "Unembodied").expected_gain(3).bits > 0


def test_simulated_steps_are_not_logged():
    class Logging(ValueIteration):
        log: ClassVar[list[int]]

        def choose(self, view, s, u):
            self.log.append(s)
            return super().choose(view, s, u)

    method = Logging()
    object.__setattr__(method, "log", [])
    explorer = Explorer(NoveltyToo(), Strategy("mine", method, "PIG"), n_states=3, n_actions=2)
    explorer.observe(0, explorer.act(0), 1)
    assert explorer.expected_gain(4, n_samples=2).bits > 0
    assert explorer._agent.coordinate.log == [0]


class NoveltyToo:
    """A Dirichlet prior that kernels do not know."""

    def estimate(self, counts):
        return (counts + 1.0) / (counts + 1.0).sum(axis=-1, keepdims=True)

    def expected_missing_information(self, counts):
        m, n, _ = counts.shape
        return Dirichlet(1.0, n_states=n, n_actions=m).expected_missing_information(counts)


def test_it_knows_enough_when_its_upper_bound_is_small_enough():
    prior = Dirichlet(1.0, n_states=3, n_actions=2)
    explorer = Explorer(prior)
    expected = explorer.expected_missing_information()
    assert expected.bits == pytest.approx(InternalModel(prior).expected_missing_information().bits)
    bound = expected.quantile(0.9)
    assert expected.bits < bound
    assert explorer.knows_enough(bound * 1.001, 0.9) and not explorer.knows_enough(bound * 0.999, 0.9)
    assert not explorer.knows_enough(bound * 1.001, 0.95)
    with raises(ValueError, "bits", "-1"):
        explorer.knows_enough(-1)
    for wrong in (2, 90, -0.1, "much"):
        with raises(ValueError, "confidence", repr(wrong), "[0, 1]"):
            explorer.knows_enough(1, confidence=wrong)
    with raises(ValueError, "confidence", "90"):
        Explorer(ChineseRestaurant(1.0), n_actions=2).knows_enough(1, confidence=90)


class Mine:
    n_states, n_actions = 3, 2

    def estimate(self, counts):
        return (counts + 1.0) / (counts + 1.0).sum(axis=-1, keepdims=True)


def test_a_custom_prior_returns_expected_missing_information():
    for ask in (lambda e: e.expected_missing_information(), lambda e: e.knows_enough(1.0)):
        with raises(ValueError, "Mine", "expected_missing_information(counts)", "[a, s]", "docs/"):
            ask(Explorer(Mine(), "LTA"))

    class More(Mine):
        def expected_missing_information(self, counts):
            return np.full(counts.shape[:2], 2.0)

    explorer = Explorer(More(), "LTA")
    assert explorer.expected_missing_information().bits == 12.0
    assert np.isnan(explorer.expected_missing_information().high)
    with raises(ValueError, "method", "missing_information_variance(counts)"):
        explorer.knows_enough(3.0)


def test_repeated_declarations_of_terminal_states_are_undone():
    """Q of a terminal state is unused from the first declaration on, also after later declarations."""
    strategy = berlyne.strategy("PIG(Q)", initial=5.0)
    explorer = Explorer(Dirichlet(1.0, n_states=4, n_actions=2), strategy, seed=0)
    explorer.ends_in([3])
    explorer.observe(0, 0, 3)
    explorer.observe(0, 1, 1)
    before = explorer.action_values(0)
    explorer.ends_in([3])
    explorer.observe(0, 0, 3)
    explorer.undo()
    np.testing.assert_array_equal(explorer.action_values(0), before)
