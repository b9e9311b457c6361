"""Unknown states that are discovered: beliefs, measures, undo, and errors."""

from __future__ import annotations

import numpy as np
import pytest

import berlyne
from berlyne import ChineseRestaurant, Dirichlet, Explorer, InternalModel, LabBook, World, explore
from berlyne.agents.compiled_agent import CompiledAgent
from berlyne.agents.numpy_agent import NumpyAgent
from berlyne.strategies.registry import get_strategy

TESTED_STRATEGIES = ["PIG(VI)", "PIG(greedy)", "PEIG(VI)", "PLC(VI)", "PIG(Q)", "CB", "LTA", "Random"]


@pytest.mark.parametrize("strategy", [*TESTED_STRATEGIES, "parameter_gain(greedy)", "PMC(greedy)"])
@pytest.mark.parametrize("d", [0.0, 0.3])
def test_kernels_and_plain_numpy_agree(strategy, d):
    prior, rng, s = ChineseRestaurant(1.3, d, n_actions=3, n_states=7), np.random.default_rng(0), 0
    plain = NumpyAgent(InternalModel(prior), get_strategy(strategy))
    agent = plain if strategy.startswith("PMC") else CompiledAgent(InternalModel(prior), get_strategy(strategy))
    for _ in range(150):
        u, s_next = rng.random(2), int(rng.integers(6))
        a = agent.act(s, u)
        assert plain.act(s, u) == a
        for one in {id(agent): agent, id(plain): plain}.values():
            one.observe(s, a, s_next)
        assert agent.utility() == pytest.approx(plain.utility(), abs=1e-12)
        s = s_next
    assert plain.utility() == pytest.approx(_utility(strategy, prior, plain), abs=1e-12)


def _utility(strategy, prior, agent):
    name = strategy.partition("(")[0]
    model = InternalModel.from_counts(prior, agent.counts(), {})
    known = {"PIG": berlyne.pig, "PLC": berlyne.plc, "PMC": berlyne.pmc, "parameter_gain": berlyne.parameter_gain}
    values = known[name](model) if name in known else agent.utility()
    if name == "parameter_gain":
        values[:, -1] = agent.utility()[:, -1]  # nothing is said to be missing elsewhere
    return values


def by_hand(world, prior, states, actions, outcomes):
    """Missing information after a path, from the definition: dense, all rows, elsewhere spread evenly."""
    n, m, curve = world.n_states, world.n_actions, []
    for s in np.concatenate([[states[0]], np.stack([states[:-1], outcomes], axis=1).ravel()]).tolist():
        if s not in curve:
            curve.append(s)
    counts = np.zeros((m, n, n))
    np.add.at(counts, (actions, states[:-1], outcomes), 1)
    total, apart = 0.0, 0.0
    for a in range(m):
        for s in range(n):
            row, n_seen = counts[a, s], np.count_nonzero(counts[a, s])
            unseen = (prior.c + prior.d * n_seen) / (len(curve) + 1 - n_seen)
            theta_hat = np.where(row > 0, row - prior.d, unseen)
            hidden = [z for z in range(n) if z not in curve]
            theta_hat[hidden] = unseen / max(len(hidden), 1)
            theta_hat = theta_hat / (prior.c + row.sum())
            theta = world.theta[a, s]
            total += np.sum(theta[theta > 0] * np.log2(theta[theta > 0] / theta_hat[theta > 0]))
            apart += np.abs(theta - theta_hat).sum() + (0.0 if hidden else unseen / (prior.c + row.sum()))
    return total, apart


@pytest.mark.parametrize("strategy", ["PIG(VI)", "PEIG(Q)", "Unembodied"])
@pytest.mark.parametrize("d", [0.0, 0.25])
def test_missing_information_is_that_of_the_definition(strategy, d):
    prior = ChineseRestaurant(0.8, d)
    world = berlyne.maze(1, side=3, n_transporters=4).with_prior(prior)
    run = explore(world, strategy, n_steps=60, seed=2, snapshots=[10])
    for t in (0, 1, 5, 20, 60):
        path = run.states[: t + 1], run.actions[:t], run.next_states[:t]
        missing, l1 = by_hand(world, prior, *path)
        assert run.missing_information[t] == pytest.approx(missing, abs=1e-9)
        assert run.l1_distance[t] == pytest.approx(l1, abs=1e-9)
    assert run.snapshots[10].n.sum() == 10
    dense = run.snapshots[10].dense()
    assert dense[run.actions[3], run.states[3], run.next_states[3]] > 0


@pytest.mark.parametrize("strategy", TESTED_STRATEGIES)
def test_an_explorer_of_labels_repeats_an_exploration_of_numbers(strategy):
    world = berlyne.dense_world(2).with_prior(ChineseRestaurant(1.0))
    run = explore(world, strategy, n_steps=80, seed=7)
    explorer = Explorer(ChineseRestaurant(1.0), strategy, seed=7, n_actions=4)
    explorer.discover([f"room {run.states[0]}"])
    for s, a, s_next in zip(run.states, run.actions, run.next_states, strict=False):
        assert explorer.act(f"room {s}") == a
        explorer.observe(f"room {s}", a, f"room {s_next}")
    assert explorer.n_states == len(set(run.states.tolist())) == len(run.model.states) - 1
    assert explorer.model.states[-1] == run.model.states[-1] == "elsewhere"
    assert np.array_equal(explorer.model.counts, run.model.counts)
    assert [f"room {s}" for s in run.model.states[:-1]] == list(explorer.states)


def test_states_appear_and_all_rows_are_valued_again():
    prior = ChineseRestaurant(1.0)
    explorer = Explorer(prior, "PIG(greedy)", n_actions=2)
    assert explorer.n_states == 0 and explorer.act("anywhere") in (0, 1)
    assert explorer.n_states == 0  # asking discovers nothing
    explorer.observe("a", 0, "b")
    worth = explorer.utility()
    assert worth.shape == (2, 3)
    explorer.observe("b", 1, "c")
    assert explorer.states == ["a", "b", "c"] and explorer.utility().shape == (2, 4)
    assert np.all(explorer.utility()[:, 0] > worth[:, 0])  # there is one cell more that they may lead to
    model = InternalModel(prior.sized(4, 2))
    model.observe_many([(0, 0, 1), (1, 1, 2)])
    assert explorer.utility() == pytest.approx(berlyne.pig(model), abs=1e-12)


def test_expected_missing_information_does_not_depend_on_undiscovered_states():
    """More undiscovered states in the world do not change the expected missing information."""
    remaining = []
    for n in (6, 60):
        theta = np.zeros((1, n, n))
        theta[0, np.arange(n), (np.arange(n) + 1) % 5] = 1.0
        with pytest.warns(UserWarning, match="cannot be reached from its start"):
            run = explore(World(theta, ChineseRestaurant(1.0), start=0), "Random", n_steps=30)
        remaining.append(run.model.expected_missing_information().bits)
    assert remaining[0] == remaining[1] > 0


@pytest.mark.parametrize("strategy", ["PIG(VI)", "PEIG(Q)"])
def test_undoing_forgets_states_too(strategy):
    explorer = Explorer(ChineseRestaurant(0.5, 0.2), strategy, seed=1, n_actions=2, states=["start"])
    history = [("start", 0, "b"), ("b", 1, "c"), ("c", 0, "start"), ("start", 1, "d")]
    answers = []
    for line in history:
        answers.append(explorer.act(line[0]))
        explorer.observe(*line)
    explorer.undo(3)
    assert explorer.states == ["start", "b"] and explorer.history == history[:1]
    for line, answer in zip(history[1:], answers[1:], strict=True):
        assert explorer.act(line[0]) == answer
        explorer.observe(*line)
    explorer.undo(4)
    assert explorer.states == ["start"]


def test_a_lab_book_keeps_an_explorer_that_grows(tmp_path, monkeypatch):
    (tmp_path / "growlab.py").write_text("import berlyne\nprior = berlyne.ChineseRestaurant(1.0, n_actions=2)\n")
    monkeypatch.chdir(tmp_path)
    book = LabBook.new("lab", "growlab:prior", seed=3)
    book.tell("a", 0, "b")
    book.tell("b", 1, "a")
    assert LabBook("lab").ask("b") == book.ask("b") and LabBook("lab").explorer.states == ["a", "b"]


def test_episodes_end_in_discovered_states():
    theta = np.zeros((2, 4, 4))
    theta[0, np.arange(4), (np.arange(4) + 1) % 4] = theta[1, :, 0] = 1.0
    world = World(theta, ChineseRestaurant(1.0), start=0, terminal=[3])
    run = explore(world, "PIG(VI)", n_steps=80, seed=1)
    assert 3 in run.next_states and 3 not in run.states[:-1]
    explorer = Explorer(ChineseRestaurant(1.0), n_actions=2)
    explorer.observe("a", 0, "goal", ended=True)
    assert not explorer.utility()[:, 1].any() and explorer.utility()[:, 0].all()


def test_invalid_arguments_for_unknown_states_are_refused():
    prior = ChineseRestaurant(1.0)
    with pytest.raises(ValueError, match="but its states are unknown"):
        explore(berlyne.maze(0).with_prior(prior), "PIG(VI+)", n_steps=3)
    with pytest.raises(ValueError, match=r"n_states is 5; .* discovers its states, so leave it out"):
        Explorer(prior, n_states=5, n_actions=2)
    own_method = berlyne.Strategy("always 0", lambda view, s, u: 0)
    with pytest.raises(ValueError, match="has a part that cannot be compiled; use engine='numpy' or 'auto'"):
        explore(berlyne.maze(0).with_prior(prior), own_method, n_steps=3, engine="compiled")
    with pytest.raises(ValueError, match="does not define the number of actions"):
        Explorer(prior)
    explorer = Explorer(prior, n_actions=2)
    with pytest.raises(ValueError, match="which is not hashable; use a string or a tuple"):
        explorer.observe([1], 0, 2)
    with pytest.raises(ValueError, match="a is 7"):
        explorer.observe("x", 7, "y")
    assert explorer.n_states == 0
    with pytest.raises(ValueError, match="is not equal to itself, like NaN; use another"):
        explorer.observe(float("nan"), 0, 2)
    for bad in (("b", 5, "c"), (["b"], 0, "c"), (float("nan"), 0, "b")):
        with pytest.raises(ValueError, match=r"line 1 of .*(from 0 to 1|not hashable|is not equal to itself)"):
            explorer.observe_many([("a", 0, "b"), bad])
    assert explorer.n_states == 0 and explorer.n_obs == 0  # nothing is learned if anything is wrong
    with pytest.raises(ValueError, match="set the start state"):
        explorer.expected_gain(3)
    with pytest.raises(ValueError, match="there is nothing to discover"):
        Explorer(berlyne.Dirichlet(1.0, n_states=2, n_actions=1)).discover([0])


@pytest.mark.parametrize("engine", ["auto", "numpy"])
def test_a_prior_with_a_number_of_cells_explores_nothing(engine):
    """Its last cell is no state: it was taken for one, and what was missing came out as 0, or as no number."""
    prior = ChineseRestaurant(1.0, n_actions=4, n_states=36)
    with pytest.raises(
        ValueError,
        match=r"^ChineseRestaurant\(c=1, 36 cells\) has a fixed number of cells.*create the prior without n_states",
    ):
        berlyne.explore(berlyne.maze(9).with_prior(prior), "PIG(VI)", 10, engine=engine)
    with pytest.raises(ValueError, match="to discover states, create the prior without n_states"):
        Explorer(prior)
    with pytest.raises(ValueError, match="to discover states, create the prior without n_states"):
        berlyne.replay(prior, [(0, 0, 1)], "Random")


@pytest.mark.parametrize("c", [0.7, "ml"])
def test_a_model_of_discovered_states_measures_itself_as_the_run_did(c):
    """Run and model divide elsewhere among the undiscovered states."""
    run = explore(berlyne.maze(2).with_prior(ChineseRestaurant(c, 0.2)), "PIG(VI)", n_steps=60, seed=1)
    for t in (0, 7, 60):
        model = run.model_at(t)
        assert model.missing_information(run.world) == pytest.approx(run.missing_information[t], abs=1e-9)
        assert model.missing_information_by_row(run.world).sum() == pytest.approx(run.missing_information[t], abs=1e-9)
        assert model.l1_distance(run.world) == pytest.approx(run.l1_distance[t], abs=1e-9)


class Even:
    """A prior of a user's own that grows: Dir(0.5) over the states that were found, and elsewhere."""

    grows = True

    def sized(self, n_states, n_actions):
        return Dirichlet(0.5, n_states=n_states, n_actions=n_actions)


@pytest.mark.parametrize("engine", ["auto", "numpy"])
def test_a_custom_prior_may_grow(engine):
    world = World(np.roll(np.eye(4), 1, axis=1)[None], name="ring").with_prior(Even())  # 0, 1, 2, 3, 0, ...
    run = explore(world, "PIG(VI)", n_steps=2, seed=0, start=1, engine=engine)
    assert run.next_states.tolist() == [2, 3]
    # At first one state is found: half for it, and a sixth for each other. Then three are, and elsewhere is one state.
    assert run.missing_information[0] == pytest.approx(1 + 3 * np.log2(6))
    assert run.missing_information[-1] == pytest.approx(2 * np.log2(3 / 1.5) + 2 * np.log2(4))
    explorer = Explorer(Even(), n_actions=1)
    explorer.observe("a", 0, "b")
    assert explorer.model.theta_hat_row(0, "a").tolist() == pytest.approx([0.5 / 2.5, 1.5 / 2.5, 0.5 / 2.5])
    rows = explorer.expected_missing_information().rows
    assert rows[0, :2].all() and rows[0, 2] == 0.0  # nothing is known to be missing elsewhere


def test_a_prior_that_grows_needs_its_methods():
    class Grows:
        grows = True

    with pytest.raises(
        ValueError, match=r"has the attribute grows, so it must have a method sized\(n_states, n_actions\)"
    ):
        Explorer(Grows(), n_actions=2)
