"""The prior of worlds that nobody described: its concentration is learned, and stays sensible with few observations."""

import gymnasium
import numpy as np
import pytest
from click.testing import CliRunner

import berlyne
from berlyne import Dirichlet, Explorer, LabBook, Refit
from berlyne.commands.lab import lab
from berlyne.priors.dirichlet import default_bounds
from berlyne.worlds import BENCHMARKS


def check_default(prior, n_states):
    assert isinstance(prior, Dirichlet) and prior.support.is_full
    assert prior.schedule == Refit(always=10, growth=0.1, tolerance=0.0)
    assert prior.alpha == pytest.approx(1 / n_states) and prior.bounds == (min(1e-3, 0.1 / n_states), 1.0)


def test_every_entry_point_learns_the_concentration_unless_it_is_set(tmp_path):
    for make in BENCHMARKS.values():
        world = make()
        check_default(world.prior, world.n_states)
        assert make(alpha=0.5).prior.alpha == 0.5 and make(alpha=0.5).prior.schedule is None
    check_default(berlyne.from_gymnasium("FrozenLake-v1").prior, 16)
    assert berlyne.from_gymnasium("FrozenLake-v1", alpha=0.3).prior.alpha == 0.3
    check_default(berlyne.explore_env("FrozenLake-v1", n_steps=0).explorer.prior, 16)
    assert berlyne.explore_env("FrozenLake-v1", n_steps=0, alpha=0.3).explorer.prior.alpha == 0.3
    check_default(LabBook.new(tmp_path / "a.lab", states=list("xyz"), n_actions=2).explorer.prior, 3)
    check_default(LabBook(tmp_path / "a.lab").explorer.prior, 3)
    assert LabBook.new(tmp_path / "b.lab", states=list("xyz"), n_actions=2, alpha=0.3).explorer.prior.alpha == 0.3
    arguments = ["new", str(tmp_path / "c.lab"), "--states", "4", "--actions", "2"]
    assert CliRunner().invoke(lab, arguments).exit_code == 0
    check_default(LabBook(tmp_path / "c.lab").explorer.prior, 4)


def test_environments_of_berlyne_keep_their_prior_unless_alpha_is_set():
    env = gymnasium.make("berlyne.envs:berlyne/Maze-v0")
    world = berlyne.from_gymnasium(env)
    assert world.prior.alpha == 0.25 and not world.prior.support.is_full
    assert berlyne.from_gymnasium(env, alpha=2.0).prior.alpha == 2.0


def test_unknown_states_have_a_restaurant_with_the_concentration():
    class Pairs(gymnasium.Env):
        observation_space, action_space = gymnasium.spaces.MultiDiscrete([2, 2]), gymnasium.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            return np.array([0, 0]), {}

        def step(self, action):
            return np.array([action, 1 - action]), 0.0, False, False, {}

    assert berlyne.explore_env(Pairs(), n_steps=3).explorer.prior.c == 1.0
    assert berlyne.explore_env(Pairs(), n_steps=3, alpha=0.3).explorer.prior.c == 0.3
    assert berlyne.explore_env(Pairs(), n_steps=3, alpha="ml").explorer.prior.c == "ml"


def test_a_prior_and_a_concentration_together_are_refused(tmp_path):
    prior = Dirichlet(1.0, n_states=16, n_actions=4)
    for call in (
        lambda: berlyne.from_gymnasium("FrozenLake-v1", prior, alpha=0.3),
        lambda: berlyne.explore_env("FrozenLake-v1", prior=prior, alpha=0.3),
        lambda: LabBook.new(tmp_path / "a.lab", prior, alpha=0.3),
    ):
        with pytest.raises(ValueError, match=r"alpha is 0\.3.*prior"):
            call()
    with pytest.raises(ValueError, match="n_states"):
        LabBook.new(tmp_path / "a.lab", n_actions=2)
    assert not (tmp_path / "a.lab").exists()


N_STATES = 64
HISTORIES = {
    "nothing": ([], 1 / N_STATES),
    "one": ([(0, 0, 1)], 1 / N_STATES),
    "two rows": ([(0, 0, 1), (1, 0, 2)], 1 / N_STATES),
    "a repeated outcome": ([(0, 0, 1), (0, 0, 1)], 1e-3),
    "two outcomes": ([(0, 0, 1), (0, 0, 2)], 1.0),
    "a repeated one and another": ([(0, 0, 1), (0, 0, 1), (0, 0, 2)], None),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_few_observations_leave_a_sensible_explorer(name):
    """The likelihood has no maximum if no outcome was repeated, or if no row had two outcomes: bounds decide."""
    history, expected = HISTORIES[name]
    explorer = Explorer(Dirichlet("ml", n_states=N_STATES, n_actions=2), seed=0)
    explorer.observe_many(history)
    alpha = explorer.model.prior.alpha
    if expected is None:  # the likelihood has a maximum, found on a fine grid
        grid = np.exp(np.linspace(np.log(1e-3), 0.0, 100_001))
        log_likelihood = np.log(grid + 1) + np.log(grid) - np.log(N_STATES * grid + 1) - np.log(N_STATES * grid + 2)
        expected = grid[np.argmax(log_likelihood)]
        assert 1e-3 < expected < 1.0
    assert alpha == pytest.approx(expected, rel=1e-3)
    missing = explorer.expected_missing_information()
    untried = 2 * N_STATES - len({(s, a) for s, a, _ in history})
    assert 0.5 * untried < missing.bits < np.log2(N_STATES) * 2 * N_STATES  # more than half a bit in each untried row
    assert not explorer.knows_enough(0.5 * untried)
    assert np.all(np.isfinite(explorer.utility())) and np.all(np.isfinite(explorer.action_values(0)))


def test_one_observation_decides_in_a_deterministic_world_however_many_states_there_are():
    for n_states in (10, 100, 10_000, 1_000_000):
        low, high = default_bounds(n_states)
        assert low * n_states <= 0.1 * (1 + 1e-12) and low <= 1e-3 and high == 1.0
    prior = Dirichlet("ml", n_states=10_000, n_actions=1)
    explorer = Explorer(prior, "Random")
    explorer.observe_many([(0, 0, 1), (0, 0, 1), (1, 0, 0)])
    assert explorer.model.theta_hat_row(0, 1)[0] > 0.9
