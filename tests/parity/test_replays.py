"""Replays of many people, whose states kernels discover, against the plain agent and person by person."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import berlyne
from berlyne import ChineseRestaurant, Dirichlet
from berlyne.exploration.replay import Replays
from berlyne.strategies.registry import get_strategy
from messages import raises

STRATEGIES = ["PIG(VI, gamma=0.9)", "PIG(VI, gamma=0)", "rarity(VI)", "surprise(VI)", "PEIG(VI)", "PIG(Q)", "CB", "LTA"]


def lines_of(person: str, n_states: int, n_steps: int, seed: int) -> pd.DataFrame:
    """Lines of a walk in which the numbers of states grow, episodes end in multiples of 11, and some actions miss."""
    rng, lines, s = np.random.default_rng(seed), [], 1
    for t in range(n_steps):
        a, s_next = int(rng.integers(2)), int(rng.integers(1, 2 + min(n_states - 1, t)))
        ended = s_next % 11 == 0
        lines.append((person, s, None if t % 17 == 5 else a, s_next, ended))
        s = 1 if ended else s_next
    return pd.DataFrame(lines, columns=["subject", "s", "a", "s_next", "ended"])


def people() -> pd.DataFrame:
    """Three people; the second meets more than 64 states, some of which more than 16 others follow."""
    return pd.concat([lines_of("ann", 9, 60, 0), lines_of("bob", 90, 420, 1), lines_of("eve", 5, 30, 2)])


@pytest.mark.filterwarnings("ignore")  # the walk is no careful table
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("prior", [ChineseRestaurant(0.8, 0.1), ChineseRestaurant("ml")], ids=["fixed", "learned"])
def test_values_of_many_people_are_those_of_the_plain_agent(strategy: str, prior: ChineseRestaurant) -> None:
    frame = people()
    frame = frame[frame.subject != "bob"] if prior.c == "ml" else frame  # refits take long in NumPy
    replays = Replays(frame, (0, 1))
    values = replays.action_values(prior, get_strategy(strategy))
    assert values == pytest.approx(replays.action_values(prior, get_strategy(strategy)), abs=0.0)  # read once
    for person, lines in frame.assign(line=np.arange(len(frame))).groupby("subject"):
        plain = berlyne.replay(prior, lines.drop(columns="line"), strategy, actions=(0, 1), engine="numpy")
        expected = plain.action_values.values
        assert values[lines.line] == pytest.approx(expected, abs=1e-9), person


@pytest.mark.filterwarnings("ignore")
def test_a_replay_that_records_everything_agrees_with_the_plain_agent() -> None:
    frame = lines_of("bob", 90, 420, 1)
    compiled, plain = (
        berlyne.replay(ChineseRestaurant(0.8, 0.1), frame, "surprise(VI)", actions=(0, 1), engine=engine)
        for engine in ("compiled", "numpy")
    )
    for name in ("action_values", "utilities", "probabilities", "expected_missing_information"):
        assert compiled[name].values == pytest.approx(plain[name].values, rel=1e-9, abs=1e-9), name


@pytest.mark.filterwarnings("ignore")
def test_one_table_is_replayed_with_several_priors_and_worlds() -> None:
    frame, strategy = lines_of("ann", 9, 60, 0), get_strategy("PIG(VI)")
    replays = Replays(frame, (0, 1))
    world = berlyne.World(
        np.random.default_rng(3).dirichlet(np.ones(10), (2, 10)), Dirichlet(0.5, n_states=10, n_actions=2)
    )
    for prior in (ChineseRestaurant(0.5), Dirichlet(0.5, n_states=10, n_actions=2), world, ChineseRestaurant(2.0)):
        expected = berlyne.replay(prior, frame, strategy, actions=(0, 1), engine="numpy").action_values.values
        assert replays.action_values(prior, strategy) == pytest.approx(expected, abs=1e-9), prior


@pytest.mark.filterwarnings("ignore")
def test_an_impossible_line_is_named() -> None:
    frame = pd.DataFrame({"subject": [1, 1], "s": [0, 1], "a": [0, 0], "s_next": [1, 0], "ended": [False, False]})
    rows = np.zeros((1, 2, 2))
    rows[0, :, 1] = 1.0
    prior = Dirichlet(1.0, support=rows > 0)
    with raises(ValueError, "line 1"):
        Replays(frame, (0,)).action_values(prior, get_strategy("PIG(VI)"))
