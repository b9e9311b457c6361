"""Explorers act with the probabilities that they return: chi-square tests over many draws, in all three classes."""

import numpy as np
import pytest
from scipy import stats

from berlyne import Explorer, explore
from berlyne.strategies.registry import get_strategy
from parity.cases import CLASSES

N_DRAWS = 4000
SMALLEST = 1e-4
"""p-values below this are not accepted; seeds are fixed."""
TESTED_STRATEGIES = [
    get_strategy("PIG(VI)", temperature=0.1, lapse=0.02),
    get_strategy("PIG(greedy)", temperature=0.05),
    get_strategy("PEIG(VI)", temperature=0.3, lapse=0.2),
    get_strategy("LTA", temperature=2.0),
    get_strategy("CB", temperature=1.0, lapse=0.1),
    get_strategy("PIG(Q)", epsilon=0.3, temperature=0.2, lapse=0.1),
    get_strategy("PIG(Q)"),
    get_strategy("LTA", lapse=0.3),
    get_strategy("Random"),
]


def p_value(drawn, probabilities):
    """Return the p-value of the draws. Outcomes of probability zero must not occur."""
    possible = probabilities > 0
    counts = np.bincount(drawn, minlength=len(probabilities))
    assert not counts[~possible].any()
    if possible.sum() == 1:
        return 1.0
    return stats.chisquare(counts[possible], N_DRAWS * probabilities[possible]).pvalue


def experienced(world, strategy):
    explorer = Explorer(world.prior, strategy, seed=7)
    run = explore(world, "Random", n_steps=60, seed=1)
    for step in zip(run.states[:-1].tolist(), run.actions.tolist(), run.next_states.tolist(), strict=True):
        explorer.observe(*step)
    return explorer, int(run.states[-1])


@pytest.mark.parametrize("strategy", TESTED_STRATEGIES, ids=str)
@pytest.mark.parametrize("kind", CLASSES)
def test_actions_have_the_stated_probabilities(kind, strategy):
    explorer, s = experienced(CLASSES[kind](0), strategy)
    rng = np.random.default_rng(3)
    drawn = [explorer._agent.act(s, rng.random(2)) for _ in range(N_DRAWS)]
    assert p_value(drawn, explorer.probabilities(s)) > SMALLEST


@pytest.mark.parametrize("strategy", TESTED_STRATEGIES, ids=str)
@pytest.mark.parametrize("kind", CLASSES)
def test_actions_among_given_ones_have_the_stated_probabilities(kind, strategy):
    world = CLASSES[kind](0)
    explorer, s = experienced(world, strategy)
    among = [world.n_actions - 1, 0]
    stated, rng, drawn = explorer.probabilities(s, among=among), np.random.default_rng(5), []
    for _ in range(N_DRAWS):
        explorer._next_draw = rng.random(2)  # as an explorer of another seed would draw
        drawn.append(explorer.act(s, among=among))
    assert p_value(drawn, stated) > SMALLEST and not stated[1 : world.n_actions - 1].any()


@pytest.mark.parametrize("temperature", [0.05, 1.0])
def test_pairs_have_the_stated_probabilities(temperature):
    world = CLASSES["dense"](0)
    explorer, _ = experienced(world, get_strategy("Unembodied", temperature=temperature, lapse=0.1))
    rng = np.random.default_rng(3)
    pairs = [explorer._agent.choose_pair(rng.random(2)) for _ in range(N_DRAWS)]
    assert p_value([s * world.n_actions + a for s, a in pairs], explorer.probabilities().ravel()) > SMALLEST


def test_draws_with_other_probabilities_are_detected():
    explorer, s = experienced(CLASSES["maze"](0), get_strategy("PIG(VI)", temperature=0.1))
    other = Explorer(explorer.prior, get_strategy("PIG(VI)", temperature=0.15))
    rng = np.random.default_rng(3)
    drawn = [explorer._agent.act(s, rng.random(2)) for _ in range(N_DRAWS)]
    warmer = other.strategy.rule.probabilities(explorer.action_values(s))
    assert p_value(drawn, warmer) < SMALLEST
