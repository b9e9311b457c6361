"""A history that is told again teaches the same, ends of episodes included."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas
import pytest

import berlyne
from berlyne import ChineseRestaurant, Dirichlet, Explorer, World, dense_world, explore, replay
from berlyne.exploration.logbook import LabBook
from berlyne.models.history import Transition
from messages import raises

PRIOR = Dirichlet(1.0, n_states=4, n_actions=2)
LINES = [(0, 0, 1, False), (1, 1, 2, True), (0, 1, 1, False), (1, 0, 3, True), (0, 0, 2, True)]


def told(prior=PRIOR, lines=LINES):
    explorer = Explorer(prior, "PIG(VI)", n_actions=2)
    for s, a, s_next, ended in lines:
        explorer.observe(s, a, s_next, ended=ended)
    return explorer


def assert_same(one, other):
    assert one.expected_missing_information().bits == other.expected_missing_information().bits
    np.testing.assert_array_equal(one.utility(), other.utility())
    for s in one.states:
        np.testing.assert_array_equal(one.action_values(s), other.action_values(s))
    assert [(*line, line.ended) for line in one.history] == [(*line, line.ended) for line in other.history]
    assert one.episode_is_over == other.episode_is_over


@pytest.mark.parametrize("prior", [PRIOR, ChineseRestaurant(1.0)], ids=["known", "discovered"])
@pytest.mark.parametrize(
    "form",
    [
        lambda explorer: explorer.history,
        lambda explorer: iter(explorer.history),
        lambda explorer: LINES,
        lambda explorer: np.array(LINES, dtype=int),
        lambda explorer: pandas.DataFrame(LINES, columns=["s", "a", "s_next", "ended"]),
    ],
    ids=["history", "iterator", "four entries", "array", "frame"],
)
def test_an_explorer_that_is_told_a_history_again_knows_the_same(prior, form):
    explorer = told(prior)
    repeated = Explorer(prior, "PIG(VI)", n_actions=2)
    repeated.observe_many(form(explorer))
    assert_same(repeated, explorer)
    without = Explorer(prior, "PIG(VI)", n_actions=2)
    without.observe_many([line[:3] for line in LINES])
    # two terminal states of two actions, whose rows count only if the ends are lost
    lost = without.expected_missing_information().bits - explorer.expected_missing_information().bits
    ends = [without.states.index(s) for s in (2, 3)]
    assert lost == pytest.approx(without.expected_missing_information().rows[:, ends].sum()) and lost > 0.5


def test_a_line_is_its_tuple_and_more():
    line = Transition("hall", "go", "exit", ended=True)
    s, a, s_next = line
    assert (
        (s, a, s_next) == line == ("hall", "go", "exit") and line.ended and hash(line) == hash(("hall", "go", "exit"))
    )
    assert repr(line) == "('hall', 'go', 'exit', ended=True)" and repr(Transition(0, 1, 2)) == "(0, 1, 2)"
    for again in (pickle.loads(pickle.dumps(line)), copy.copy(line), copy.deepcopy(line)):
        assert again == line and again.ended


@pytest.mark.parametrize("prior", [dense_world(2).prior, ChineseRestaurant(1.0)], ids=["known", "discovered"])
def test_the_history_of_a_run_is_replayed_with_its_ends(prior):
    world = World(dense_world(2).rows, prior, terminal=[4], start=1)
    run = explore(world, "PIG(VI)", n_steps=60, seed=5)
    ended = [s_next == 4 for _, _, s_next in run.history]
    assert [line.ended for line in run.history] == ended == run.terminated.tolist() and sum(ended) > 1
    frame = pandas.DataFrame(run.history, columns=["s", "a", "s_next"]).assign(ended=ended)
    by_history, by_frame = (replay(prior, told, "PIG(VI)", n_actions=4) for told in (run.history, frame))
    assert by_history.identical(by_frame)


def test_a_lab_book_keeps_ends(tmp_path):
    book = LabBook.new(tmp_path / "x.lab", PRIOR)
    for line in told().history:
        book.tell(*line, ended=line.ended)
    assert_same(LabBook(tmp_path / "x.lab").explorer, told())
    undone = book.undo()
    assert undone == (0, 0, 2) and undone.ended
    assert_same(book.explorer, told(lines=LINES[:-1]))


@pytest.mark.parametrize(
    ("history", "message"),
    [
        (
            [(0, 0, 1), (1, 1, 2, "yes")],
            ("ended", "'yes'", "line 1"),
        ),
        ([(0, 0, 1, 2)], ("ended", "2", "line 0")),
        ([(0, 0, 1, None)], ("ended", "None", "line 0")),
        (np.array([[0, 0, 1, 7]]), ("ended", "7", "line 0")),
        ([(0, 0, 1, True, 0)], ("line 0", "line", "(s, a, s_next)")),
    ],
)
def test_invalid_ends_are_refused(history, message):
    explorer = Explorer(PRIOR)
    with raises(ValueError, *message):
        explorer.observe_many(history)
    assert explorer.n_obs == 0
    with raises(ValueError, *message):
        berlyne.replay(PRIOR, history)
