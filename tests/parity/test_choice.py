"""Softmax, lapses, values and probabilities: compiled and NumPy code agree, and queries change nothing."""

import numpy as np
import pytest

from amounts import amount
from berlyne import STRATEGIES, Explorer, InternalModel, Strategy, explore
from berlyne.agents.compiled_agent import CompiledAgent
from berlyne.agents.numpy_agent import NumpyAgent
from berlyne.strategies.coordination import Relocating
from berlyne.strategies.registry import get_strategy
from messages import raises
from parity.cases import AWKWARD, CLASSES, VARIANTS
from parity.test_engine_against_twin import check_parity

WARM = [
    *(get_strategy(name, temperature=0.2, lapse=0.05) for name in STRATEGIES if name != "Random"),
    get_strategy("PIG(VI)", temperature=1e-4),
    get_strategy("PIG(greedy)", temperature=1e-3),
    get_strategy("CB", temperature=3.0),
    get_strategy("LTA", lapse=0.5),
    get_strategy("PIG(VI)", lapse=1.0),
    get_strategy("PIG(Q)", epsilon=0.3, temperature=0.1, lapse=0.1),
    get_strategy("Unembodied", lapse=0.5),
    Strategy("Unembodied by nothing", Relocating(), temperature=1.0),
]
PRIORS = {**CLASSES, **{kind: AWKWARD[kind] for kind in ("5 actions", "sparse truth", "1 state", "one way")}}
EVERYONE = [*STRATEGIES.values(), *VARIANTS, *WARM]


@pytest.mark.pairwise
@pytest.mark.parametrize("strategy", WARM, ids=str)
@pytest.mark.parametrize("kind", PRIORS)
def test_the_same_actions_from_the_same_numbers(kind, strategy):
    check_parity(PRIORS[kind](4), strategy, amount(75, 150), 4)


@pytest.mark.pairwise
@pytest.mark.parametrize("strategy", EVERYONE, ids=str)
@pytest.mark.parametrize("kind", ["dense", "maze", "1-2-3", "5 actions", "sparse truth"])
def test_values_and_probabilities_are_equal_in_any_state_at_any_time(kind, strategy):
    """Also in states where the explorer is not: there it would have arrived."""
    world = PRIORS[kind](9)
    run = explore(world, strategy, n_steps=40, seed=2)
    fast, plain = (
        CompiledAgent(InternalModel(world.prior), strategy, world),
        NumpyAgent(InternalModel(world.prior), strategy, world if strategy.sees_world else None),
    )
    asked = np.random.default_rng(1).integers(world.n_states, size=(40, 2))
    for t in range(40):
        s = int(run.states[t])
        if strategy.relocates:
            assert fast.pair_values() == pytest.approx(plain.pair_values(), abs=1e-10)
            assert fast.pair_probabilities() == pytest.approx(plain.pair_probabilities(), abs=1e-9)
        else:
            for z in (*asked[t].tolist(), s):
                assert fast.action_values(z) == pytest.approx(plain.action_values(z), abs=1e-10)
                assert fast.probabilities(z) == pytest.approx(plain.probabilities(z), abs=1e-9)
        for agent in (fast, plain):
            agent.observe(s, int(run.actions[t]), int(run.next_states[t]))


@pytest.mark.parametrize("strategy", [h for h in EVERYONE if not h.sees_world], ids=str)
def test_queries_change_nothing_and_actions_have_positive_probability(strategy):
    world = CLASSES["maze"](3)
    run = explore(world, strategy, n_steps=100, seed=5)
    explorer = Explorer(world.prior, strategy, seed=5)
    elsewhere = np.random.default_rng(0).integers(world.n_states, size=100).tolist()
    for s, a, s_next, z in zip(
        run.states[:-1].tolist(), run.actions.tolist(), run.next_states.tolist(), elsewhere, strict=True
    ):
        if strategy.relocates:
            chance, values = explorer.probabilities(), explorer.action_values()
            assert explorer.choose_pair() == (s, a) and chance[s, a] > 0.0
            assert chance.shape == values.shape == (world.n_states, world.n_actions)
        else:
            explorer.action_values(z), explorer.probabilities(z)
            chance, values = explorer.probabilities(s), explorer.action_values(s)
            assert explorer.act(s) == a and chance[a] > 0.0
            assert chance.shape == values.shape == (world.n_actions,)
            assert np.array_equal(explorer.action_values(s), values)  # after acting, before observing
            explorer.probabilities(s)[:] = 9.0  # a copy
        assert chance.sum() == pytest.approx(1.0, abs=1e-12)
        explorer.observe(s, a, s_next)


def test_values_agree_with_the_definitions_of_the_methods():
    world = CLASSES["maze"](0)
    explorers = {name: Explorer(world.prior, name) for name in ("Random", "LTA", "CB", "PIG(greedy)", "PIG(Q)")}
    run = explore(world, "Random", n_steps=60)
    for explorer in explorers.values():
        for step in zip(run.states[:-1].tolist(), run.actions.tolist(), run.next_states.tolist(), strict=True):
            explorer.observe(*step)
    s, other = int(run.states[-1]), (int(run.states[-1]) + 1) % world.n_states
    model, visits = run.model, np.bincount(run.states, minlength=world.n_states)
    assert explorers["Random"].action_values(s).tolist() == [0.0] * 4
    assert explorers["Random"].probabilities(s).tolist() == [0.25] * 4
    assert explorers["LTA"].action_values(s).tolist() == (-model.counts[:, s].sum(axis=1)).tolist()
    assert explorers["CB"].action_values(s) == pytest.approx(-(model.theta_hat[:, s] @ visits))
    visits_after = visits + (np.arange(world.n_states) == other)  # one would have arrived there
    assert explorers["CB"].action_values(other) == pytest.approx(-(model.theta_hat[:, other] @ visits_after))
    assert explorers["PIG(greedy)"].action_values(s).tolist() == explorers["PIG(greedy)"].utility()[:, s].tolist()
    q = explorers["PIG(Q)"].action_values(s)
    expected = np.full(4, 0.05) + 0.8 * (q == q.max()) / np.count_nonzero(q == q.max())
    assert explorers["PIG(Q)"].probabilities(s) == pytest.approx(expected)


def test_queries_that_a_strategy_cannot_answer_are_refused():
    prior = CLASSES["maze"](0).prior
    for method in ("action_values", "probabilities"):
        with raises(ValueError, "PIG(VI)", f"{method}(s)"):
            getattr(Explorer(prior, "PIG(VI)"), method)()
        with raises(ValueError, "Unembodied", f"{method}()"):
            getattr(Explorer(prior, "Unembodied"), method)(3)
        with raises(ValueError, "s", "36", "0", "35"):
            getattr(Explorer(prior, "PIG(VI)"), method)(36)
