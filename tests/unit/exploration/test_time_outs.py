"""An episode that timed out is over, but teaches nothing about the state in which it was cut."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

from berlyne import ChineseRestaurant, Dirichlet, Explorer, replay
from berlyne.models.history import Transition
from messages import raises

KNOWN, UNKNOWN = Dirichlet(1.0, n_states=3, n_actions=2), ChineseRestaurant(1.0, n_actions=2)


@pytest.mark.parametrize("prior", [KNOWN, UNKNOWN])
def test_a_time_out_does_not_make_a_state_terminal(prior):
    plain, cut, ended = (Explorer(prior, seed=1) for _ in range(3))
    plain.observe(0, 1, 2)
    cut.observe(0, 1, 2, timed_out=True)
    ended.observe(0, 1, 2, ended=True)
    assert cut.expected_missing_information().bits == plain.expected_missing_information().bits
    assert ended.expected_missing_information().bits < plain.expected_missing_information().bits
    assert (plain.episode_is_over, cut.episode_is_over, ended.episode_is_over) == (False, True, True)
    with raises(ValueError, "episode is over", 2, "s="):
        cut.expected_gain(2)
    assert cut.expected_gain(2, s=2, n_samples=5).bits > 0.0
    cut.observe(2, 0, 1)
    assert not cut.episode_is_over


def test_an_episode_begins_after_a_time_out_even_in_the_same_state():
    """CB counts a visit when an episode begins elsewhere; starts are counted after each end, wherever it was."""
    explorer = Explorer(KNOWN, "PIG(VI)")
    for flags in ({}, {"timed_out": True}, {}):
        explorer.observe(2, 1, 2, **flags)
    explorer.observe(2, 0, 1, ended=True)
    assert explorer._agent.state_dict()["starts"].tolist() == [[2, 2]]


@pytest.mark.parametrize("prior", [KNOWN, UNKNOWN, Dirichlet("ml", n_states=3, n_actions=2)])
def test_time_outs_are_kept_in_history_files_and_undo(prior, tmp_path):
    explorer = Explorer(prior, seed=3)
    for line, flags in (((0, 1, 2), {"timed_out": True}), ((2, 0, 1), {"ended": True}), ((0, 0, 2), {})):
        explorer.observe(*line, **flags)
    expected = [(False, True), (True, False), (False, False)]
    assert [(line.ended, line.timed_out) for line in explorer.history] == expected
    assert repr(explorer.history[0]) == "(0, 1, 2, timed_out=True)"
    explorer.save(tmp_path / "e.npz")
    loaded, told = Explorer.load(tmp_path / "e.npz"), Explorer(prior, seed=3)
    told.observe_many(explorer.history)
    for other in (loaded, told):
        assert [(line.ended, line.timed_out) for line in other.history] == expected
        assert np.array_equal(other.utility(), explorer.utility()) and other.act(2) == explorer.act(2)
    explorer.undo(2)
    assert explorer.history[0].timed_out and explorer.episode_is_over


def test_replay_takes_a_time_out_as_the_end_of_an_episode_without_a_terminal_state():
    """Its values are those of a frame in which the next line belongs to another episode."""
    lines = [(0, 0, 0), (0, 1, 2), (2, 0, 1), (0, 1, 2)]
    flags = [{}, {"timed_out": True}, {"ended": True}, {}]
    cut = replay(KNOWN, [Transition(*line, **flag) for line, flag in zip(lines, flags, strict=True)], "PIG(VI)")
    s, a, s_next = zip(*lines, strict=True)
    frame = {"s": s, "a": a, "s_next": s_next, "episode": [0, 0, 1, 2], "ended": [False, False, True, False]}
    assert np.array_equal(cut["action_values"], replay(KNOWN, pandas.DataFrame(frame), "PIG(VI)")["action_values"])
    uncut = replay(
        KNOWN, [Transition(*line, flag.get("ended", False)) for line, flag in zip(lines, flags, strict=True)]
    )
    assert not np.array_equal(
        cut["action_values"], uncut["action_values"]
    )  # a plan goes on where episodes began: in 0 and 2, or in 0


def test_ended_and_timed_out_exclude_each_other():
    explorer = Explorer(KNOWN)
    with raises(ValueError, "ended", "timed_out", "both"):
        explorer.observe(0, 1, 2, ended=True, timed_out=True)
    with raises(ValueError, "timed_out", "'maybe'", "True or False"):
        explorer.observe(0, 1, 2, timed_out="maybe")
    assert explorer.n_obs == 0
