"""Replays of explorations: an explorer's own choices are certain up to ties, and compiled and NumPy replays agree."""

import numpy as np
import pytest

from amounts import amount
from berlyne import STRATEGIES, Dirichlet, Explorer, InternalModel, explore, parameter_gain, replay
from berlyne.strategies.coordination import QLearning
from berlyne.strategies.planning import PosteriorSampling
from berlyne.strategies.registry import get_strategy
from messages import raises
from parity.cases import AWKWARD, CLASSES, VARIANTS
from parity.test_choice import WARM

PRIORS = {**CLASSES, **{kind: AWKWARD[kind] for kind in ("5 actions", "sparse truth", "1 state", "one way", "printed")}}
EVERYONE = [*STRATEGIES.values(), *VARIANTS, *WARM]
COLD = [*STRATEGIES.values(), *VARIANTS]
FOUND = (
    "action_values", "probabilities", "log_likelihood", "utilities",
    "expected_missing_information", "expected_missing_information_after",
)  # fmt: skip


def is_repeatable(strategy):
    """Whether a replay has the values of the exploration; posterior sampling draws other worlds."""
    return not isinstance(strategy.coordinate, PosteriorSampling)


def one_over_ties(values, strategy):
    """The chance of the best of some values, as reading R8 says it."""
    tied = np.count_nonzero(values >= values.max() - 1e-12 * abs(values.max()))
    return 1.0 if strategy.ties == "first" else 1.0 / tied


@pytest.mark.pairwise
@pytest.mark.parametrize("strategy", [h for h in COLD if is_repeatable(h)], ids=str)
@pytest.mark.parametrize("kind", CLASSES)
def test_own_choices_have_probability_one_or_one_over_the_ties(kind, strategy):
    world = CLASSES[kind](1)
    run = explore(world, strategy, n_steps=200, seed=3)
    seen = replay(world, run, strategy)
    taken = np.exp(seen.log_likelihood.values)
    explorer, epsilon = None, 0.0
    if isinstance(strategy.coordinate, QLearning):
        epsilon = strategy.coordinate.epsilon
    if strategy.relocates:
        explorer = Explorer(world.prior, strategy, seed=3)
    for t in range(200):
        s, a, s_next = int(run.states[t]), int(run.actions[t]), int(run.next_states[t])
        values = seen.action_values.values[t] if explorer is None else explorer.utility().ravel()
        best = (1 - epsilon) * one_over_ties(values, strategy) + epsilon / world.n_actions
        explored = epsilon / world.n_actions
        assert taken[t] == pytest.approx(best) or (epsilon and taken[t] == pytest.approx(explored))
        if explorer is not None:
            explorer.observe(s, a, s_next)
    if isinstance(strategy.coordinate, QLearning) and epsilon == 0.0:
        assert taken.min() > 0.0


@pytest.mark.pairwise
@pytest.mark.parametrize("strategy", EVERYONE, ids=str)
@pytest.mark.parametrize("kind", PRIORS)
def test_the_kernel_agrees_with_the_twin(kind, strategy):
    """For a history of another explorer, and one that sometimes jumps to another state."""
    world = PRIORS[kind](6)
    n_steps = amount(50, 90)
    run = explore(world, "Random", n_steps=n_steps, seed=4)
    lines = np.stack([run.states[:-1], run.actions, run.next_states], axis=1)
    lines = np.concatenate([lines[:-40], lines[-20:], lines[-40:-20]])
    fast, plain = (replay(world, lines, strategy, engine=engine) for engine in ("compiled", "numpy"))
    assert fast.attrs == plain.attrs and fast.sizes == {"step": n_steps, "action": world.n_actions}
    for name in FOUND:
        assert fast[name].values == pytest.approx(plain[name].values, abs=1e-9), name
        assert fast[name].attrs == plain[name].attrs
    taken = np.take_along_axis(fast.probabilities.values, lines[:, 1:2], axis=1)[:, 0]
    assert np.exp(fast.log_likelihood.values) == pytest.approx(taken)


@pytest.mark.pairwise
@pytest.mark.parametrize("strategy", [h for h in EVERYONE if not h.sees_world and is_repeatable(h)], ids=str)
@pytest.mark.parametrize("kind", CLASSES)
def test_replay_agrees_with_an_explorer_with_the_same_observations(kind, strategy):
    world = CLASSES[kind](2)
    run = explore(world, "CB", n_steps=60, seed=9)
    seen, explorer = replay(world.prior, run, strategy), Explorer(world.prior, strategy)
    for t, (s, a, s_next) in enumerate(
        zip(run.states[:-1].tolist(), run.actions.tolist(), run.next_states.tolist(), strict=True)
    ):
        if strategy.relocates:
            values, chance = explorer.action_values()[s], explorer.probabilities()[s]
        else:
            values, chance = explorer.action_values(s), explorer.probabilities(s)
        assert np.array_equal(seen.action_values.values[t], values)
        assert seen.probabilities.values[t] == pytest.approx(chance, abs=1e-12)
        if strategy.utility != "log_visits":  # a replay has arrived in the state, which is a visit
            assert np.array_equal(seen.utilities.values[t], explorer.utility()[:, s])
        explorer.observe(s, a, s_next)


@pytest.mark.parametrize("kind", PRIORS)
def test_expected_missing_information_is_that_of_the_model_at_the_time(kind):
    world = PRIORS[kind](3)
    run = explore(world, "PIG(VI)", n_steps=120, seed=2, snapshots=[0, 1, 50, 119, 120])
    seen = replay(world, run, "PIG(VI)")
    before = seen.expected_missing_information.values
    after = seen.expected_missing_information_after.values
    assert np.array_equal(before[1:], after[:-1])
    for t, counts in run.snapshots.items():
        expected = parameter_gain(InternalModel.from_counts(world.prior, counts, {})).sum()
        assert (before[t] if t < 120 else after[t - 1]) == pytest.approx(expected, abs=1e-9)


def test_slots_are_added_if_more_outcomes_occur_than_fit():
    """Forty states, all of which can follow: a state begins with sixteen slots, or as many as the world needs."""
    rng = np.random.default_rng(0)
    lines = np.stack([rng.integers(2, size=400), rng.integers(3, size=400), rng.integers(40, size=400)], axis=1)
    prior = Dirichlet(0.1, n_states=40, n_actions=3)
    for where in (prior, AWKWARD["sparse truth"](0)):
        for name in ("PIG(VI)", "CB", "Unembodied"):
            fast, plain = (replay(where, lines, name, engine=engine) for engine in ("compiled", "numpy"))
            for array in FOUND:
                assert fast[array].values == pytest.approx(plain[array].values, abs=1e-9)


def test_a_strategy_that_sees_the_world_needs_it():
    world = CLASSES["maze"](5)
    run = explore(world, "PIG(VI+)", n_steps=100, seed=1)
    assert float(replay(world, run, "PIG(VI+)").log_likelihood.min()) >= np.log(0.25) - 1e-12
    with raises(ValueError, "PIG(VI+)", "unknown"):
        replay(world.prior, run, "PIG(VI+)")


def test_softmax_of_own_choices_is_likelier_at_the_temperature_they_were_made_at():
    world = CLASSES["maze"](0)
    run = explore(world, get_strategy("PIG(VI)", temperature=0.2), n_steps=2000, seed=0)
    colder, right, warmer = (
        float(replay(world, run, get_strategy("PIG(VI)", temperature=t)).log_likelihood.sum()) for t in (0.05, 0.2, 0.8)
    )
    assert right > max(colder, warmer)
