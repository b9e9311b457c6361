"""Where plans go on after an end: the states in which episodes began, in explorers, files, undo and replays."""

import numpy as np
import pytest

import berlyne
from berlyne import Dirichlet, Explorer, World

N, M, END = 5, 2, 4
LINES = [
    (0, 0, 1, False),
    (1, 1, 4, True),
    (0, 1, 2, False),
    (2, 0, 2, False),
    (3, 0, 4, True),
    (3, 1, 0, True),
    (0, 0, 3, False),
]
"""Episodes begin in 0 at first, in 0 after an end, in 3 by a jump, in 3 after an end, and in 0 after an end in 0."""
STARTS = np.array([3, 0, 0, 2, 0]) / 5


def told(lines=LINES, strategy="PIG(VI)"):
    explorer = Explorer(Dirichlet(0.4, n_states=N, n_actions=M), strategy)
    for s, a, s_next, ended in lines:
        explorer.observe(s, a, s_next, ended=ended)
    return explorer


def plan(explorer, starts, steps_back=10):
    """Return Q[a, s] by value iteration over the explorer's estimates and the PIG of its rows."""
    model = explorer.model
    utility, theta_hat = berlyne.pig(model), model.theta_hat
    q = utility
    for _ in range(steps_back):
        best = q.max(axis=0)
        best[END] = best @ starts if starts is not None else 0.0
        q = utility + theta_hat @ best
    return q


def test_plans_go_on_where_episodes_began():
    """Asked in state 3, to which the last step led, the explorer has seen five episodes begin."""
    explorer = told()
    assert explorer.action_values(3) == pytest.approx(plan(explorer, STARTS)[:, 3], rel=1e-9)
    stopping = told(strategy="PIG(VI, after_end=stop)")
    assert stopping.action_values(3) == pytest.approx(plan(stopping, None)[:, 3], rel=1e-9)


def test_an_episode_that_a_question_assumes_is_counted_for_that_question_only():
    explorer = told()
    elsewhere = (5 * STARTS + np.eye(N)[1]) / 6  # it would begin in state 1
    for _ in range(2):
        assert explorer.action_values(1) == pytest.approx(plan(explorer, elsewhere)[:, 1], rel=1e-9)
        assert explorer.action_values(3) == pytest.approx(plan(explorer, STARTS)[:, 3], rel=1e-9)


def test_before_any_reset_episodes_begin_in_the_first_state():
    explorer = told([])
    explorer.ends_in([END])
    assert explorer.action_values(2) == pytest.approx(plan(explorer, np.eye(N)[2])[:, 2], rel=1e-9)


@pytest.mark.parametrize("change", ["saved", "undone", "observed at once"])
def test_starts_survive(change, tmp_path):
    explorer = told()
    if change == "saved":
        explorer.save(tmp_path / "explorer.npz")
        explorer = Explorer.load(tmp_path / "explorer.npz")
    elif change == "undone":
        explorer.observe(1, 0, 2)
        explorer.observe(2, 0, 4, ended=True)
        explorer.undo(2)
    else:
        history, explorer = explorer.history, told([])
        explorer.observe_many(history)
    for s in (0, 1, 3):
        assert np.array_equal(explorer.action_values(s), told().action_values(s))


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
def test_replays_count_the_same_starts(engine):
    replayed = berlyne.replay(told().prior, told().history, engine=engine)
    for t, (s, _, _, _) in enumerate(LINES):
        expected = told(LINES[:t]).action_values(s)
        assert replayed.action_values[t].to_numpy() == pytest.approx(expected, rel=1e-9)


def test_a_world_tells_its_start_distribution():
    theta = np.random.default_rng(0).dirichlet(np.ones(N), size=(M, N))
    p = np.array([0.1, 0.6, 0.0, 0.3, 0.0])
    world = World(theta, Dirichlet(0.4, n_states=N, n_actions=M), start=p, terminal=[END])
    run = berlyne.explore(world, "PIG(VI)", 40, seed=3)
    replayed = berlyne.replay(world, run)
    for t in (0, 7, 39):
        explorer = told([])
        explorer.ends_in([END])
        for s, a, s_next in run.history[:t]:
            explorer.observe(s, a, s_next)
        expected = plan(explorer, p)[:, run.states[t]]
        assert replayed.action_values[t].to_numpy() == pytest.approx(expected, rel=1e-9)
        assert run.actions[t] in np.flatnonzero(expected >= expected.max() - 1e-9)
