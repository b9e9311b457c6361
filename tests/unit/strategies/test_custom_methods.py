"""Custom methods that return values, and custom utilities that take counts."""

import inspect
from functools import partial

import numpy as np
import pytest

from berlyne import Dirichlet, Explorer, InternalModel, Strategy, dense_world, explore, maze
from berlyne.strategies.coordination import Greedy, QLearning, Relocating, ValueIteration
from berlyne.strategies.registry import get_strategy
from berlyne.strategies.utilities import as_row_function, evaluate_rows
from messages import raises
from parity.cases import uneven

PRIOR = Dirichlet(1.0, n_states=4, n_actions=3)


class MyGreedy:
    """Values alone."""

    def values(self, view, s):
        return [view.utility[a, s] for a in range(view.n_actions)]


class Deciding:
    """Decides by itself, and says with which chances."""

    def choose(self, view, s, u):
        return 0 if u[0] < 0.9 else 2

    def probabilities(self, view, s):
        return [0.9, 0.0, 0.1]


class Both(MyGreedy):
    def choose(self, view, s, u):
        return 1


@pytest.mark.parametrize("more", [{}, {"temperature": 0.2}, {"temperature": 0.2, "lapse": 0.1}, {"ties": "first"}])
def test_values_alone_are_enough(more):
    world = maze(3)
    mine, theirs = Strategy("mine", MyGreedy(), "PIG", **more), get_strategy("PIG(greedy)", **more)
    runs = [explore(world, strategy, n_steps=150, seed=4).actions.tolist() for strategy in (mine, theirs)]
    assert runs[0] == runs[1]
    mine, theirs = (Explorer(world.prior, strategy) for strategy in (mine, theirs))
    for explorer in (mine, theirs):
        explorer.observe(3, 1, int(world.prior.support.row(1, 3)[0]))
    assert mine.action_values(3) == pytest.approx(theirs.action_values(3), abs=1e-12)
    assert mine.probabilities(3) == pytest.approx(theirs.probabilities(3), abs=1e-9)


def test_a_subclass_may_change_only_the_values():
    class Bored(Greedy):
        def values(self, view, s):
            return -super().values(view, s)

    explorer = Explorer(PRIOR, Strategy("bored", Bored(), "PIG"))
    explorer.observe(0, 1, 2)
    assert explorer.probabilities(0).tolist() == [0.0, 1.0, 0.0]  # the action it knows most about
    assert explorer.act(0) == 1


def test_a_method_with_choose():
    explorer = Explorer(PRIOR, Strategy("mine", Deciding()))
    assert explorer.probabilities(0).tolist() == [0.9, 0.0, 0.1]
    assert np.all(np.isnan(explorer.action_values(0))) and explorer.action_values(0).shape == (3,)
    silent = Explorer(PRIOR, Strategy("silent", lambda view, s, u: 0))
    assert np.all(np.isnan(silent.action_values(0)))
    with raises(ValueError, "silent", "probabilities", "values(view, s)"):
        silent.probabilities(0)


def test_a_method_with_both_uses_choose_unless_it_has_a_temperature():
    explorer = Explorer(PRIOR, Strategy("both", Both(), "PIG"))
    explorer.observe(0, 1, 2)
    assert explorer.act(0) == 1 and explorer.action_values(0).argmin() == 1
    with raises(ValueError, "both", "actions"):
        explorer.probabilities(0)
    warm = Explorer(PRIOR, Strategy("both", Both(), "PIG", temperature=0.001))
    warm.observe(0, 1, 2)
    assert warm.probabilities(0)[1] < 0.01 and warm.act(0) != 1


def test_custom_pairs():
    class MyRelocating:
        relocates = True

        def pair_values(self, view):
            return view.utility.T

    class Here(MyRelocating):
        def choose_pair(self, view, u):
            return 2, 1

    world = dense_world(0, n_states=5)
    mine, theirs = Strategy("mine", MyRelocating(), "PIG"), Strategy("theirs", Relocating(), "PIG")
    runs = [explore(world, strategy, n_steps=50, seed=4) for strategy in (mine, theirs)]
    assert runs[0].states.tolist() == runs[1].states.tolist() and runs[0].actions.tolist() == runs[1].actions.tolist()
    assert Explorer(world.prior, mine).probabilities() == pytest.approx(np.full((5, 4), 1 / 20))
    here = Explorer(world.prior, Strategy("here", Here(), "PIG"))
    assert here.choose_pair() == (2, 1)
    with raises(ValueError, "here", "pair_values(view)", "choose_pair"):
        here.probabilities()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, 2.0], ("mine", "(2,)", "(3,)")),
        (
            [1.0, np.nan, 2.0],
            ("mine", "[1.0, nan, 2.0]", "NaN"),
        ),
        (
            [1.0, np.inf, 2.0],
            ("mine", "[1.0, inf, 2.0]", "finite"),
        ),
        (
            [-np.inf] * 3,
            ("mine", "[-inf, -inf, -inf]", "finite"),
        ),
    ],
)
def test_values_that_are_none_are_refused(values, message):
    class Mine:
        def values(self, view, s):
            return values

    with raises(ValueError, *message):
        Explorer(PRIOR, Strategy("mine", Mine())).act(0)


@pytest.mark.parametrize("chances", [[0.5, 0.5], [0.5, 0.6, -0.1], [0.5, 0.4, 0.0], [np.nan, 0.5, 0.5]])
def test_probabilities_that_are_none_are_refused(chances):
    class Mine(Deciding):
        def probabilities(self, view, s):
            return chances

    with raises(ValueError, "mine", "state 0", "3", "1"):
        Explorer(PRIOR, Strategy("mine", Mine())).probabilities(0)


def test_a_custom_log_is_filled():
    class Logging:
        def __init__(self):
            self.log = []

        def values(self, view, s):
            self.log.append(s)
            return view.utility[:, s]

    mine = Strategy("mine", Logging(), "PIG")
    run = explore(maze(0), mine, n_steps=20, seed=1)
    assert mine.coordinate.log == run.states[:-1].tolist()


def bonus(theta_hat, theta_hat_after, counts):
    return 1.0 / np.sqrt(counts.sum() + 1.0)


def bonus_by_name(theta_hat, theta_hat_after, *, counts):
    return bonus(theta_hat, theta_hat_after, counts)


def bonus_by_another_name(theta_hat, theta_hat_after, n):
    return bonus(theta_hat, theta_hat_after, n)


def bonus_with_default(theta_hat, theta_hat_after, scale=1.0, counts=None):
    return scale * bonus(theta_hat, theta_hat_after, counts)


def bonus_by_any_keyword(theta_hat, theta_hat_after, **known):
    return bonus(theta_hat, theta_hat_after, known["counts"])


class Bonus:
    def __call__(self, theta_hat, theta_hat_after, counts):
        return bonus(theta_hat, theta_hat_after, counts)


BONUSES = [
    bonus,
    bonus_by_name,
    bonus_by_another_name,
    bonus_with_default,
    bonus_by_any_keyword,
    Bonus(),
    partial(bonus),
]


@pytest.mark.parametrize("utility", BONUSES)
def test_a_count_bonus(utility):
    """1 / sqrt(n + 1) in closed form from the run's counts, at the end and step by step."""
    world = uneven(2)
    explorer = Explorer(world.prior, Strategy("bonus(VI)", ValueIteration(steps_back=2), utility), seed=0)
    run = explore(world, Strategy("bonus(VI)", ValueIteration(steps_back=2), utility), n_steps=60, seed=0)
    n = np.zeros((world.n_actions, world.n_states))
    for s, a, s_next in zip(run.states[:-1].tolist(), run.actions.tolist(), run.next_states.tolist(), strict=True):
        worth, theta_hat = 1.0 / np.sqrt(n + 1.0), explorer.model.theta_hat
        assert explorer.utility() == pytest.approx(worth)
        q = worth
        for _ in range(2):
            q = worth + theta_hat @ q.max(axis=0)
        assert explorer.action_values(s) == pytest.approx(q[:, s])
        assert explorer.act(s) == a
        explorer.observe(s, a, s_next)
        n[a, s] += 1
    assert n.sum() == 60 and n.max() > 1


def test_counts_are_those_of_the_row_by_outcome():
    model = InternalModel(PRIOR)
    model.observe_many([(0, 1, 2), (0, 1, 2), (3, 0, 1)])
    worth = evaluate_rows(model, lambda theta_hat, after, counts: counts @ np.array([1.0, 10.0, 100.0, 1000.0]))
    assert worth[1, 0] == 200.0 and worth[0, 3] == 10.0 and np.count_nonzero(worth) == 2
    seen = []
    utility = lambda theta_hat, after, counts: (seen.append(counts.tolist()), 1.0)[1]  # noqa: E731  # it is to be short
    explorer = Explorer(PRIOR, Strategy("noting", QLearning(), utility))
    explorer.observe(0, 1, 2)
    assert seen[-1] == [0, 0, 1, 0]


@pytest.mark.parametrize(
    "utility",
    [
        lambda counts: 1.0 / (1.0 + counts.sum()),
        lambda theta_hat: theta_hat.max(),
        lambda counts, theta_hat: counts @ theta_hat,
    ],
    ids=["counts", "estimate", "both"],
)
def test_estimates_after_each_outcome_are_computed_only_if_the_utility_takes_them(utility, monkeypatch):
    def full(theta_hat, theta_hat_after, counts):
        arguments = {"theta_hat": theta_hat, "counts": counts}
        return utility(**{name: arguments[name] for name in inspect.signature(utility).parameters})

    world = dense_world(0, n_states=5)
    expected = explore(world, Strategy("full(VI)", ValueIteration(), full), n_steps=30)
    monkeypatch.setattr(InternalModel, "theta_hat_after", lambda *arguments: pytest.fail("it was not asked for"))
    run = explore(world, Strategy("full(VI)", ValueIteration(), utility), n_steps=30)
    assert np.array_equal(run.actions, expected.actions)
    model = InternalModel(PRIOR)
    model.observe_many([(0, 1, 2), (0, 1, 2), (3, 0, 1)])
    direct = [[float(utility(**{n: {"theta_hat": model.theta_hat, "counts": model.counts}[n][a, s] for n in
              inspect.signature(utility).parameters})) for s in range(4)] for a in range(3)]  # fmt: skip
    assert evaluate_rows(model, utility).tolist() == direct


def test_utilities_that_do_not_ask_are_not_given_counts():
    asked = []
    as_row_function(lambda theta_hat, after, scale=2.0: asked.append(scale) or 0.0)(1, 2, 3)
    as_row_function(lambda *both: asked.append(both) or 0.0)(1, 2, 3)
    as_row_function(lambda *both, **more: asked.append((both, more)) or 0.0)(1, 2, 3)  # as a decorator passes them on
    assert asked == [2.0, (1, 2), ((1, 2), {})]
    assert as_row_function(max)(1, 2, 3) == 2  # written in C, says nothing of its parameters


@pytest.mark.parametrize(
    "wrong", [lambda row: 0.0, lambda a, b, c, d: 0.0, lambda counts, estimate: 0.0, lambda a, b, *, n: 0.0]
)
def test_utilities_that_cannot_be_called_are_refused_at_once(wrong):
    with raises(ValueError, "<lambda>", "theta_hat", "counts", "docs/"):
        Strategy("mine", Greedy(), wrong)
