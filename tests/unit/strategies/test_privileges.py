"""Only VI+ gets the true world; other strategies cannot access it."""

import dataclasses

import numpy as np
import pytest

from berlyne import STRATEGIES, InternalModel, Strategy, World, explore, strategy
from berlyne.agents.compiled_agent import CompiledAgent
from berlyne.agents.make import make_agent
from berlyne.strategies.coordination import View
from parity.cases import AWKWARD, CLASSES, COMPOSED

NAMES = dict.fromkeys([*STRATEGIES, *COMPOSED])
BLIND = [name for name in NAMES if not strategy(name).sees_world]
PRIORS = {**CLASSES, "uneven": AWKWARD["5 actions"], "sparse truth": AWKWARD["sparse truth"]}


def arrays_of(agent):
    """Every array that choosing and learning work on."""
    parts = [agent.belief, agent.choice_state, agent.memory]
    for part in parts:
        for name, value in part._asdict().items():
            if hasattr(value, "_asdict"):
                parts.append(value)
            elif isinstance(value, np.ndarray):
                yield name, value


def same_support(world):
    """The world with other probabilities, and one in which as many outcomes happen elsewhere."""
    theta = world.theta
    others = np.where(theta > 0, np.random.default_rng(0).random(theta.shape) + 0.1, 0.0)
    return World(others / others.sum(axis=-1, keepdims=True), world.prior)


@pytest.mark.pairwise
@pytest.mark.parametrize("name", BLIND)
@pytest.mark.parametrize("kind", PRIORS)
def test_a_compiled_agent_does_not_depend_on_the_world(kind, name):
    """Everything it holds before the first step follows from the prior; nothing is shared with the world."""
    world = PRIORS[kind](3)
    if kind == "1-2-3":
        other = World(CLASSES[kind](4).rows, world.prior)
    else:
        other = same_support(world)
    one, two = (CompiledAgent(InternalModel(world.prior), strategy(name), w) for w in (world, other))
    hidden = (world.rows.data, world.rows.cumulative)
    for (field, mine), (_, theirs) in zip(arrays_of(one), arrays_of(two), strict=True):
        if field not in ("order", "ends", "level", "values", "reward"):  # not yet written, like the first of a tree
            first = 1 if field in ("top", "ties") else 0
            assert np.array_equal(mine[first:], theirs[first:], equal_nan=mine.dtype.kind == "f"), field
        assert not any(np.shares_memory(mine, theta) for theta in hidden), field


@pytest.mark.parametrize("kind", PRIORS)
def test_vi_plus_plans_with_the_true_world_and_believes_like_everybody(kind):
    world = PRIORS[kind](3)
    knowing, blind = (
        CompiledAgent(InternalModel(world.prior), strategy(name), world) for name in ("PIG(VI+)", "PIG(VI)")
    )
    for field in ("weight", "base_weight", "n", "row_stats", "utility"):
        assert np.array_equal(getattr(knowing.belief, field), getattr(blind.belief, field))
    for field in ("start", "length", "succ"):
        assert np.array_equal(getattr(knowing.belief.graph, field), getattr(blind.belief.graph, field))
    weights = knowing.memory.weight[knowing.memory.weight > 0]
    assert np.array_equal(np.sort(weights), np.sort(world.rows.data))


@pytest.mark.parametrize("name", BLIND)
def test_a_plain_agent_does_not_get_the_world(name):
    world = CLASSES["maze"](0)
    assert make_agent(InternalModel(world.prior), strategy(name), world, "numpy").theta is None


def test_a_view_has_no_world_in_it():
    knowledge = {"utility", "theta_hat", "counts", "visits", "memory", "terminal", "possible", "starts", "prior"}
    times = {"t", "episode_began", "steps_left"}
    assert {field.name for field in dataclasses.fields(View)} == knowledge | times | {"seed", "is_learning"}


def test_a_custom_method_gets_estimates_unless_it_sees_the_world():
    world = CLASSES["maze"](0)
    seen = {}

    class Looking:
        def choose(self, view, s, u):
            seen[type(self)] = view.theta_hat.copy()
            return 0

    class Cheating(Looking):
        sees_world = True

    for method in (Looking, Cheating):
        explore(world, Strategy("mine", method()), n_steps=1)
    assert np.array_equal(seen[Looking], InternalModel(world.prior).theta_hat)
    assert np.array_equal(seen[Cheating], world.theta)
    assert Strategy("mine", Cheating()).sees_world and not Strategy("mine", Looking()).sees_world


@pytest.mark.parametrize("name", [name for name in BLIND if name != "Unembodied"])
def test_choices_depend_on_the_world_only_through_what_it_answered(name):
    """Two worlds of other probabilities that happen to give the same answers see the same actions."""
    world = CLASSES["maze"](1)
    agents = [make_agent(InternalModel(world.prior), strategy(name), w) for w in (world, same_support(world))]
    rng = np.random.default_rng(2)
    s = 0
    for _ in range(150):
        u = rng.random(2)
        a, other = (agent.act(s, u) for agent in agents)
        assert a == other
        s_next = int(rng.choice(world.prior.support.row(a, s)))
        for agent in agents:
            agent.observe(s, a, s_next)
        s = s_next
