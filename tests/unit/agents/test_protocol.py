"""One protocol for all agents: signatures, generic methods, copies, state, terminal states, impossible transitions."""

from __future__ import annotations

import ast
import inspect
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import berlyne
from berlyne import ChineseRestaurant, Dirichlet, InternalModel, OneTwoThree, World
from berlyne.agents.base import Agent, KnownStatesAgent
from berlyne.agents.compiled_agent import CompiledAgent
from berlyne.agents.make import make_agent, make_open_state_agent
from berlyne.agents.numpy_agent import NumpyAgent
from berlyne.agents.open_state_agent import OpenStateAgent
from berlyne.engine.records import RunRecord
from berlyne.labels import ImpossibleTransitionError
from berlyne.models.history import TerminalChange
from berlyne.strategies.registry import get_strategy
from messages import raises

AGENTS = (NumpyAgent, CompiledAgent, OpenStateAgent)
KINDS = ("numpy", "compiled", "open numpy", "open compiled")
STRATEGIES = ("PIG(VI)", "PIG(greedy)", "PEIG(Q)", "CB", "LTA", "Random", "Unembodied")
N, M = 5, 2

every_kind = pytest.mark.parametrize("kind", KINDS)
every_strategy = pytest.mark.parametrize("strategy", STRATEGIES)


def make(kind: str, strategy: str, terminal: bool = False, n_discovered: int = N) -> Agent:
    """An agent of N states and M actions; with open states, the first ones are discovered."""
    chosen, engine = get_strategy(strategy), kind.split()[-1]
    if kind.startswith("open"):
        agent: Agent = make_open_state_agent(ChineseRestaurant(1.2, 0.1), M, chosen, engine)
        for s in range(n_discovered):
            agent.discover(s)
    else:
        agent = make_agent(InternalModel(Dirichlet(0.4, n_states=N, n_actions=M)), chosen, None, engine)
    if terminal:
        agent.mark_terminal(np.array([N - 1]))
    return agent


def history(n_steps: int, seed: int = 0, n_states: int = N) -> np.ndarray:
    """A path through the first `n_states` states, as lines s, a, s_next."""
    rng = np.random.default_rng(seed)
    path = rng.integers(n_states, size=n_steps + 1)
    return np.stack([path[:-1], rng.integers(M, size=n_steps), path[1:]], axis=1)


def beliefs(agent: Agent, s: int = 1) -> dict[str, np.ndarray]:
    """Everything that an agent returns."""
    relocates = agent.strategy.relocates
    return {
        "values": agent.pair_values() if relocates else agent.action_values(s),
        "probabilities": agent.pair_probabilities() if relocates else agent.probabilities(s),
        "utility": agent.utility(),
        "missing": agent.expected_missing(),
        "counts": agent.counts().dense(),
        "estimates": agent.model().theta_hat,
        "current state": np.array(agent.current_state),
        "information": np.array(agent.information()),
    }


def assert_equal(one: dict[str, np.ndarray], other: dict[str, np.ndarray], tolerance: float = 0.0) -> None:
    for name, values in one.items():
        np.testing.assert_allclose(values, other[name], rtol=0.0, atol=tolerance, err_msg=name)


PUBLIC = sorted(name for name, value in vars(Agent).items() if not name.startswith("_") and callable(value))


def test_the_protocol_lists_its_methods():
    expected = {
        "action_values",
        "probabilities",
        "choose",
        "observe",
        "run",
        "replay",
        "imagine",
        "copy",
        "mark_terminal",
    }
    assert expected | {"state_dict", "load_state"} <= set(PUBLIC)


@pytest.mark.parametrize("kind", [KnownStatesAgent, *AGENTS])
def test_every_agent_has_the_signatures_of_the_protocol(kind):
    for name in PUBLIC:
        own, protocol = inspect.signature(getattr(kind, name)), inspect.signature(getattr(Agent, name))
        assert list(own.parameters) == list(protocol.parameters), name
        for ours, expected in zip(own.parameters.values(), protocol.parameters.values(), strict=True):
            assert (ours.kind, ours.annotation) == (expected.kind, expected.annotation), name
            assert ours.default is expected.default, name
        assert own.return_annotation == protocol.return_annotation or protocol.return_annotation == "Self", name


def test_no_code_asks_for_the_class_of_an_agent():
    classes, asked = {kind.__name__ for kind in (Agent, KnownStatesAgent, *AGENTS)}, []
    for path in Path(berlyne.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass", "cast"):
                named = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
                asked += [f"{path.name}: {ast.unparse(node)}"] if named & classes else []
    assert asked == []


@every_strategy
@pytest.mark.parametrize("kind", ["", "open "])
@pytest.mark.parametrize("terminal", [False, True])
def test_kernels_and_numpy_agree_after_the_same_history(kind, strategy, terminal):
    agents = [make(f"{kind}{engine}", strategy, terminal) for engine in ("numpy", "compiled")]
    for s, a, s_next in history(80, n_states=N - 1).tolist():
        for agent in agents:
            agent.observe(s, a, s_next)
        assert_equal(*(beliefs(agent, s_next) for agent in agents), tolerance=1e-12)
    assert agents[0].counts().n.sum() == 80


@pytest.mark.parametrize("strategy", ["PIG(VI)", "PLC(greedy)", "LTA"])
@pytest.mark.parametrize("engine", ["numpy", "compiled"])
def test_an_agent_that_discovered_all_states_agrees_with_one_that_knows_its_cells(engine, strategy):
    prior, of_class = ChineseRestaurant(1.2, 0.1), NumpyAgent if engine == "numpy" else CompiledAgent
    known = of_class(InternalModel(prior.sized(N + 1, M)), get_strategy(strategy))
    opened = make(f"open {engine}", strategy)
    for s, a, s_next in history(60).tolist():
        known.observe(s, a, s_next)
        opened.observe(s, a, s_next)
        assert known.action_values(s_next) == pytest.approx(opened.action_values(s_next), abs=1e-12)
        assert known.utility() == pytest.approx(opened.utility(), abs=1e-12)
    assert known.model().theta_hat == pytest.approx(opened.model().theta_hat, abs=1e-12)


@every_kind
def test_states_and_actions_are_known_or_discovered(kind):
    agent = make(kind, "PIG(VI)")
    assert (agent.n_states, agent.n_actions, list(agent.discovered)) == (N, M, list(range(N)))
    assert [agent.position(s) for s in range(N)] == list(range(N)) and not agent.discover(N - 1)
    assert agent.discovers_states == kind.startswith("open") and agent.current_state == -1
    if agent.discovers_states:
        assert agent.position(77) == N and agent.discover(77) and not agent.discover(77)
        assert agent.position(77) == N and agent.n_states == N + 1


WORLD = World(
    np.random.default_rng(5).dirichlet(np.full(N, 0.6), size=(M, N)), start={0: 0.5, 1: 0.5}, terminal=[N - 1]
)


@every_kind
@every_strategy
def test_a_run_of_the_protocol_is_the_run_of_every_agent(kind, strategy):
    """Kernels and incremental measures give the same path and, within rounding, the same measures."""
    rng, n_steps = np.random.default_rng(1), 70
    draws = rng.random((n_steps, 2)), rng.random(n_steps), rng.random(n_steps)
    prior = ChineseRestaurant(1.2, 0.1) if kind.startswith("open") else Dirichlet(0.4, n_states=N, n_actions=M)
    world, (agent, generic) = WORLD.with_prior(prior), (make(kind, strategy, True, 1) for _ in range(2))
    generic._measurement = partial(Agent._measurement, generic)  # measures every row again after every step
    record, expected = (RunRecord.allocate(n_steps, 0, *agent.measures(world)) for _ in range(2))
    assert agent.run(world, record, *draws) == Agent.run(generic, world, expected, *draws) == n_steps
    for name in ("states", "actions", "outcomes"):
        assert np.array_equal(getattr(record, name), getattr(expected, name))
    assert N - 1 in record.outcomes and N - 1 not in record.states
    assert record.missing == pytest.approx(expected.missing, abs=1e-9) and record.missing[-1] < record.missing[0]
    assert record.l1 == pytest.approx(expected.l1, abs=1e-9)


@every_kind
@every_strategy
def test_a_replay_of_the_protocol_is_the_replay_of_every_agent(kind, strategy):
    steps = history(50)
    steps[:30][steps[:30] == N - 1] = 0
    first = int(np.flatnonzero(steps[:, 0] == N - 1)[0])  # an action is tried in a terminal state
    ends = [TerminalChange(10, N - 1, True), TerminalChange(first, N - 1, False)]
    generic, agent = make(kind, strategy, False, 2), make(kind, strategy, False, 2)
    generic._missing_after = partial(Agent._missing_after, generic)
    generic._replay_segment = partial(Agent._replay_segment, generic)
    (expected, n_expected), (record, n_learned) = Agent.replay(generic, steps, ends), agent.replay(steps, ends)
    assert n_expected == n_learned == len(steps)
    for name in ("values", "utility", "probabilities", "missing"):
        assert getattr(record, name) == pytest.approx(getattr(expected, name), abs=1e-9), name
    assert_equal(beliefs(generic), beliefs(agent), tolerance=1e-12)


@every_strategy
def test_kernels_choose_as_the_protocol_does(strategy):
    agent, rng = make("compiled", strategy), np.random.default_rng(2)
    for s, a, s_next in history(40).tolist():
        u = rng.random(2)
        if agent.strategy.relocates:
            assert agent.choose(s, u) == agent.choose_pair(u) == Agent.choose_pair(agent, u)
        else:
            assert agent.choose(s, u) == (s, agent.act(s, u)) == (s, Agent.act(agent, s, u))
        agent.observe(s, a, s_next)


@every_kind
@every_strategy
def test_a_copy_is_independent(kind, strategy):
    agent = make(kind, strategy)
    for step in history(15, n_states=N - 1).tolist():
        agent.observe(*step)
    before, clone = beliefs(agent), agent.copy()
    assert type(clone) is type(agent)
    assert_equal(beliefs(clone), before)
    clone.mark_terminal(np.array([N - 1]))
    for step in history(15, seed=1).tolist():
        clone.observe(*step)
    clone.discover(N)
    assert_equal(beliefs(agent), before)
    assert agent.terminal == set() and agent.n_states == N
    changed = beliefs(clone)
    agent.mark_terminal(np.array([0]))
    agent.observe(1, 0, 1)
    assert_equal(beliefs(clone), changed)
    assert clone.terminal == {N - 1}


@every_kind
@every_strategy
def test_imagining_in_a_copy_learns_there_only(kind, strategy):
    agent, rng = make(kind, strategy, terminal=True), np.random.default_rng(3)
    for step in history(15, n_states=N - 1).tolist():
        agent.observe(*step)
    before, clone = beliefs(agent), agent.copy()
    clone.imagine(1, rng.random((30, 2)), rng.random(30), rng.random(30))
    assert_equal(beliefs(agent), before)
    imagined = clone.counts().n.sum() - agent.counts().n.sum()
    assert imagined == 30
    tried = {row // M for row in clone.counts().row.tolist()}
    assert clone.position(N - 1) not in tried  # episodes end there
    if not strategy.startswith("Random"):
        assert clone.information() != agent.information()


@pytest.mark.parametrize("kind", ["numpy", "compiled"])
def test_information_is_minus_the_expected_missing_information(kind):
    agent = make(kind, "PIG(greedy)", terminal=True)
    for step in history(15, n_states=N - 1).tolist():
        agent.observe(*step)
    assert agent.information() == pytest.approx(-agent.expected_missing().sum(), abs=1e-9)
    assert not agent.expected_missing()[:, N - 1].any() and agent.expected_missing()[:, : N - 1].all()


@pytest.mark.parametrize("kind", ["open numpy", "open compiled"])
def test_information_of_open_states_is_the_pig_of_imagined_steps(kind):
    agent = make(kind, "PIG(greedy)")
    agent.observe(0, 0, 1)
    best, clone = agent.utility()[:, 1].max(), agent.copy()
    clone.imagine(1, np.full((1, 2), 0.3), np.array([0.999]), np.zeros(1))  # elsewhere
    assert agent.information() == 0.0
    assert clone.information() == pytest.approx(best, abs=1e-12)
    assert clone.n_states == agent.n_states + 1


@every_kind
@pytest.mark.parametrize("strategy", ["PIG(VI)", "PIG(Q)", "CB", "Unembodied"])
def test_a_loaded_state_goes_on_as_the_saved_one(kind, strategy):
    agent, other, last = make(kind, strategy), make(kind, strategy), {}
    assert agent.has_state_dict == (kind == "compiled")
    if not agent.has_state_dict:
        with raises(NotImplementedError, "state_dict"):
            agent.state_dict()
        with raises(NotImplementedError, "state_dict"):
            agent.load_state({}, np.empty((0, 2), dtype=np.int64))
        return
    for s, a, s_next in history(40).tolist():
        agent.observe(s, a, s_next)
        last[s * M + a] = s_next
    other.load_state(agent.state_dict(), np.array(list(last.items())))
    assert_equal(beliefs(other), beliefs(agent), tolerance=1e-12)
    for step in history(40, seed=1).tolist():
        agent.observe(*step)
        other.observe(*step)
        assert_equal(beliefs(other, step[2]), beliefs(agent, step[2]), tolerance=1e-12)


@every_kind
@every_strategy
def test_terminal_states_are_marked_and_unmarked(kind, strategy):
    agent = make(kind, strategy)
    for step in history(20, n_states=N - 2).tolist():
        agent.observe(*step)
    before, marked = beliefs(agent), [N - 2, N - 1]
    agent.mark_terminal(np.array(marked))
    assert agent.terminal == set(marked)
    assert not agent.utility()[:, marked].any() and not agent.expected_missing()[:, marked].any()
    if agent.strategy.relocates:
        assert not agent.pair_probabilities()[marked].any() and np.all(agent.pair_values()[marked] == -np.inf)
    agent.unmark_terminal(N - 1)
    assert agent.terminal == {N - 2} and not agent.utility()[:, N - 2].any()
    assert np.array_equal(agent.utility()[:, N - 1], before["utility"][:, N - 1])
    agent.unmark_terminal(N - 2)
    assert agent.terminal == set()
    assert_equal(beliefs(agent), before)


@pytest.mark.parametrize("kind", ["numpy", "compiled"])
def test_an_impossible_transition_stops_runs_and_replays(kind):
    """In a 1-2-3 World an action with one target leads from a state always to the same one."""

    def new():
        return make_agent(InternalModel(OneTwoThree(3, 1)), get_strategy("Random"), None, kind)

    agent = new()
    agent.observe(0, 0, 1)
    before = beliefs(agent)
    with raises(ImpossibleTransitionError, "action 0", "state 0", "state 2"):
        agent.observe(0, 0, 2)
    assert_equal(beliefs(agent), before)
    assert new().replay(np.array([[0, 0, 1], [1, 0, 1], [1, 0, 2], [2, 0, 1]]))[1] == 2
    theta = np.zeros((1, 3, 3))
    theta[0, :, 1:] = 0.5
    record, u_world = RunRecord.allocate(4, 0, 1.0, 1.0), np.array([0.0, 0.0, 0.9, 0.0])
    world = World(theta, Dirichlet(1.0, n_states=3, n_actions=1))
    object.__setattr__(world, "prior", OneTwoThree(3, 1))  # World refuses a prior that excludes its transitions
    assert new().run(world, record, np.zeros((4, 2)), u_world) == 2
    assert record.outcomes[:2].tolist() == [1, 1]


def test_agents_of_many_parameters_do_not_fill_the_memory():
    """A fit tries thousands of parameters with one prior; each is the first of its kind."""
    from berlyne.engine.agent_state import MAX_TEMPLATES
    from berlyne.engine.caches import cache_for_prior

    prior = berlyne.maze(5, side=3, n_transporters=4).prior
    explorers = [
        berlyne.Explorer(prior, berlyne.strategy("PIG(VI)", temperature=0.01 * (i + 1)), seed=0)
        for i in range(MAX_TEMPLATES + 5)
    ]
    assert len(cache_for_prior(prior)["agents"]) == MAX_TEMPLATES
    first, again = explorers[0], berlyne.Explorer(prior, explorers[0].strategy, seed=0)
    assert first.probabilities(0).tolist() == again.probabilities(0).tolist()
