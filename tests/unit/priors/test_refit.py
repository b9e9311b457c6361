"""Schedules, and a custom prior whose parameters are learned."""

import dataclasses

import numpy as np
import pytest

import berlyne
from berlyne import ChineseRestaurant, Dirichlet, Explorer, InternalModel, Refit, Strategy, World, explore, replay
from berlyne.agents.make import make_agent
from berlyne.priors.refit import learned_values, refit_schedule
from berlyne.strategies.coordination import ValueIteration
from berlyne.strategies.registry import get_strategy
from messages import raises


@pytest.mark.parametrize(
    ("schedule", "times"),
    [
        (Refit(always=5, growth=0.5), [1, 2, 3, 4, 5, 8, 12, 18, 27]),
        (Refit(always=10, growth=0.1), [*range(1, 11), 11, 13, 15, 17, 19, 21, 24]),
        (Refit(always=0, growth=1.0), [1, 2, 4, 8, 16, 32]),
        (Refit(always=0, growth=0.0), [1, 2, 3, 4]),
        (Refit(always=2, growth=3.0), [1, 2, 8, 32]),
    ],
)
def test_refits_are_due(schedule, times):
    found, n_obs = [], 0
    while len(found) < len(times):
        n_obs = schedule.next_refit(n_obs)
        found.append(n_obs)
    assert found == times


class Number:
    """A prior of one learned number."""

    def __init__(self, learned):
        self.learned = learned

    def refit(self, counts):
        return self


@pytest.mark.parametrize(
    ("schedule", "n_obs", "new", "is_accepted"),
    [
        (Refit(10, 0.0, 0.1), 10, 1.01, True),
        (Refit(10, 0.0, 0.1), 11, 1.01, False),
        (Refit(10, 0.0, 0.1), 11, 1.11, True),
        (Refit(10, 0.0, 0.1), 11, 0.89, True),
        (Refit(10, 0.0, 0.1), 10, 1.0, False),
        (Refit(10, 0.0, 0.0), 11, 1.0 + 1e-15, True),
    ],
)
def test_new_parameters_are_used(schedule, n_obs, new, is_accepted):
    assert schedule.accepts(Number(new), Number(1.0), n_obs) == is_accepted
    assert schedule.accepts(Number([1.0, new]), Number([1.0, 1.0]), n_obs) == is_accepted


def test_only_priors_with_refit_and_a_schedule_learn():
    sizes = {"n_states": 3, "n_actions": 2}
    for prior in (Dirichlet(1.0, **sizes), ChineseRestaurant(), ChineseRestaurant(2.0, **sizes)):
        assert refit_schedule(prior) is None and learned_values(prior).size == 0
    for prior in (Dirichlet("ml", **sizes), Dirichlet("ml", **sizes).refit(np.zeros((2, 3, 3), dtype=int))):
        assert refit_schedule(prior) == Refit() and learned_values(prior).tolist() == [1 / 3]
    assert refit_schedule(ChineseRestaurant("ml")) == Refit(0, 1.0)
    assert refit_schedule(Number(1.0)) == Refit()


class Sticky:
    """States tend to last: the extra pseudo-count of staying is learned, without closed forms.

    It is the number of times that the state stayed, a statistic that is easy to compute by hand.
    """

    schedule = Refit(always=3, growth=0.5)

    def __init__(self, extra=1.0):
        self.extra = extra

    @property
    def learned(self):
        return self.extra

    def with_learned(self, extra):
        return Sticky(extra)

    def estimate(self, counts):
        c = counts + 1.0 + self.extra * np.eye(counts.shape[-1])
        return c / c.sum(axis=-1, keepdims=True)

    def refit(self, counts):
        assert isinstance(counts, np.ndarray) and counts.ndim == 3
        return Sticky(1.0 + float(np.trace(counts, axis1=1, axis2=2).sum()))


class Untraced(Sticky):
    """The same without `learned`, so that runs keep no record of it."""

    learned = ()

    def refit(self, counts):
        return Untraced(super().refit(counts).extra)


class Listening(ValueIteration):
    """A custom method that counts how often it was told of a refit."""

    def start(self, view):
        view.memory = 0

    def refit(self, view):
        view.memory += 1


def sticky_world(prior, terminal=()):
    theta = np.random.default_rng(0).dirichlet(np.ones(4), size=(2, 4))
    return World(0.5 * theta + 0.5 * np.eye(4), prior, terminal=terminal, start=0)


def extra_by_hand(run, n_steps):
    """The learned number after each step, from the path alone."""
    extra, n_last, found = 1.0, 0, [1.0]
    for n in range(1, n_steps + 1):
        if n <= 3 or n - n_last >= 0.5 * n_last:
            n_last, extra = n, 1.0 + np.count_nonzero(run.states[:n] == run.next_states[:n])
        found.append(extra)
    return found


@pytest.mark.parametrize("terminal", [(), (3,)], ids=["endless", "terminal"])
@pytest.mark.parametrize("strategy", ["PIG(VI)", "PEIG(greedy)", "PIG(Q)", "CB", "Unembodied"])
def test_a_custom_prior_is_refitted(strategy, terminal):
    world = sticky_world(Sticky(), terminal)
    run = explore(world, strategy, n_steps=40, seed=1)
    assert run.learned.tolist() == extra_by_hand(run, 40) and len(set(run.learned)) > 4
    for t in (0, 2, 7, 23, 40):
        model = run.model_at(t)
        assert model.prior.extra == run.learned[t]
        assert run.missing_information[t] == pytest.approx(model.missing_information(world), rel=1e-9)
        assert run.l1_distance[t] == pytest.approx(model.l1_distance(world), rel=1e-9)


def test_all_rows_are_valued_again_and_the_method_is_told():
    strategy = Strategy("listening", Listening(), "PIG")
    world = sticky_world(Sticky())
    run = explore(world, strategy, n_steps=40, seed=1)
    agent = make_agent(InternalModel(Sticky(), n_states=4, n_actions=2), strategy, None)
    for t, (s, a, s_next) in enumerate(run.history):
        agent.observe(s, a, s_next)
        fixed = InternalModel(Sticky(run.learned[t + 1]), n_states=4, n_actions=2)
        fixed.observe_many(run.history[: t + 1])
        assert agent.utility() == pytest.approx(berlyne.pig(fixed), rel=1e-12)
        assert agent.view.theta_hat == pytest.approx(fixed.theta_hat, rel=1e-12)
        for s in range(4):
            value = agent.action_values(s)
            plain = make_agent(fixed, get_strategy("PIG(VI)"), None, "numpy")
            assert value == pytest.approx(plain.action_values(s), rel=1e-12)
    assert agent.view.memory == np.count_nonzero(np.diff(run.learned)) > 3


def test_a_custom_prior_without_a_record_of_its_parameters():
    run = explore(sticky_world(Untraced()), "PIG(greedy)", n_steps=40, seed=1)
    traced = explore(sticky_world(Sticky()), "PIG(greedy)", n_steps=40, seed=1)
    assert run.learned is None and np.array_equal(run.actions, traced.actions)
    for t in (0, 5, 40):
        assert run.model_at(t).prior.extra == traced.learned[t]
        assert run.missing_information[t] == pytest.approx(traced.missing_information[t], rel=1e-12)


def test_explorers_and_replays_refit_a_custom_prior():
    world = sticky_world(Sticky())
    run = explore(world, "PIG(VI)", n_steps=30, seed=1)
    explorer, seen = Explorer(Sticky(), "PIG(VI)", seed=1, n_states=4, n_actions=2), replay(world, run, "PIG(VI)")
    for t, (s, a, s_next) in enumerate(run.history):
        assert explorer.act(s) == a and explorer.model.prior.extra == run.learned[t]
        assert seen.utilities.values[t] == pytest.approx(explorer.utility()[:, s], rel=1e-12)
        explorer.observe(s, a, s_next)
    before = explorer.utility()
    explorer.undo(7)
    for s, a, s_next in run.history[-7:]:
        explorer.observe(s, a, s_next)
    assert np.array_equal(explorer.utility(), before)
    with raises(ValueError, "custom component"):
        explorer.save("never.npz")


class Wrong(Sticky):
    def refit(self, counts):
        return Sticky() if counts.sum() > 2 else self


def test_refit_must_return_a_prior_of_its_class():
    with raises(ValueError, "Wrong.refit", "Sticky", "Wrong"):
        explore(sticky_world(Wrong()), "PIG(greedy)", n_steps=3)


class Growing(ChineseRestaurant):
    """A custom prior for unknown states, which runs in plain NumPy; it refits as the schedule says."""

    schedule = Refit(always=4, growth=0.5)

    def refit(self, counts):
        return self.with_learned(1.0 + len(counts.n) / 10)


def test_a_custom_prior_for_unknown_states_is_refitted_at_discoveries_and_by_its_schedule():
    world = berlyne.maze(1, side=3, n_transporters=4).with_prior(Growing())
    run = explore(world, "PIG(VI)", n_steps=60, seed=2)
    c, n_last, known, pairs = 1.0, 0, {int(run.states[0])}, set()
    for n, (s, a, s_next) in enumerate(run.history, start=1):
        pairs.add((s, a, s_next))
        if n <= 4 or n - n_last >= 0.5 * n_last or s_next not in known:
            n_last, c = n, 1.0 + len(pairs) / 10
        known.add(s_next)
        assert run.learned[n] == c
    assert run.model.prior.c == c and dataclasses.replace(run, learned=None).model.prior.c == c
