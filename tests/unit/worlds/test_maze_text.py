"""Mazes from text, and text from mazes."""

from __future__ import annotations

import numpy as np
import pytest

from berlyne import explore, is_ergodic, maze, maze_from_text
from berlyne.worlds.maze_text import geometry_from_text, maze_text
from messages import raises, warns

DRAWN = """
    +---+-^-+---+
    |       | B |
    +   +v-^+   +
    |<      |   |
    +---+   +   +
    |   |      >|
    +---+---+-v-+
"""


def test_a_drawing_defines_where_pushes_lead():
    geometry = geometry_from_text(DRAWN)
    assert geometry.side == 3 and geometry.base == 2
    up, down, left, right = geometry.destination.T.reshape(4, 3, 3).tolist()
    assert up == [[0, 2, 2], [0, 2, 2], [6, 4, 5]]
    assert down == [[3, 2, 5], [3, 7, 8], [6, 7, 2]]
    assert left == [[0, 0, 2], [2, 3, 5], [6, 7, 7]]
    assert right == [[1, 1, 2], [4, 4, 5], [6, 8, 2]]


def test_a_drawn_maze_is_a_maze():
    world = maze_from_text(DRAWN, seed=3)
    assert world.name == "Maze" and world.prior.alpha == 0.25 and world.n_actions == 4
    s, a = np.divmod(np.arange(36), 4)
    own = world.theta[a, s, world.geometry.destination.ravel()]
    np.testing.assert_allclose(own, world.theta.max(axis=-1)[a, s])  # an action goes mostly its own way
    with warns(UserWarning, "1", "9", "'Maze'"):
        assert explore(world, "PIG(VI)", n_steps=50, start=0, rows="all").n_steps == 50
    np.testing.assert_array_equal(world.rows.data, maze_from_text(DRAWN, seed=3).rows.data)
    assert not np.array_equal(world.rows.data, maze_from_text(DRAWN, seed=4).rows.data)
    assert maze_from_text(DRAWN, alpha=1.0, law="directions").prior.alpha == 1.0
    assert not is_ergodic(world)  # the room below on the left cannot be reached


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("side", "n_transporters"), [(1, 0), (1, 4), (2, 5), (6, 30), (9, 160)])
def test_mazes_come_back_from_their_drawing(seed, side, n_transporters):
    one = maze(seed, side, n_transporters).geometry
    text = maze_text(one)
    other = geometry_from_text(text)
    for name in ("passages", "transporters", "destination"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.base == other.base and maze_text(other) == text


def test_a_drawing_is_drawn_again_as_it_was():
    lines = [line[4:] for line in DRAWN.strip("\n").splitlines()]
    assert maze_text(geometry_from_text(DRAWN)).splitlines() == lines
    assert maze_text(geometry_from_text(DRAWN), agent=4).splitlines()[3] == "|<    @ |   |"
    assert maze_text(geometry_from_text(DRAWN), agent=2).splitlines()[1] == "|       | @ |"


def test_line_ends_and_empty_lines_do_not_matter():
    drawn = geometry_from_text("\r\n\r\n" + DRAWN.replace("\n", "\r\n") + "\r\n")
    assert maze_text(drawn) == maze_text(geometry_from_text(DRAWN))


GAP = "open to the outside"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (DRAWN, "  ", ("drawing", "empty")),
        ("|       | B |", "|       | B", ("line 2, column 11", GAP)),
        ("    |   |      >|\n", "", ("line 1", "13", "6 lines")),
        ("| B |", "|#B |", ("line 2, column 10", "'#'", "' <'")),
        ("| B |", "| C |", ("line 2, column 11", "'C'", "' B'")),
        ("+---+   +   +", "+---+   *   +", ("line 5, column 9", "'*'", "'+'")),
        ("+---+   +   +", "+---+ - +   +", ("line 5, column 6", "wall", "passage")),
        ("| B |", "| B  ", ("line 2, column 11", GAP)),
        ("-v-", "   ", ("line 6, column 11", GAP)),
        ("    |   |      >|", "        |      >|", ("line 6, column 3", GAP)),
        ("+-^-+", "+   +", ("line 2, column 7", GAP)),
        ("|<      |", "|<     >  ", ("line 4", "14")),
        ("|   |      >|", "|   |  >   >|", ("line 6, column 7", "transporter", "no wall")),
        (" B ", "   ", ("line 2, column 7", "transporter", "no base")),
        ("|   |      >|", "| B |      >|", ("line 6, column 3", "second base")),
    ],
)
def test_a_drawing_that_is_no_maze_is_refused(old, new, message):
    assert old in DRAWN
    with raises(ValueError, *message):
        maze_from_text(DRAWN.replace(old, new))
    with raises(ValueError, "law", "'x'", "'outcomes'", "'directions'"):
        maze_from_text(DRAWN, law="x")
