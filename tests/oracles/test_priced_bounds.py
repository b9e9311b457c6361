"""Bounds by prices against the linear program, exhaustive search, and episodes followed step by step."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from berlyne import Dirichlet, World, double_chain_kaufmann, river_swim
from berlyne.bounds import fluid
from berlyne.bounds.flow import flow_equations
from berlyne.bounds.fluid import FluidBound
from berlyne.bounds.learning import parts_of
from berlyne.bounds.prices import PricedProgram, RowValues
from berlyne.engine.episodes import episode_values, episode_visits
from oracles.best_explorer import smallest_loss
from oracles.test_bounds import WORLDS, random_world

CUT = ("three states, cut after two steps", "terminal and cut")


@pytest.fixture
def priced(monkeypatch):
    """Let all bounds of worlds with a horizon be computed by prices."""
    monkeypatch.setattr("berlyne.bounds.flow.MAX_VISITS", 0)


def a_world():
    """A world with noise, a terminal state, a forbidden action, two starts and a horizon."""
    possible = np.ones((2, 4), dtype=bool)
    possible[1, 1] = False
    return random_world(11, 4, start={0: 0.7, 1: 0.3}, terminal=[3], possible=possible, horizon=5)


def program(world, n_steps=30):
    return PricedProgram(world, parts_of(world, "missing information", "adaptive", n_steps), n_steps)


def value_by_recursion(world, reward, restart, temperature):
    """Value of an episode by recursion over states and steps; `reward` [a, s]."""

    @cache
    def value(s, left):
        if left == 0 or s in world.terminal:
            return restart
        allowed = [a for a in range(world.n_actions) if world.possible[a, s]]
        options = [0.0]
        for a in allowed:
            after = [value(z, left - 1) for z in range(world.n_states)]
            options.append(reward[a, s] + float(world.theta[a, s] @ after))
        if temperature == 0.0:
            return max(options)
        return temperature * float(np.log(np.sum(np.exp(np.array(options) / temperature))))

    return sum(p * value(s, world.horizon) for s, p in enumerate(world.episodes.distribution))


@pytest.mark.parametrize("temperature", [0.0, 0.05, 1.0])
def test_values_of_an_episode_by_recursion(temperature):
    world, rng = a_world(), np.random.default_rng(0)
    model = program(world)
    for restart in (0.0, 0.8):
        reward = rng.normal(size=(2, 4))
        value = episode_values(
            model._graph, np.ascontiguousarray(reward.T).ravel(), restart, temperature, model._levels
        )
        assert value == pytest.approx(value_by_recursion(world, reward, restart, temperature))


@pytest.mark.parametrize("temperature", [0.0, 0.2])
def test_visits_are_the_derivatives_of_the_value(temperature):
    """Also the probability of the end, by `restart`, and the number of steps, by a reward of all rows."""
    world, reward, restart, small = a_world(), np.random.default_rng(3).normal(size=8), 0.6, 1e-6
    model = program(world)

    def value(reward, restart):
        return episode_values(model._graph, reward, restart, temperature, model._levels)

    value(reward, restart)
    visits = np.empty(8)
    ended, n_steps = episode_visits(model._graph, reward, temperature, model._levels, visits)
    slopes = [
        (value(reward + small * e, restart) - value(reward - small * e, restart)) / (2 * small) for e in np.eye(8)
    ]
    assert visits == pytest.approx(slopes, abs=1e-6) and n_steps == pytest.approx(visits.sum()) and n_steps > 0.5
    assert ended == pytest.approx((value(reward, restart + small) - value(reward, restart - small)) / (2 * small))


@pytest.mark.parametrize(("make", "n_steps"), [
    (lambda: double_chain_kaufmann(9, alpha=1 / 9).with_horizon(6), 120),
    (lambda: river_swim(alpha=1 / 6).with_horizon(8), 100),
    (a_world, 40),
])  # fmt: skip
def test_prices_give_nearly_the_value_of_the_linear_program(make, n_steps, monkeypatch):
    world = make()
    exact = fluid(world, n_steps)
    monkeypatch.setattr("berlyne.bounds.flow.MAX_VISITS", 0)
    proved = fluid(world, n_steps)
    assert exact.gap == 0.0 and 0.0 <= proved.gap < 0.02
    assert (1 - 0.02) * exact.value < proved.value <= exact.value * (1 + 1e-4)
    assert 0.9 * exact.area < proved.area <= exact.area * 1.02
    assert proved.visits.sum() == pytest.approx(n_steps, rel=0.02) and proved.visits.sum() <= n_steps * (1 + 1e-9)
    assert proved.visits[~world.possible].sum() == 0.0


@pytest.mark.parametrize("loss", ["missing information", "l1"])
@pytest.mark.parametrize("name", CUT)
def test_no_explorer_stays_below_the_bound_by_prices(name, loss, priced):
    world, n_steps = WORLDS[name]()
    bound = fluid(world, n_steps, loss)
    best = [smallest_loss(world, t, loss) for t in range(n_steps + 1)]
    assert isinstance(bound._program, PricedProgram)
    assert 0.2 * best[-1] < bound.value <= best[-1] + 1e-9
    assert np.all(bound.curve <= np.array(best) + 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_any_prices_are_proved(seed, priced):
    """Random prices give a lower bound, too, at all numbers of steps; usually a bad one."""
    world = WORLDS["terminal and cut"]()[0]
    model, rng = program(world, 5), np.random.default_rng(seed)
    z = np.append(rng.uniform(-4.0, 0.5, size=len(model._counted)), 0.0)
    model._eta = 0.1
    for n_steps in (3, 5):
        value, eta = model.prove(z, n_steps)
        assert value <= smallest_loss(world, n_steps) + 1e-9
        assert value + eta * (n_steps - 2) <= smallest_loss(world, 2) + 1e-9  # the tangent


@pytest.mark.parametrize("n_steps", [7, 40])
def test_the_bound_of_given_prices_is_that_of_linear_programming(n_steps):
    """The most that visits can be worth, from the flow equations and HiGHS."""
    world = a_world()
    model, flow = program(world, 40), flow_equations(world, 40)
    prices = np.random.default_rng(2).uniform(0.05, 1.0, size=len(model._counted))
    by_row = np.zeros(8)
    by_row[model._counted] = prices
    worth = np.zeros(flow.matrix.shape[1])
    worth[: len(flow.row)] = by_row[flow.row]
    most = -linprog(-worth, A_eq=flow.matrix, b_eq=flow.at_start + n_steps * flow.per_step, method="highs").fun
    z = np.append(np.log(prices), -1.0)
    model._eta = 0.1
    assert model.prove(z, n_steps)[0] == pytest.approx(model.values.total(z[:-1]) - most, abs=1e-4 * most)


def test_a_price_of_a_step_that_is_too_small_is_raised(monkeypatch):
    """F <= u is checked, whatever Newton's method returns."""
    model = program(WORLDS["terminal and cut"]()[0], 5)
    z, found = np.append(np.full(len(model._counted), -1.0), 0.0), model.episode
    model._eta = 0.1
    value, eta = model.prove(z, 5)
    monkeypatch.setattr(model, "episode", lambda *a: found(*a)._replace(eta=0.5 * found(*a).eta))
    assert model.prove(z, 5)[1] >= eta * (1 - 1e-6) and model.prove(z, 5)[0] <= value + 1e-9


def test_the_gradient_is_that_of_the_objective():
    model = program(a_world())
    z = np.append(np.random.default_rng(1).uniform(-4.0, 0.0, size=len(model._counted)), -1.0)
    model._eta = 0.1
    _, gradient = model.objective(z, 30, 0.05)
    for i, step in enumerate(1e-5 * np.eye(len(z))):
        slope = (model.objective(z + step, 30, 0.05)[0] - model.objective(z - step, 30, 0.05)[0]) / 2e-5
        assert gradient[i] == pytest.approx(slope, rel=1e-3, abs=1e-5)


def test_values_between_prices_are_not_too_large():
    parts = parts_of(a_world(), "missing information", "adaptive", 30)
    values = RowValues(parts, np.arange(len(parts)))
    for log_price, row in product((-5.0, -2.3, -0.4), range(len(parts))):
        alone = RowValues([parts[row]], np.array([0]))
        exact = sum(part.value(float(np.exp(log_price))) for part in parts[row])
        assert 0.98 * exact <= alone.total(np.array([log_price])) <= exact + 1e-12
        assert alone.smooth(np.array([log_price]))[0][0] == pytest.approx(exact, abs=0.03)
    total = values.total(np.full(len(parts), -2.3))
    assert total == pytest.approx(sum(sum(part.value(np.exp(-2.3)) for part in row) for row in parts), rel=0.01)


def test_visits_of_a_solution_satisfy_the_flow_equations(priced):
    """Every state is left as often as it is entered, on average, except where the exploration stops, once."""
    world = random_world(5, 4, start=0, horizon=4)
    bound = fluid(world, 60)
    x, theta = bound.visits, world.theta
    arrivals = np.einsum("as,asz->z", x, theta)
    episodes = 60 / 4
    lost = arrivals.sum() + episodes - x.sum()  # cuts and the last stop: arrivals that are not followed by a look
    assert x.sum() == pytest.approx(60, rel=0.02) and lost == pytest.approx(episodes, abs=1.0)
    assert x[:, 0].sum() >= episodes - 1.0


def test_small_programs_are_solved_by_highs_and_large_ones_by_prices():
    world = double_chain_kaufmann(alpha=1 / 31)
    assert not isinstance(fluid(world.with_horizon(20), 100)._program, PricedProgram)
    assert isinstance(fluid(world.with_horizon(60), 100)._program, PricedProgram)
    assert not isinstance(fluid(world.with_horizon(60), 50)._program, PricedProgram)  # no episode is cut
    assert "gap" in FluidBound.__doc__


def test_a_deterministic_world_by_hand(priced):
    """Two states, one action: the explorer has no choice, so visits are known."""
    theta = np.array([[[0.0, 1.0], [1.0, 0.0]]])
    world = World(theta, Dirichlet(1.0, n_states=2, n_actions=1), start=0, horizon=3)
    expected = np.log2((2 + 8) / (1 + 8)) + np.log2((2 + 4) / (1 + 4))  # 4 episodes of two looks and one look
    assert 0.97 * expected < fluid(world, 12).value <= expected  # the last of few episodes may stop where it likes
