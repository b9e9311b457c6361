"""Edge cases of the page's data: discoveries by resets, growing supports, integer sizes."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import berlyne
from berlyne.strategies.coordination import ValueIteration
from berlyne.validation import FloatArray, IntArray
from berlyne.watch import page_data
from berlyne.watch.beliefs import belief_events
from berlyne.watch.data import encode_unsigned
from berlyne.watch.methods import _values_along_path, describe_method
from messages import raises

from .decoding import beliefs_at, unpack


@pytest.mark.parametrize("t", [0, 1, 2, 5, 12])
def test_a_reset_discovers_where_an_episode_begins_and_all_rows_are_valued_again(t: int) -> None:
    theta = np.zeros((2, 5, 5))
    theta[0, :, 4], theta[1, :, 3] = 1.0, 1.0
    world = berlyne.World(theta, berlyne.ChineseRestaurant(1.0), start={0: 0.3, 1: 0.3, 2: 0.4}, terminal=[3, 4])
    run = berlyne.explore(world, "Random", n_steps=12, seed=1)
    theta_hat, worth, missing = beliefs_at(page_data([run])["runs"][0], t, 5)
    assert missing.sum() == pytest.approx(run.missing_information[t], abs=1e-9)
    discovered: list[int] = [int(run.states[0])]
    for i in range(t):
        discovered += [int(run.next_states[i]), int(run.states[i + 1])]
    explorer = berlyne.Explorer(world.prior, "PIG(VI)", n_actions=2)
    explorer.discover(discovered)
    for i in range(t):
        explorer.observe(int(run.states[i]), int(run.actions[i]), int(run.next_states[i]))
    cells = explorer.model  # in the order of discovery, elsewhere last
    pig, n_hidden = berlyne.pig(cells), 5 - len(explorer.states)
    for s in range(5):
        cell = explorer.states.index(s) if s in explorer.states else len(explorer.states)
        for a in range(2):
            expected = 0.0 if s in (3, 4) and s in explorer.states else pig[a, cell]
            assert worth[2 * s + a] == pytest.approx(expected, rel=1e-9, abs=1e-13)
            for z in range(5):
                known = z in explorer.states
                share = cells.theta_hat[a, cell, explorer.states.index(z) if known else -1]
                assert theta_hat[2 * s + a, z] == pytest.approx(share if known else share / n_hidden, rel=1e-12)


def test_the_value_of_an_untried_row_is_that_of_the_strategy() -> None:
    run = berlyne.explore(berlyne.dense_world(0, n_states=3), berlyne.strategy("PEIG(greedy)", untried=7.5), n_steps=4)
    _, worth, _ = beliefs_at(page_data([run])["runs"][0], 0, 3)
    assert worth.tolist() == [7.5] * len(worth)


class Widening:
    """A prior that rules a state out until it has seen anything of a row."""

    def estimate(self, counts: IntArray) -> FloatArray:
        seen = counts.sum(axis=-1, keepdims=True) > 0
        weight = counts + 1.0
        weight[..., -1] *= seen[..., 0]
        return np.asarray(weight / weight.sum(axis=-1, keepdims=True))


@pytest.mark.parametrize("t", [0, 6])
def test_outcomes_that_become_possible_are_stored(t: int) -> None:
    theta = np.zeros((1, 3, 3))
    theta[..., :2] = 0.5
    run = berlyne.explore(berlyne.World(theta, Widening()), "Random", n_steps=6, seed=0)
    counts = np.zeros((1, 3, 3), dtype=np.int64)
    for i in range(t):
        counts[0, run.states[i], run.next_states[i]] += 1
    theta_hat, _, _ = beliefs_at(page_data([run])["runs"][0], t, 3)
    np.testing.assert_allclose(theta_hat, Widening().estimate(counts)[0], rtol=1e-12)


@pytest.mark.parametrize("most", [0, 255, 256, 65_535, 65_536, 2**32 - 1])
def test_integers_fit_their_stored_type(most: int) -> None:
    assert unpack(encode_unsigned(np.array([0, most]))).tolist() == [0, most]


class Once:
    """A prior that learns from the first time that a row does something, and from no other."""

    rows_are_independent = False

    def estimate(self, counts: IntArray) -> FloatArray:
        weight = 1.0 + 8.0 * (counts > 0)
        return np.asarray(weight / weight.sum(axis=-1, keepdims=True))


@pytest.mark.parametrize("t", [1, 2, 3, 9])
def test_a_row_whose_utility_changes_without_its_estimate_is_stored(t: int) -> None:
    world = berlyne.World(np.eye(2)[None, ::-1], Once(), start=0)  # there and back
    run = berlyne.explore(world, "PEIG(greedy)", n_steps=9)
    theta_hat, worth, _ = beliefs_at(page_data([run])["runs"][0], t, 2)
    assert theta_hat[0].tolist() == [0.1, 0.9]
    gained = 0.9 * np.log2(0.9 / 0.5) + 0.1 * np.log2(0.1 / 0.5) if t < 3 else 0.0
    assert worth[0] == pytest.approx(gained, abs=1e-12)


def rare(theta_hat: FloatArray, theta_hat_after: FloatArray, counts: IntArray) -> float:
    """A utility of a user's own."""
    return 1.0 / (1.0 + float(counts.sum()))


class Least:
    """A method of a user's own: what was tried least."""

    def values(self, view, s):
        return -view.counts[:, s].sum(axis=-1).astype(float)


OWN = [berlyne.Strategy("rare", ValueIteration(2, 1.0), rare), berlyne.Strategy("least", Least(), "PIG")]


@pytest.mark.parametrize("strategy", ["PMC(VI)", *OWN])
def test_custom_components_are_shown_with_unknown_states(strategy):
    world = berlyne.maze(1, side=3, n_transporters=2).with_prior(berlyne.ChineseRestaurant(1.0))
    run = berlyne.explore(world, strategy, n_steps=12, seed=0)
    led = berlyne.replay(world, run, strategy)
    shown = describe_method(run)
    assert shown["kind"] == "here"
    np.testing.assert_allclose(shown["values"][:-1], led.action_values.values)
    page_data([run])


def ring(terminal=()):
    theta = np.roll(np.eye(4), 1, axis=1)[None].repeat(2, axis=0)
    return berlyne.World(theta, berlyne.Dirichlet(1.0, n_states=4, n_actions=2), start=0, terminal=terminal)


def test_worlds_with_other_terminal_states_are_different_worlds():
    runs = [berlyne.explore(ring(terminal), "Random", n_steps=5) for terminal in ((), (3,))]
    with raises(ValueError, "different worlds"):
        page_data(runs)


@pytest.mark.parametrize(
    ("strategy", "prior"), [("PIG(Q, initial=2.0)", None), (OWN[1], None), (OWN[1], berlyne.ChineseRestaurant(1.0))]
)
def test_values_on_the_page_respect_terminal_states(strategy, prior):
    world = ring((3,)) if prior is None else ring((3,)).with_prior(prior)
    run = berlyne.explore(world, strategy, n_steps=9, seed=0)
    shown = describe_method(run)
    explorer = berlyne.Explorer(world.prior, strategy, **({} if prior is None else {"n_actions": 2}))
    if prior is None:
        explorer.ends_in([3])
    else:
        explorer.discover([0])
    values = [explorer.action_values(0)]
    for s, a, z, now in zip(run.states[:-1], run.actions, run.next_states, run.states[1:], strict=True):
        explorer.observe(int(s), int(a), int(z), ended=bool(z == 3))
        values.append(explorer.action_values(int(now)))
    if shown["kind"] == "here":
        np.testing.assert_allclose(shown["values"], values)
    else:
        table = np.reshape(shown["first"], (4, 2))
        for t in range(9):
            np.testing.assert_allclose(table[run.states[t]], values[t])
            table[run.states[t], run.actions[t]] = shown["entries"][t]
        np.testing.assert_allclose(table[run.states[-1]], values[-1])


def test_start_states_are_discovered_on_the_page_before_they_get_values():
    """State 4 is never led to: episodes begin there, and the explorer finds itself in it."""
    theta = np.zeros((1, 5, 5))
    theta[0, np.arange(5), [1, 2, 3, 3, 0]] = 1.0
    world = berlyne.World(theta, berlyne.ChineseRestaurant(1.0), start={0: 0.2, 4: 0.8}, terminal=[3])
    run = berlyne.explore(world, "PIG(VI)", n_steps=12, seed=3, start=0)
    assert 4 in run.states[1:]
    led = berlyne.replay(world, run, "PIG(VI)")
    np.testing.assert_allclose(describe_method(run)["values"][:-1], led.action_values.values)


class MaskedRing(gymnasium.Env[int, int]):
    """A ring of four states, in which action 1 cannot be taken in state 2, as a mask in `info` tells."""

    action_space, observation_space = gymnasium.spaces.Discrete(2), gymnasium.spaces.Discrete(4)
    initial_state_distrib = np.eye(4)[0]
    P = {s: {a: [(1.0, (s + 2 * a - 1) % 4, 0.0, False)] for a in range(2)} for s in range(4)}  # noqa: RUF012

    def _info(self) -> dict[str, Any]:
        return {"action_mask": np.array([1, self.s != 2], dtype=np.int8)}

    def reset(self, **_: Any) -> tuple[int, dict[str, Any]]:
        self.s = 0
        return self.s, self._info()

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.s = self.P[self.s][int(action)][0][1]
        return self.s, 0.0, False, False, self._info()


def masked_world() -> berlyne.World:
    theta = np.stack([np.roll(np.eye(4), shift, axis=1) for shift in (-1, 1)])
    prior = berlyne.Dirichlet(0.25, n_states=4, n_actions=2)
    return berlyne.World(theta, prior, start=0, possible={2: [0]}, horizon=5)


@pytest.mark.parametrize("strategy", ["PIG(VI)", "PIG(Q)", "CB"])
@pytest.mark.parametrize("in_environment", [True, False])
def test_forbidden_actions_have_no_utility_and_no_value_on_the_page(in_environment: bool, strategy: str) -> None:
    if in_environment:
        run = berlyne.explore_env(MaskedRing(), strategy, 40)
    else:
        run = berlyne.explore(masked_world(), strategy, 40)
    events = belief_events(run)
    assert (events.row == 5).any() and not events.utility[events.row == 5].any()
    assert not events.missing[events.row == 5].any() and events.missing[events.row == 4].any()
    values = _values_along_path(run)
    is_there = run.states == 2
    assert is_there.any() and np.isneginf(values[is_there, 1]).all() and np.isfinite(values[~is_there]).all()
