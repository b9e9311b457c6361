"""Plans in which one state represents all that were never met are those of the full computation (Hypothesis)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from berlyne import Dirichlet, Explorer, InternalModel, OneTwoThree, Refit, World, explore
from berlyne.agents.compiled_agent import CompiledAgent
from berlyne.agents.make import make_agent
from berlyne.engine.value_iteration import MAX_COMPUTED
from berlyne.sparse import Rows
from berlyne.strategies.coordination import ValueIteration
from berlyne.strategies.registry import Strategy, get_strategy

M = 2
STRATEGIES = (
    "PIG(VI)",
    "PIG(VI, after_end=stop)",
    "PEIG(VI, steps_back=3)",
    "PMC(VI, gamma=0.9)",
    "parameter_gain(VI)",
)
PRIORS = {
    "alpha 1": lambda n: Dirichlet(1.0, n_states=n, n_actions=M),
    "alpha 1 / N": lambda n: Dirichlet(1.0 / n, n_states=n, n_actions=M),
    "learned": lambda n: Dirichlet("ml", n_states=n, n_actions=M),
    "1-2-3": lambda n: OneTwoThree(n, M),
}


@st.composite
def scripts(draw, kinds=("observe",) * 6 + ("end", "mark", "unmark", "allow")):
    """A number of states, and a list of events in a few of them, as in `test_ends_and_masks`."""
    n_states = draw(st.integers(MAX_COMPUTED + 1, 200))
    state = st.sampled_from(draw(st.lists(st.integers(0, n_states - 1), min_size=2, max_size=7, unique=True)))
    action, events = st.integers(0, M - 1), []
    for _ in range(draw(st.integers(3, 25))):
        kind = draw(st.sampled_from(kinds))
        if kind == "observe":
            events.append((kind, draw(state), draw(action), draw(state)))
        elif kind == "allow":
            events.append((kind, draw(state), draw(st.lists(st.booleans(), min_size=M, max_size=M).filter(any))))
        else:
            events.append((kind, draw(state)))
    return n_states, events


def follow(agent, events):
    """Let an agent follow a script, except for steps that are not possible."""
    for kind, s, *event in events:
        if kind == "observe":
            a, s_next = event
            if agent.possible_actions(s)[a] and agent.model().theta_hat_row(a, s)[s_next] > 0:
                agent.observe(s, a, s_next)
        elif kind == "end":
            agent.end_episode()
        elif kind == "mark":
            agent.mark_terminal(np.array([s]))
        elif kind == "unmark":
            agent.unmark_terminal(s)
        else:
            agent.allow(s, np.array(event[0]))


def is_represented(agent):
    """Whether one state represents all that were never met."""
    return isinstance(agent, CompiledAgent) and len(agent.memory.listed.states) > 0


def states_to_ask(n_states, events):
    """Return the states of a script, and some that it does not name."""
    return sorted({s for event in events for s in event[1:2]} | {0, n_states // 2, n_states - 1})


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("kind", PRIORS)
@settings(max_examples=12, deadline=None)
@given(script=scripts(), horizon=st.sampled_from([None, None, 3, 6]))
def test_kernels_and_numpy_agree(kind, strategy, script, horizon):
    n_states, events = script
    model = InternalModel(PRIORS[kind](n_states))
    agents = [make_agent(model, get_strategy(strategy), None, engine) for engine in ("compiled", "numpy")]
    for agent in agents:
        if horizon is not None:
            agent.set_horizon(horizon)
        follow(agent, events)
    assert is_represented(agents[0]) and agents[0].memory.listed.n[0] < 12
    for s in states_to_ask(n_states, events):
        if s not in agents[0].terminal:
            values = [agent.action_values(s) for agent in agents]
            np.testing.assert_allclose(values[0], values[1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(agents[0].utility(), agents[1].utility(), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize(
    "strategy", ["PIG(greedy)", "PEIG(greedy)", "PEIG(greedy, untried=0.5)", "PIG(Q)", "Unembodied"]
)
@settings(max_examples=12, deadline=None)
@given(script=scripts())
def test_refits_reach_the_utilities_of_states_that_were_never_met(strategy, script):
    n_states, events = script
    model = InternalModel(PRIORS["learned"](n_states))
    agents = [make_agent(model, get_strategy(strategy), None, engine) for engine in ("compiled", "numpy")]
    for begin in range(0, len(events), 8):  # the utilities are read between refits
        for agent in agents:
            follow(agent, events[begin : begin + 8])
        for s in () if agents[0].strategy.relocates else states_to_ask(n_states, events):
            values = [agent.action_values(s) for agent in agents]
            np.testing.assert_allclose(values[0], values[1], rtol=1e-9, atol=1e-12)
    assert agents[0].prior.alpha == pytest.approx(agents[1].prior.alpha)
    np.testing.assert_allclose(agents[0].utility(), agents[1].utility(), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("strategy", ["PIG(VI)", "PIG(greedy)", "PEIG(VI)", "PIG(Q)", "LTA", "Unembodied"])
def test_a_learned_concentration_is_used_wherever_episodes_begin(strategy):
    """Episodes begin in states that were never met, after refits; the measures are those of all rows."""
    rng, n = np.random.default_rng(2), 90
    theta = rng.dirichlet(np.full(n, 0.05), (M, n))
    possible = rng.random((M, n)) < 0.8
    possible[0] |= ~possible.any(axis=0)
    world = World(theta, PRIORS["learned"](n), terminal=[3, 60], possible=possible, horizon=4)
    one, other = (explore(world, strategy, n_steps=150, seed=1, engine=engine) for engine in ("compiled", "numpy"))
    assert np.array_equal(one.states, other.states) and np.array_equal(one.actions, other.actions)
    for name in ("missing_information", "l1_distance", "learned"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9)


@pytest.mark.parametrize("strategy", ["PIG(VI)", "PEIG(greedy)", "PIG(Q)"])
def test_a_refit_does_not_visit_states_that_were_never_met(strategy):
    prior = Dirichlet("ml", n_states=5_000, n_actions=M, schedule=Refit(always=40))
    agent = make_agent(InternalModel(prior), get_strategy(strategy), None, "compiled")
    agent.allow(8, np.array([True, False]))
    for t in range(40):
        agent.observe(t % 10, 0, (t * t) % 7)
        agent.action_values((t + 1) % 10)
    renewed = agent.belief.renewed
    assert renewed[-1] > 5 and np.count_nonzero(renewed) < 14 and agent.belief.tried[-1] == 10


def by_backward_induction(theta_hat, utility, method):
    """Return Q of the first of D + 1 decisions, `[a, s]`."""
    v, q = utility.max(axis=0), utility
    for _ in range(method.steps_back):
        q = utility + method.gamma * np.einsum("ast,t->as", theta_hat, v)
        v = q.max(axis=0)
    return q


@pytest.mark.parametrize("alpha", [1e-3, 0.2, 3.0])
@settings(max_examples=15, deadline=None)
@given(script=scripts(kinds=("observe",)), depth=st.integers(0, 12), gamma=st.sampled_from([0.0, 0.8, 1.0]))
def test_plans_are_those_of_backward_induction(alpha, script, depth, gamma):
    n_states, events = script
    method = ValueIteration(depth, gamma)
    agent = CompiledAgent(
        InternalModel(Dirichlet(alpha, n_states=n_states, n_actions=M)), Strategy("any", method, "PIG")
    )
    counts = np.zeros((M, n_states, n_states))
    for _, s, a, s_next in events:
        agent.observe(s, a, s_next)
        counts[a, s, s_next] += 1
    theta_hat = (counts + alpha) / (counts.sum(axis=-1, keepdims=True) + alpha * n_states)
    q = by_backward_induction(theta_hat, agent.utility(), method)
    for s in states_to_ask(n_states, events):
        np.testing.assert_allclose(agent.action_values(s), q[:, s], rtol=1e-9, atol=1e-12)


def ring(n_states, n_used, prior):
    """Return a ring of `n_used` states with noisy steps, and other states, which lead to it and are never reached."""
    s, a = np.divmod(np.arange(M * n_states), M)
    towards = np.where(a == 0, 1, -1)
    ahead = np.where(s < n_used, (s + towards) % n_used, s % n_used)
    back = np.where(s < n_used, (s - towards) % n_used, (s + 1) % n_used)
    row, s_next = np.tile(np.arange(M * n_states), 2), np.concatenate([ahead, back])
    p = np.repeat([0.8, 0.2], M * n_states)
    return World(Rows.from_entries(M, n_states, row, s_next, p), prior, start=0)


@pytest.mark.filterwarnings("ignore:.*cannot be reached")
@pytest.mark.parametrize("strategy", [*STRATEGIES, "PIG(VI, temperature=0.05)", "PLC(VI, lapse=0.2)"])
@pytest.mark.parametrize("kind", ["alpha 1", "alpha 1 / N", "learned"])
def test_explorations_are_the_same(kind, strategy):
    world = ring(90, 12, PRIORS[kind](90))
    fast, plain = (explore(world, strategy, n_steps=150, seed=5, engine=engine) for engine in ("compiled", "numpy"))
    for path in ("states", "actions", "next_states"):
        assert np.array_equal(getattr(fast, path), getattr(plain, path)), path
    for curve in ("missing_information", "l1_distance"):
        assert getattr(fast, curve) == pytest.approx(getattr(plain, curve), rel=1e-9), curve


@pytest.mark.filterwarnings("ignore:.*cannot be reached")
def test_only_states_that_were_met_are_computed():
    n_states = 20_000
    world = ring(n_states, 30, Dirichlet(1.0 / n_states, n_states=n_states, n_actions=M))
    agent = make_agent(InternalModel(world.prior), get_strategy("PIG(VI)"), world, "compiled")
    s = 0
    for t in range(80):
        s_next = world.sample(t % 2, s, 0.5)
        agent.observe(s, t % 2, s_next)
        s = s_next
    values = agent.action_values(s)
    listed = agent.memory.listed
    assert set(listed.states[: listed.n[0]].tolist()) == set(np.flatnonzero(agent.choice_state.visits[:-1]).tolist())
    agent.memory.values.reshape(n_states, -1)[40:] = np.nan  # of states that were never met, and represent nobody
    assert np.array_equal(agent.action_values(s), values) and np.all(np.isfinite(values))


@pytest.mark.parametrize("prior", ["alpha 1", "learned"])
def test_an_explorer_from_a_file_has_the_same_values(prior, tmp_path):
    explorer = Explorer(PRIORS[prior](60), "PIG(VI)")
    explorer.observe_many([(3, 0, 50), (50, 1, 7), (3, 1, 7), (7, 0, 7)])  # nothing leads to state 3
    explorer.save(tmp_path / "explorer.npz")
    loaded = Explorer.load(tmp_path / "explorer.npz")
    for s in (3, 7, 50, 20):
        assert loaded.action_values(s) == pytest.approx(explorer.action_values(s), rel=1e-12)


def test_states_with_many_outcomes_get_more_slots():
    model = InternalModel(Dirichlet(0.1, n_states=120, n_actions=M))
    agents = [make_agent(model, get_strategy("PIG(VI)"), None, engine) for engine in ("compiled", "numpy")]
    for s_next in range(40, 100):
        for agent in agents:
            agent.observe(5, 0, s_next)
    for s in (5, 60, 110):
        assert agents[0].action_values(s) == pytest.approx(agents[1].action_values(s), rel=1e-9)
