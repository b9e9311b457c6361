"""Reading tables of choices, checked by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import berlyne.behaviour as bb
from messages import raises
from unit.behaviour.people import COLUMNS, table


def test_people_are_put_together_in_order() -> None:
    data = bb.read(table().sample(frac=1, random_state=0), group="goal", **COLUMNS)
    assert sorted(data.subjects) == ["ann", "ben"] and data.actions == ("x", "y")
    ann, ben = data.subjects.index("ann"), data.subjects.index("ben")
    lines = slice(data.begin[ann], data.begin[ann + 1])
    assert data.frame["s"][lines].tolist() == ["A", "B", "A", "B", "B"]
    assert data.chosen[lines].tolist() == [0, 1, -1, 1, 1]
    assert data.begins_episode[lines].tolist() == [True, False, False, True, False]
    lines = slice(data.begin[ben], data.begin[ben + 1])
    assert data.chosen[lines].tolist() == [1, -1, 0]  # with one possible action there is nothing to score
    assert data.allowed[lines].tolist() == [[True, True], [False, True], [True, True]]
    assert data.begins_episode[lines].tolist() == [True, False, True]
    assert data.frame["ended"][lines].tolist() == [False, True, False]
    assert [data.groups("group")[i] for i in (ann, ben)] == ["g", "h"]
    assert repr(data) == "Data(2 people, 6 choices among 2 actions)"


def test_some_people_can_be_selected() -> None:
    data = bb.read(table(), group="goal", **COLUMNS)
    one = data.select([1])
    assert one.subjects == (data.subjects[1],)
    assert one.begin.tolist() == [0, 3] and len(one.frame) == 3
    assert one.chosen.tolist() == data.chosen[data.begin[1] :].tolist()
    both = data.select([1, 0])
    assert both.subjects == data.subjects[::-1] and both.begin.tolist() == [0, 3, 8]


def test_check_names_people_and_actions() -> None:
    frame = pd.DataFrame({"s": [0, 1, 0], "a": [0, 0, 0], "s_next": [1, 0, 1], "subject": 7, "unused": 1})
    report = str(bb.read(frame, actions=[0, 1]).check())
    for words in ("never tried: 1", "fewer than 20", "7", "always chose the same action", "unused"):
        assert words in report


def test_check_reports_gaps_and_untold_ends() -> None:
    frame = pd.DataFrame({"s": [0, 1, 0, 0, 1] * 4, "a": [0, 1, 0, 1, 1] * 4, "s_next": [1, 2, 1, 1, 2] * 4}).assign(
        episode=np.repeat(np.arange(8), [2, 3] * 4), subject=1
    )
    report = str(bb.read(frame).check())
    assert "gaps" in report and "only ever the last" in report


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame({"s": [], "a": [], "s_next": []}), ["no choices"]),
        (pd.DataFrame({"s": [0], "a": [3], "s_next": [0]}), ["only the action 3", "actions="]),
        ([(0, 1, 0)], ["list", "table"]),
        (pd.DataFrame({"s": [0, None, 1], "a": [0, 1, 0], "s_next": [1, 1, 0]}), ["s is missing", "line 1"]),
        (pd.DataFrame({"s": ["x", None], "a": [0, 1], "s_next": ["y", "x"]}), ["s is missing", "line 1"]),
    ],
)
def test_invalid_tables_are_refused(frame: pd.DataFrame, words: list[str]) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        bb.read(frame)
    for word in words:
        assert word in str(error.value)


def test_a_group_must_not_change_within_a_person() -> None:
    data = bb.read(table().assign(goal=range(8)), group="goal", **COLUMNS)
    with pytest.raises(ValueError, match="goal changes within person"):
        data.groups("goal")
    with pytest.raises(ValueError, match="no column 'age'"):
        data.groups("age")


def test_an_episode_begins_after_an_end_also_without_a_column_of_episodes() -> None:
    frame = pd.DataFrame({"s": [0, 1, 0], "a": [0, 1, 1], "s_next": [1, 2, 1], "ended": [False, True, False]})
    assert bb.read(frame).begins_episode.tolist() == [True, False, True]


@pytest.mark.parametrize("role", ["subject", "state", "group", "order"])
def test_unknown_columns_are_named_with_those_that_exist(role: str) -> None:
    with raises(ValueError, role, "'room'", "did"):
        bb.read(table(), **{**COLUMNS, role: "room"})
