"""Agents agree on terminal states, forbidden actions and the starts of episodes, in random histories (Hypothesis)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from berlyne import ChineseRestaurant, Dirichlet, InternalModel, OneTwoThree
from berlyne.agents.make import make_agent, make_open_state_agent
from berlyne.strategies.registry import get_strategy

N, M = 6, 3
STRATEGIES = (
    "PIG(VI)", "PIG(VI, after_end=stop)", "PEIG(VI, steps_back=3)", "PIG(Q)", "PIG(greedy, lapse=0.3)", "LTA", "CB",
    "Random", "Unembodied", "PIG(hopeful VI, steps_back=6)", "parameter_gain(VI, temperature=0.5, lapse=0.1)",
)  # fmt: skip
PRIORS = {
    "full": Dirichlet(0.5, n_states=N, n_actions=M),
    "support": Dirichlet(0.5, np.random.default_rng(1).random((M, N, N)) < 0.6),
    "learned": Dirichlet("ml", n_states=N, n_actions=M),
    "1-2-3": OneTwoThree(N, M),
    "open": ChineseRestaurant(0.8),
}


@st.composite
def scripts(draw):
    """A list of events: an observation, an end, a state that is marked or unmarked, or a new mask of a state."""
    events, state = [], st.integers(0, N - 1)
    for _ in range(draw(st.integers(4, 25))):
        kind = draw(st.sampled_from(["observe"] * 5 + ["end", "mark", "unmark", "allow"]))
        if kind == "observe":
            events.append((kind, draw(state), draw(st.integers(0, M - 1)), draw(state), draw(st.booleans())))
        elif kind == "allow":
            events.append((kind, draw(state), draw(st.lists(st.booleans(), min_size=M, max_size=M).filter(any))))
        else:
            events.append((kind, draw(state)))
    return events


def make(kind, strategy, engine):
    prior = PRIORS[kind]
    if kind == "open":
        agent = make_open_state_agent(prior, M, strategy, engine)
        for s in range(N):
            agent.discover(s)
        return agent
    return make_agent(InternalModel(prior), strategy, None, engine)


def follow(agent, events, steps=None):
    """Let an agent follow a script, except for steps that are not possible; return the state it is in.

    The steps are added to `steps`, if it is given.
    """
    here, steps = 0, [] if steps is None else steps
    for kind, *event in events:
        if kind == "observe":
            s, a, s_next, jumps = event
            s = s if jumps else here
            row = agent.model().theta_hat_row(a, s)
            s_next = int(np.argsort(row)[-1 - s_next % np.count_nonzero(row > 0)])
            if agent.possible_actions(s)[a] and s_next < N:
                agent.observe(s, a, s_next)
                steps.append((s, a, s_next))
                here = s_next
        elif kind == "end":
            agent.end_episode()
        elif kind == "mark":
            agent.mark_terminal(np.array(event))
        elif kind == "unmark":
            agent.unmark_terminal(event[0])
        else:
            agent.allow(event[0], np.array(event[1]))
    return here


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("kind", PRIORS)
@settings(max_examples=8, deadline=None)
@given(events=scripts())
def test_kernels_and_numpy_agree(kind, strategy, events):
    strategy = get_strategy(strategy)
    agents = [make(kind, strategy, engine) for engine in ("compiled", "numpy")]
    states = [follow(agent, events) for agent in agents]
    assert states[0] == states[1] and agents[0].terminal == agents[1].terminal
    open_states = [s for s in range(N) if s not in agents[0].terminal]
    one, other = ([agent.utility(), agent.expected_missing()] for agent in agents)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    if strategy.relocates:
        if open_states:
            np.testing.assert_allclose(agents[0].pair_probabilities(), agents[1].pair_probabilities(), atol=1e-12)
        return
    for s in open_states:
        values = [agent.action_values(s) for agent in agents]
        np.testing.assert_allclose(values[0], values[1], rtol=1e-9, atol=1e-12)
        assert np.array_equal(values[0] == -np.inf, ~agents[0].possible_actions(s))
        for u in (np.array([0.3, 0.05]), np.array([0.9, 0.99])):
            assert agents[0].possible_actions(s)[agents[0].act(s, u)]
            if np.ptp(np.sort(values[0][np.isfinite(values[0])])[-2:]) != 0:  # not on the brink of a tie
                assert agents[0].act(s, u) == agents[1].act(s, u) or strategy.temperature


@pytest.mark.parametrize("kind", PRIORS)
@settings(max_examples=6, deadline=None)
@given(events=scripts())
def test_a_mask_changes_no_utility(kind, events):
    """Once everything is possible again, an agent is as if nothing had ever been marked or forbidden."""
    strategy = get_strategy("PIG(VI)")
    for engine in ("compiled", "numpy"):
        steps: list[tuple[int, int, int]] = []
        marked, free = make(kind, strategy, engine), make(kind, strategy, engine)
        here = follow(marked, events, steps)
        for s in range(N):
            marked.unmark_terminal(s)
            marked.allow(s, np.ones(M, dtype=bool))
        for step in steps:
            free.observe(*step)
        np.testing.assert_allclose(marked.utility(), free.utility(), rtol=1e-12)
        np.testing.assert_allclose(marked.action_values(here), free.action_values(here), rtol=1e-9)
