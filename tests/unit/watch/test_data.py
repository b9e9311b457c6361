"""The page's data: beliefs at any time against a model with the same observations, values, and invalid input."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import berlyne
from berlyne.strategies.coordination import View
from berlyne.strategies.utilities import evaluate_rows
from berlyne.validation import FloatArray, IntArray
from berlyne.watch import beliefs as watch_beliefs
from berlyne.watch import page_data
from messages import raises

from .decoding import beliefs_at, unpack


class Pooled:
    """A prior under which an action does the same in all states, so that one outcome moves the rows of all."""

    rows_are_independent = False

    def estimate(self, counts: IntArray) -> FloatArray:
        pooled = 1.0 + counts.sum(axis=1, keepdims=True)
        return np.repeat(pooled / pooled.sum(axis=-1, keepdims=True), counts.shape[1], axis=1)


class Half:
    """Half the estimate of a uniform prior, half the uniform distribution; it does not say whether rows depend."""

    def estimate(self, counts: IntArray) -> FloatArray:
        seen = 1.0 + counts
        return np.asarray(0.5 * seen / seen.sum(axis=-1, keepdims=True) + 0.5 / counts.shape[-1])


def surprise(theta_hat: FloatArray, theta_hat_after: FloatArray) -> float:
    return float(theta_hat @ theta_hat_after.max(axis=1))


THETA = np.random.default_rng(2).dirichlet(np.ones(4), size=(2, 4))


def explored(strategy: Any = "PIG(VI)", prior: Any = None, n_steps: int = 40, **world: Any) -> berlyne.Run:
    prior = berlyne.Dirichlet(1.0, n_states=4, n_actions=2) if prior is None else prior
    return berlyne.explore(berlyne.World(THETA, prior, **world), strategy, n_steps=n_steps, seed=3)


def by_row(values: FloatArray) -> FloatArray:
    swapped = np.swapaxes(values, 0, 1)
    return swapped.reshape(-1, *swapped.shape[2:])


def check(run: berlyne.Run, t: int, utility: Callable[[berlyne.InternalModel], FloatArray]) -> None:
    world = run.world
    model = berlyne.InternalModel(world.prior, n_states=world.n_states, n_actions=world.n_actions)
    model.observe_many(np.stack([run.states[:t], run.actions[:t], run.next_states[:t]], axis=1).astype(np.int64))
    theta_hat, worth, missing = beliefs_at(page_data([run])["runs"][0], t, world.n_states)
    np.testing.assert_allclose(theta_hat, by_row(model.theta_hat), rtol=1e-12)
    expected = utility(model)
    expected[:, world.terminal] = 0.0
    np.testing.assert_allclose(worth, by_row(expected), rtol=1e-9, atol=1e-13)
    assert missing.sum() == pytest.approx(model.missing_information(world), abs=1e-9)
    assert missing.sum() == pytest.approx(run.missing_information[t], abs=1e-9)


@pytest.mark.parametrize("t", [0, 1, 17, 40])
@pytest.mark.parametrize(
    ("strategy", "of"), [("PEIG(greedy)", berlyne.peig), ("LTA", berlyne.pig), ("PLC(VI)", berlyne.plc)]
)
def test_beliefs_of_a_known_prior(strategy: str, of: Callable[..., FloatArray], t: int) -> None:
    check(explored(strategy), t, of)


@pytest.mark.parametrize("t", [0, 9, 40])
def test_dependent_rows_are_all_stored(t: int) -> None:
    run = explored(prior=Pooled())
    check(run, t, lambda model: evaluate_rows(model, berlyne.UTILITIES["PIG"].of_row))  # type: ignore[arg-type]  # it has one
    times = unpack(page_data([run])["runs"][0]["event_time"])
    assert np.count_nonzero(times == 1) == 4  # the rows of one action in four states


@pytest.mark.parametrize("t", [0, 12, 40])
def test_a_custom_prior_and_a_custom_utility(t: int) -> None:
    strategy = berlyne.Strategy("mine", berlyne.strategy("PIG(VI)").coordinate, surprise)
    run = explored(strategy, Half())
    check(run, t, lambda model: evaluate_rows(model, surprise))
    assert page_data([run])["runs"][0]["utility"] == {"name": "surprise", "unit": "", "own": True}


@pytest.mark.parametrize("t", [0, 25])
def test_rows_of_terminal_states_have_no_missing_information_and_no_utility(t: int) -> None:
    check(explored(start=0, terminal=[2]), t, berlyne.pig)


@pytest.mark.parametrize("t", [0, 1, 6, 40])
def test_states_that_are_discovered_share_what_is_expected_elsewhere(t: int) -> None:
    run = explored(prior=berlyne.ChineseRestaurant(1.0), start=1)
    theta_hat, _, missing = beliefs_at(page_data([run])["runs"][0], t, 4)
    assert missing.sum() == pytest.approx(run.missing_information[t], abs=1e-9)
    hidden = [s for s in range(4) if s not in {1, *run.next_states[:t].tolist()}]
    assert bool(hidden) == (t < 40)
    if hidden:
        np.testing.assert_allclose(theta_hat.sum(axis=1), 1.0)
    for s in hidden[1:]:
        np.testing.assert_allclose(theta_hat[:, s], theta_hat[:, hidden[0]])
    if not hidden:
        discovered = list(dict.fromkeys([1, *run.next_states.tolist()]))
        shown = theta_hat.reshape(4, 2, 4).transpose(1, 0, 2)[:, discovered][:, :, discovered]
        np.testing.assert_allclose(shown, run.model.theta_hat[:, :4, :4], rtol=1e-12)


def test_values_of_an_explorer_of_unknown_states_are_stored_in_its_current_state() -> None:
    run = explored(prior=berlyne.ChineseRestaurant(1.0), start=1)
    method = page_data([run])["runs"][0]["method"]
    values, explorer = unpack(method["values"]).reshape(41, 2), berlyne.Explorer(run.world.prior, n_actions=2)
    explorer.discover([1])
    for t in range(40):
        s, a, s_next = int(run.states[t]), int(run.actions[t]), int(run.next_states[t])
        np.testing.assert_allclose(values[t], explorer.action_values(s), rtol=1e-12)
        explorer.observe(s, a, s_next)


class Cautious:
    """A custom method that returns values."""

    def values(self, view: View, s: int) -> FloatArray:
        return np.asarray(view.utility[:, s] - 0.1 * view.counts[:, s].sum(axis=1))


def test_values_of_a_custom_method_are_stored_in_the_current_state() -> None:
    run = explored(berlyne.Strategy("mine", Cautious(), "PIG"))
    method = page_data([run])["runs"][0]["method"]
    assert method["kind"] == "here"
    thought = berlyne.replay(run.world, run, run.strategy).action_values.values
    np.testing.assert_allclose(unpack(method["values"]).reshape(41, 2)[:40], thought, rtol=1e-12)


def test_a_method_with_choose_has_no_values() -> None:
    run = explored(berlyne.Strategy("mine", lambda view, s, u: int(u[0] < 0.5), None))
    assert page_data([run])["runs"][0]["method"] == {"kind": "unknown"}


def test_q_learning_is_stored_as_one_entry_per_step() -> None:
    run = explored("PIG(Q)", start=0, terminal=[2])
    method = page_data([run])["runs"][0]["method"]
    first, entries = unpack(method["first"]), unpack(method["entries"])
    explorer = berlyne.Explorer(run.world.prior, run.strategy)
    explorer.ends_in([2])
    assert first.shape == (8,) and entries.shape == (40,)
    for t in range(40):
        s, a = int(run.states[t]), int(run.actions[t])
        explorer.observe(s, a, int(run.next_states[t]))
        assert entries[t] == pytest.approx(explorer.action_values(s)[a], rel=1e-12)


def test_a_curve_that_is_not_stored_is_computed() -> None:
    run = explored()
    lost = dataclasses.replace(run, curves={})
    shown = unpack(page_data([lost])["runs"][0]["missing"])
    np.testing.assert_allclose(shown, run.missing_information, atol=1e-9)


def test_four_runs_of_the_paper_stay_below_three_megabytes(tmp_path: Path) -> None:
    for kind in berlyne.worlds.WORLDS.values():
        world = kind.make(1)
        names = ("Random", "LTA", "PIG(greedy)", "Unembodied")
        runs = [berlyne.explore(world, name, n_steps=2500) for name in names]
        assert berlyne.watch(runs, tmp_path / "page.html").stat().st_size < 3_000_000


def test_invalid_runs_are_refused() -> None:
    run = explored()
    with raises(ValueError, "5 runs", "1 to 4"):
        page_data([run] * 5)
    with raises(ValueError, "0 runs"):
        page_data([])
    with raises(ValueError, "known world", "str"):
        page_data(["PIG(VI)"])  # type: ignore[list-item]  # on purpose
    other = berlyne.explore(berlyne.World(THETA[:, ::-1], berlyne.Dirichlet(1.0, n_states=4, n_actions=2)), "LTA", 5)
    with raises(ValueError, "PIG(VI)", "LTA", "different worlds"):
        page_data([run, other])


def test_the_same_world_may_be_believed_in_differently() -> None:
    data = page_data([explored(), explored(prior=berlyne.Dirichlet(0.1, n_states=4, n_actions=2))])
    assert [run["belief"]["alpha"] for run in data["runs"]] == [1.0, 0.1]


def test_runs_that_are_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_beliefs, "MAX_ENTRIES", 100)
    with raises(ValueError, "18 of 40 steps"):
        page_data([explored()])


def test_environments_are_refused() -> None:
    env = berlyne.explore_env(_Coin(), "Random", n_steps=5)
    with raises(ValueError, "truth", "Random"):
        berlyne.watch([env])


class _Coin:
    """As little as an environment can be."""

    def __init__(self) -> None:
        import gymnasium

        self.observation_space = gymnasium.spaces.Discrete(2)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.rng = np.random.default_rng(0)

    def reset(self, **_: Any) -> tuple[int, dict[str, Any]]:
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        return int(self.rng.integers(2)), 0.0, False, False, {}

    def close(self) -> None:
        pass


def test_the_data_are_plain_json() -> None:
    assert json.loads(json.dumps(page_data([explored()]), allow_nan=False))["format"] == 2


def test_runs_of_one_strategy_are_numbered():
    world = berlyne.maze(0, side=3, n_transporters=2)
    runs = [
        berlyne.explore(world, strategy, n_steps=5, seed=s)
        for s, strategy in enumerate(["LTA", "Random", "LTA", "LTA"])
    ]
    assert [run["name"] for run in page_data(runs)["runs"]] == ["LTA, 1", "Random", "LTA, 2", "LTA, 3"]
