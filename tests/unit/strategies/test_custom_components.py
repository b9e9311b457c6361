"""Custom utilities, methods and priors run in the same loop as the built-in ones."""

import numpy as np
import pytest

from berlyne import (
    Dirichlet,
    Explorer,
    InternalModel,
    Strategy,
    World,
    dense_world,
    explore,
    maze,
    missing_information,
    one_two_three_world,
    pig,
)
from berlyne.agents.make import make_agent
from berlyne.agents.numpy_agent import NumpyAgent
from berlyne.strategies.choice import random_argmax
from berlyne.strategies.coordination import Greedy, QLearning, Relocating, ValueIteration
from berlyne.strategies.utilities import UTILITIES, Utility
from parity.cases import CLASSES, uneven

SMALL = {
    "dense": lambda seed: dense_world(seed, n_states=5),
    "maze": lambda seed: maze(seed, side=3, n_transporters=6),
    "1-2-3": lambda seed: one_two_three_world(seed, n_states=8),
    "uneven": lambda seed: uneven(seed, n_states=6),
}


def same_actions(world, mine, theirs, n_steps=150):
    one, other = explore(world, mine, n_steps=n_steps, seed=3), explore(world, theirs, n_steps=n_steps, seed=3)
    assert one.actions.tolist() == other.actions.tolist()
    assert one.next_states.tolist() == other.next_states.tolist()
    assert one.missing_information == pytest.approx(other.missing_information, abs=1e-9)
    assert one.l1_distance == pytest.approx(other.l1_distance, abs=1e-9)


def my_pig(theta_hat, theta_hat_after):
    gain = 0.0
    for p, after in zip(theta_hat, theta_hat_after, strict=True):
        for was, now in zip(theta_hat, after, strict=True):
            if p > 0 and now > 0:
                gain += p * now * np.log2(now / was)
    return gain


def my_greedy(view, s, u):
    worth = view.utility[:, s]
    best = [a for a in range(view.n_actions) if worth[a] > worth.max() - 1e-12]
    return best[int(u[0] * len(best))]


class MyPlanner:
    """Eleven utility terms, state by state."""

    def choose(self, view, s, u):
        v = np.zeros(view.n_states)
        for _ in range(11):
            q = np.array(
                [
                    [view.utility[a, z] + view.theta_hat[a, z] @ v for z in range(view.n_states)]
                    for a in range(view.n_actions)
                ]
            )
            v = q.max(axis=0)
        return random_argmax(q[:, s], u[0])


class MyQ:
    """Q-learning with a dictionary, made in `start` and filled in `learn`."""

    def start(self, view):
        view.memory = {}

    def choose(self, view, s, u):
        if u[1] < 0.2:
            return int(u[0] * view.n_actions)
        return random_argmax(np.array([view.memory.get((s, a), 0.0) for a in range(view.n_actions)]), u[0])

    def learn(self, view, s, a, s_next, reward):
        ahead = max(view.memory.get((s_next, b), 0.0) for b in range(view.n_actions))
        old = view.memory.get((s, a), 0.0)
        view.memory[s, a] = old + 0.5 * (reward + 0.9 * ahead - old)


@pytest.mark.parametrize("kind", SMALL)
def test_a_custom_utility(kind):
    for coordinate in (Greedy(), ValueIteration(), QLearning()):
        theirs = Strategy("theirs", coordinate, "PIG")
        same_actions(SMALL[kind](1), Strategy("mine", coordinate, my_pig), theirs, n_steps=60)
    same_actions(SMALL[kind](1), Strategy("mine", Relocating(), my_pig), "Unembodied", n_steps=60)


@pytest.mark.parametrize("utility", ["PIG", "PEIG", "PMC", "PLC", "parameter_gain"])
@pytest.mark.parametrize("kind", CLASSES)
def test_a_function_as_coordination(kind, utility):
    same_actions(CLASSES[kind](2), Strategy("mine", my_greedy, utility), f"{utility}(greedy)")


@pytest.mark.parametrize("kind", SMALL)
def test_a_custom_planner(kind):
    same_actions(SMALL[kind](2), Strategy("mine", MyPlanner(), "PIG"), "PIG(VI)", n_steps=80)


@pytest.mark.parametrize("utility", ["PIG", "PEIG"])
@pytest.mark.parametrize("kind", CLASSES)
def test_a_custom_learner(kind, utility):
    """The reward of a step is the utility predicted for it, or for PEIG the one realised (reading R7)."""
    same_actions(CLASSES[kind](2), Strategy("mine", MyQ(), utility), f"{utility}(Q)", n_steps=400)


class MyPrior:
    """Nothing but estimates."""

    def __init__(self, alpha, support):
        self.alpha, self.support = alpha, np.asarray(support, dtype=float)

    def estimate(self, counts):
        c = self.alpha * self.support + counts
        return c / c.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize(
    "name", ["Random", "CB", "PIG(greedy)", "PIG(VI)", "PIG(VI+)", "PEIG(VI)", "PMC(VI)", "PLC(Q)"]
)
def test_a_custom_prior(name):
    theirs = uneven(3, n_states=5)
    support = np.zeros(theirs.theta.shape)
    for a, s in np.ndindex(support.shape[:2]):
        support[a, s, theirs.prior.support.row(a, s)] = 1
    mine = World(theirs.rows, MyPrior(theirs.prior.alpha, support))
    one, other = explore(mine, name, n_steps=50, seed=3), explore(theirs, name, n_steps=50, seed=3)
    assert one.actions.tolist() == other.actions.tolist()
    assert one.missing_information == pytest.approx(other.missing_information, abs=1e-9)
    assert one.model.theta_hat == pytest.approx(other.model.theta_hat, abs=1e-12)


def test_all_custom_components_at_once_and_in_an_explorer():
    world = World(dense_world(1, n_states=4, n_actions=2).rows, MyPrior(1.0, np.ones((2, 4, 4))))
    mine = Strategy("mine", MyPlanner(), my_pig)
    run = explore(world, mine, n_steps=40, seed=6)
    explorer = Explorer(world.prior, mine, seed=6, n_states=4, n_actions=2)
    for s, a, s_next in zip(run.states.tolist(), run.actions.tolist(), run.next_states.tolist(), strict=False):
        assert explorer.act(s) == a
        explorer.observe(s, a, s_next)
    assert np.array_equal(explorer.model.counts, run.model.counts)
    same_actions(world, mine, Strategy("theirs", ValueIteration(), "PIG"), n_steps=40)


class Alternating:
    """Takes turns, and counts them in itself."""

    def __init__(self):
        self.turn = 0

    def choose(self, view, s, u):
        self.turn += 1
        return self.turn % 2


def test_a_method_is_not_copied_and_shares_its_own_state_between_explorations():
    mine = Strategy("mine", Alternating())
    assert explore(maze(0), mine, n_steps=5).actions.tolist() == [1, 0, 1, 0, 1]
    assert mine.coordinate.turn == 5
    assert explore(maze(0), mine, n_steps=5).actions.tolist() == [0, 1, 0, 1, 0]
    assert mine.coordinate.turn == 10


def test_a_method_that_resets_itself_in_start_begins_anew():
    class BeginningAnew(Alternating):
        def start(self, view):
            self.turn = 0

    mine = Strategy("mine", BeginningAnew())
    for _ in range(2):
        assert explore(maze(0), mine, n_steps=5).actions.tolist() == [1, 0, 1, 0, 1]


def test_hooks_are_called_once_and_after_every_observation():
    calls = []

    class Noting:
        def start(self, view):
            calls.append("start")

        def choose(self, view, s, u):
            calls.append(("choose", s))
            assert u.shape == (2,) and np.all((u >= 0) & (u < 1))
            return 0

        def learn(self, view, s, a, s_next, reward):
            calls.append(("learn", s, a, s_next))
            assert view.counts[a, s, s_next] > 0

    run = explore(maze(0), Strategy("mine", Noting(), "PIG"), n_steps=2)
    s = run.states.tolist()
    assert calls == ["start", ("choose", s[0]), ("learn", s[0], 0, s[1]), ("choose", s[1]), ("learn", s[1], 0, s[2])]


def test_visits_count_the_states_occupied():
    seen = []

    def noting(view, s, u):
        seen.append(view.visits.copy())
        return int(u[0] * view.n_actions)

    run = explore(maze(0), Strategy("mine", noting), n_steps=30)
    for t, visits in enumerate(seen):
        assert visits.tolist() == np.bincount(run.states[: t + 1], minlength=36).tolist()


@pytest.mark.parametrize("wrong", [-1, 4, 100])
def test_actions_that_do_not_exist_are_refused(wrong):
    with pytest.raises(ValueError, match=rf"^mine chose action {wrong}; actions are numbered 0 to 3$"):
        explore(maze(0), Strategy("mine", lambda view, s, u: wrong), n_steps=1)


def test_an_estimate_of_the_wrong_shape_is_refused():
    class Broken:
        n_states, n_actions = 5, 4

        def estimate(self, counts):
            return np.ones(3)

    with pytest.raises(ValueError, match=r"^the prior's estimate has shape \(3,\); it must be \(4, 5, 5\)$"):
        World(dense_world(0, n_states=5).rows, Broken())


def test_a_subclass_that_changes_a_dirichlet_is_a_custom_prior():
    """Only berlyne's very own priors are compiled: a subclass may estimate otherwise."""

    class Doubting(Dirichlet):
        def row_estimate(self, counts, a, s):
            return np.full(self.n_states, 1.0 / self.n_states)

    world = dense_world(0)
    doubting = World(world.rows, Doubting(1.0, n_states=10, n_actions=4))
    run = explore(doubting, "Random", n_steps=20)
    assert np.ptp(run.missing_information) < 1e-9
    with pytest.raises(ValueError, match="has a part that cannot be compiled"):
        explore(doubting, "Random", engine="compiled")


class Alike:
    """All actions of a state do the same, so an outcome of one tells of the others."""

    def estimate(self, counts):
        together = counts.sum(axis=0) + 1.0
        return np.repeat((together / together.sum(axis=-1, keepdims=True))[None], len(counts), axis=0)


class SaysSo(Alike):
    rows_are_independent = False


class Lies(Alike):
    rows_are_independent = True


class LateToTell(Alike):
    """Rows seem independent until something was observed: what one imagines first tells nothing."""

    def estimate(self, counts):
        if counts.sum() < 5:
            each = counts + 1.0
            return each / each.sum(axis=-1, keepdims=True)
        return super().estimate(counts)


@pytest.mark.parametrize("prior", [Alike(), SaysSo(), LateToTell()], ids=lambda prior: type(prior).__name__)
@pytest.mark.parametrize("name", ["Random", "PIG(VI)", "PLC(greedy)"])
def test_rows_that_depend_on_each_other_are_all_measured_and_valued_again(prior, name):
    theta = np.repeat(np.random.default_rng(3).dirichlet(np.ones(4), size=(1, 4)), 3, axis=0)
    run = explore(World(theta, prior), name, n_steps=60, seed=1, snapshots=[20, 60])
    for t in (20, 60):
        theta_hat = prior.estimate(run.snapshots[t].dense())
        assert run.missing_information[t] == pytest.approx(missing_information(theta, theta_hat), abs=1e-9)
        assert run.l1_distance[t] == pytest.approx(np.abs(theta - theta_hat).sum())


def test_utilities_of_dependent_rows_imagine_one_outcome_at_a_time():
    model = InternalModel(Alike(), n_states=3, n_actions=2)
    model.observe_many([(0, 0, 1), (1, 1, 2)])
    for a, s in np.ndindex(2, 3):
        gain = 0.0
        for s_star in range(3):
            after = model.counts
            after[a, s, s_star] += 1
            p, q = Alike().estimate(after)[a, s], model.theta_hat[a, s]
            gain += q[s_star] * np.sum(p * np.log2(p / q))
        assert pig(model)[a, s] == pytest.approx(gain)


def test_an_explorer_of_dependent_rows_values_them_all_again():
    explorer = Explorer(Alike(), "PIG(greedy)", n_states=3, n_actions=2)
    explorer.observe(0, 0, 1)
    assert explorer.utility() == pytest.approx(pig(explorer.model))
    assert explorer.utility()[1, 0] == pytest.approx(explorer.utility()[0, 0])


def test_a_prior_declared_independent_is_treated_as_independent():
    always_zero = Strategy("zero", lambda view, s, u: 0)
    with pytest.raises(
        ValueError, match=r"changed the estimate of action 1 in state \d, although Lies\.rows_are_independent is true"
    ):
        explore(World(np.full((2, 3, 3), 1 / 3), Lies()), always_zero, n_steps=5)


@pytest.mark.parametrize("make", [dense_world, maze, one_two_three_world])
def test_a_utility_without_a_closed_form_runs_in_numpy_and_never_as_another(make, monkeypatch):
    """One that is in the table, but that the prior does not know."""
    monkeypatch.setitem(
        UTILITIES, "ours", Utility("ours", lambda model: 1.0 / (1.0 + model.counts.sum(axis=-1)), "rare")
    )
    world, strategy = make(0), Strategy("ours(greedy)", Greedy(), "ours")
    assert isinstance(make_agent(InternalModel(world.prior), strategy, world), NumpyAgent)
    with pytest.raises(ValueError, match="has a part that cannot be compiled; use engine='numpy' or 'auto'"):
        explore(world, strategy, n_steps=1, engine="compiled")


class Skewed(Dirichlet):
    """Inherits all closed forms, and estimates otherwise."""

    def estimate(self, counts):
        weights = counts + np.arange(1.0, counts.shape[-1] + 1)
        return weights / weights.sum(axis=-1, keepdims=True)


def test_a_subclass_with_another_estimate_uses_that_estimate():
    prior = Skewed(1.0, n_states=3, n_actions=1)
    explorer = Explorer(prior, "PIG(greedy)")
    explorer.observe(0, 0, 1)
    assert explorer.model.theta_hat_row(0, 0).tolist() == pytest.approx([1 / 7, 3 / 7, 3 / 7])
    now, gain = np.array([1, 3, 3]) / 7, 0.0
    for s_star in range(3):
        after = (np.array([1, 3, 3]) + np.eye(3)[s_star]) / 8
        gain += now[s_star] * np.sum(after * np.log2(after / now))
    assert explorer.utility()[0, 0] == pytest.approx(gain)


class Jumps:
    """Decides for itself where to go."""

    relocates = True

    def __init__(self, pair):
        self.pair = pair

    def choose_pair(self, view, u):
        return self.pair


class Stuck:
    relocates = True

    def choose(self, view, s, u):
        return 0


def test_a_method_that_relocates_needs_pairs():
    world = World(np.full((2, 3, 3), 1 / 3), Dirichlet(1.0, n_states=3, n_actions=2))
    run = explore(world, Strategy("jumps", Jumps((2, 1))), n_steps=3)
    assert run.states[:-1].tolist() == [2, 2, 2] and run.actions.tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="it relocates, so it must have a method pair_values or choose_pair"):
        Strategy("stuck", Stuck())
    for pair in ((99, 0), (0, 2), (0.5, 0)):
        with pytest.raises(ValueError, match=r"^jumps chose the pair .*; there is no such state and action"):
            explore(world, Strategy("jumps", Jumps(pair)), n_steps=1)


@pytest.mark.parametrize("name", ["expected_missing_information", "missing_information_variance"])
def test_values_of_rows_of_a_prior_must_be_one_number_each(name):
    prior = Skewed(1.0, n_states=3, n_actions=2)
    setattr(prior, name, lambda counts: np.zeros(3))
    message = r"that Skewed returns has shape \(3,\); it must be \(2, 3\), one number for each"
    with pytest.raises(ValueError, match=message):
        InternalModel(prior).expected_missing_information()
