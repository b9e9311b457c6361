"""Explorations with a prior that is refitted, against a plain loop with SciPy: parameters, measures and choices.

The loop shares no code with the package. It follows the path of a run, and computes the concentration in force by
maximising the Dirichlet-multinomial likelihood whenever the schedule says so.
"""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

import berlyne
from berlyne import Dirichlet, Refit, World, explore


def corridor(n=5):
    """Action 0 steps right, action 1 stays or slips left, action 2 jumps; the right end is terminal."""
    theta = np.zeros((3, n, n))
    for s in range(n):
        theta[0, s, min(s + 1, n - 1)] = 1.0
        theta[1, s, s] += 0.5
        theta[1, s, max(s - 1, 0)] += 0.5
        theta[2, s] = np.arange(1.0, n + 1) / np.arange(1.0, n + 1).sum()
    return World(theta, Dirichlet(1.0, n_states=n, n_actions=3), start={0: 0.5, 2: 0.5}, terminal=[n - 1])


WORLDS = {
    "dense": lambda: berlyne.dense_world(3, n_states=6, n_actions=3, alpha=0.4),
    "maze": lambda: berlyne.maze(3, side=3, n_transporters=2),
    "with a terminal state": corridor,
}
WIDE = (1e-3, 1e3)
SCHEDULES = [Refit(200, 0.0, 1e-3), Refit(10, 0.1), Refit(0, 1.0), Refit(3, 0.0, 0.05), Refit(7, 0.4, 0.02)]


def possible_transitions(world):
    possible = np.zeros(world.theta.shape, dtype=bool)
    for a, s in np.ndindex(*possible.shape[:2]):
        possible[a, s, world.prior.support.row(a, s)] = True
    return possible


def log_likelihood(alpha, counts, possible):
    size, n = possible.sum(axis=-1), counts.sum(axis=-1)
    by_row = gammaln(size * alpha) - gammaln(size * alpha + n)
    return by_row.sum() + (gammaln(alpha + counts) - gammaln(alpha))[possible].sum()


def most_likely(counts, possible, alpha, bounds):
    if not np.any((possible.sum(axis=-1) > 1) & (counts.sum(axis=-1) > 1)):
        return alpha  # every concentration is equally likely
    grid = np.linspace(*np.log(bounds), 61)
    best = int(np.argmax([log_likelihood(np.exp(x), counts, possible) for x in grid]))
    around = grid[max(best - 1, 0)], grid[min(best + 1, 60)]
    found = minimize_scalar(
        lambda x: -log_likelihood(np.exp(x), counts, possible),
        bounds=around,
        method="bounded",
        options={"xatol": 1e-11},
    )
    return max([np.exp(found.x), *bounds], key=lambda alpha: log_likelihood(alpha, counts, possible))


def divergence(p, q):
    return float(np.sum(p[p > 0] * np.log2(p[p > 0] / q[p > 0])))


def pig(c):
    """Expected divergence of the estimate after one more outcome from the estimate now, for pseudo-counts `c`."""
    p = c / c.sum()
    return sum(p[i] * divergence((c + np.eye(len(c))[i]) / (c.sum() + 1), p) for i in np.flatnonzero(c))


def peig(c, last):
    """Divergence of the estimate now from that before the last outcome; PIG of a row that was never tried."""
    if last < 0:
        return pig(c)
    before = c - np.eye(len(c))[last]
    return divergence(c / c.sum(), before / before.sum())


def concentrations(run, start, schedule, bounds=WIDE):
    """The concentration in force before the first and after every step."""
    world, alpha, n_last, alphas = run.world, start, 0, [start]
    counts, possible = np.zeros(world.theta.shape), possible_transitions(world)
    for t in range(run.n_steps):
        counts[run.actions[t], run.states[t], run.next_states[t]] += 1
        n = t + 1
        if n <= schedule.always or n - n_last >= schedule.growth * n_last:
            n_last, best = n, most_likely(counts, possible, alpha, bounds)
            if n <= schedule.always or abs(best - alpha) > schedule.tolerance * alpha:
                alpha = best
        alphas.append(alpha)
    return np.array(alphas)


@pytest.mark.pairwise
@pytest.mark.parametrize("engine", ["compiled", "numpy"])
@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
@pytest.mark.parametrize("name", WORLDS)
def test_the_concentration_in_force_is_the_most_likely_one_at_the_last_refit(name, schedule, engine):
    world, start = WORLDS[name](), 2.0
    prior = Dirichlet("ml", world.prior.support, start=start, bounds=WIDE, schedule=schedule)
    run = explore(world.with_prior(prior), "PIG(VI)", n_steps=230, seed=5, engine=engine)
    expected = concentrations(run, start, schedule)
    assert run.learned == pytest.approx(expected, rel=2e-6)
    assert len(np.unique(run.learned)) > (4 if schedule.growth == 1.0 else 8)


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
@pytest.mark.parametrize("strategy", ["PIG(greedy)", "PEIG(greedy)"])
@pytest.mark.parametrize("name", WORLDS)
def test_measures_and_choices_follow_from_the_counts_and_the_concentration(name, strategy, engine):
    world, schedule = WORLDS[name](), Refit(60, 0.2)
    prior = Dirichlet("ml", world.prior.support, start=5.0, bounds=WIDE, schedule=schedule)
    run = explore(world.with_prior(prior), strategy, n_steps=120, seed=2, engine=engine)
    theta, possible = world.theta, possible_transitions(world)
    going_on = np.setdiff1d(np.arange(world.n_states), world.terminal)
    counts, last = np.zeros(theta.shape), np.full(theta.shape[:2], -1)
    n_decided = 0
    for t in range(run.n_steps + 1):
        c = (run.learned[t] + counts) * possible
        theta_hat = c / c.sum(axis=-1, keepdims=True)
        rows = [(a, s) for a in range(world.n_actions) for s in going_on]
        missing = sum(divergence(theta[row], theta_hat[row]) for row in rows)
        assert run.missing_information[t] == pytest.approx(missing, rel=1e-9, abs=1e-9)
        assert run.l1_distance[t] == pytest.approx(np.abs(theta - theta_hat)[:, going_on].sum(), rel=1e-9)
        if t == run.n_steps:
            break
        a, s, s_next = int(run.actions[t]), int(run.states[t]), int(run.next_states[t])
        utility = pig if strategy.startswith("PIG") else peig
        arguments = [(c[b, s],) if utility is pig else (c[b, s], last[b, s]) for b in range(world.n_actions)]
        values = np.array([utility(*each) for each in arguments])
        assert values[a] >= values.max() - 1e-9
        n_decided += np.count_nonzero(values >= values.max() - 1e-9) == 1
        counts[a, s, s_next] += 1
        last[a, s] = s_next
    assert n_decided > 30 and len(np.unique(run.learned)) > 20


def test_learning_starts_at_one_over_the_number_of_states():
    for world in (WORLDS["dense"](), corridor()):
        prior = Dirichlet("ml", n_states=world.n_states, n_actions=world.n_actions)
        run = explore(world.with_prior(prior), "Random", n_steps=400, seed=0)
        assert run.learned[0] == 1.0 / world.n_states
        expected = concentrations(run, 1.0 / world.n_states, Refit(10, 0.1), bounds=(1e-3, 1.0))
        assert run.learned == pytest.approx(expected, rel=2e-6)
