"""Reading the runs of people: files as the page writes them, and what is wrong with others."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import berlyne
from berlyne.figures.person_runs import spread
from messages import raises


def record(**changes: Any) -> dict[str, Any]:
    """A run of three steps, of which a person took two."""
    return {
        "kind": "run of a person",
        "format": 1,
        "name": "Anna",
        "began_with": "Random",
        "begin": 1,
        "seed": 0,
        "world": {"name": "Maze", "n_states": 4, "n_actions": 2, "fingerprint": "0123456789abcdef"},
        "states": [0, 1, 3, 2],
        "actions": [1, 0, 1],
        "next_states": [1, 3, 2],
        "missing_information": [9.0, 8.5, 8.75, 6.0],
        "agents": [{"name": "Random", "missing_information": [9.0, 8.5, 8.25, 8.0]}],
        **changes,
    }


def write(path: Path, **changes: Any) -> Path:
    path.write_text(json.dumps(record(**changes)), encoding="utf-8")
    return path


def test_files_are_read_in_order_by_pattern_path_or_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "b-run.json", name="")
    write(tmp_path / "a.json")
    (tmp_path / "notes.txt").write_text("not read")
    monkeypatch.chdir(tmp_path)
    runs = berlyne.read_runs("*.json")
    assert [run.name for run in runs] == ["Anna", "b"] and repr(runs) == "PersonRuns(2 in Maze: Anna, b)"
    assert repr(runs[0]) == "PersonRun(Anna in Maze: 8.5 -> 6.0 bits in 2 steps)"
    assert runs[1].states.tolist() == [0, 1, 3, 2] and runs[1].n_steps == 3
    assert list(runs[0].agents) == ["Random"] and runs[0].agents["Random"][2] == 8.25
    assert [run.name for run in berlyne.read_runs(tmp_path / "b-run.json")] == ["b"]
    assert [run.name for run in berlyne.read_runs([tmp_path / "b-run.json", "a*"])] == ["b", "Anna"]
    assert [run.name for run in runs[1:]] == ["b"]
    write(tmp_path / "[1].json", name="bracket")
    assert berlyne.read_runs("[1].json")[0].name == "bracket"  # a file with that very name


def test_what_is_not_such_a_run_is_named(tmp_path: Path) -> None:
    with raises(ValueError, "paths", "no file"):
        berlyne.read_runs(str(tmp_path / "*.json"))
    with raises(ValueError, "missing.json", "Download"):
        berlyne.read_runs(tmp_path / "missing.json")
    world = record()["world"]
    for changes, names in [
        ({"kind": "world"}, ("kind",)),
        ({"format": 2}, ("format", 2, 1)),
        ({"states": [0, 1]}, ("lengths",)),
        ({"begin": 4}, ("lengths",)),
        ({"actions": [1, 0, 2]}, ("action", "world")),
        ({"states": [0, 1, 3, 4]}, ("state", "world")),
        ({"next_states": [1, -1, 2]}, ("state", "world")),
        ({"missing_information": [9.0, 8.5, None, 6.0]}, ()),
        ({"world": {**world, "fingerprint": None, "n_states": None}}, ()),
        ({"agents": [1]}, ()),
    ]:
        with raises(ValueError, "x.json", "damaged", *names):
            berlyne.read_runs(write(tmp_path / "x.json", **changes))
    for text in ("", "[]", "3", "{}", '{"kind": "run of a person"}'):
        (tmp_path / "x.json").write_text(text)
        with raises(ValueError, "x.json", "damaged"):
            berlyne.read_runs(tmp_path / "x.json")


def test_runs_in_different_worlds_are_not_mixed(tmp_path: Path) -> None:
    write(tmp_path / "a.json")
    write(tmp_path / "b.json", world={**record()["world"], "name": "Lake", "fingerprint": "f" * 16})
    with raises(ValueError, "a.json", "Maze", "b.json", "Lake"):
        berlyne.read_runs(str(tmp_path / "*.json"))


def test_curves_of_people_begin_where_they_took_over(tmp_path: Path) -> None:
    write(tmp_path / "a.json")
    write(tmp_path / "b.json", name="Be $n$", missing_information=[9.0, 8.5, 7.0, 5.0])
    ax = berlyne.read_runs(str(tmp_path / "*.json")).plot()
    people = [line for line in ax.get_lines() if line.get_gid() == "person"]
    assert [line.get_xydata().tolist() for line in people] == [
        [[1, 8.5], [2, 8.75], [3, 6.0]],
        [[1, 8.5], [2, 7.0], [3, 5.0]],
    ]
    (agent,) = [line for line in ax.get_lines() if line.get_gid() != "person"]
    assert agent.get_label() == "Random"
    assert agent.get_xydata().tolist() == [[1, 8.5], [2, 8.25], [3, 8.0]]  # nothing lies left of the axes
    assert {text.get_text() for text in ax.texts} == {"Anna", "Be $n$"}
    low, high = ax.get_ylim()
    assert 4 < low < 5 and 8.75 < high < 9.2  # from the first step of a person on
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["Random", "people"]


def test_names_do_not_cover_each_other(tmp_path: Path) -> None:
    for name, end in (("Anna", 6.0), ("Bo", 6.0), ("Cy", 6.01), ("Di", 8.0)):
        write(tmp_path / f"{name}.json", name=name, missing_information=[9.0, 8.5, 8.75, end])
    ax = berlyne.read_runs(str(tmp_path / "*.json")).plot()
    ax.figure.canvas.draw()
    boxes = {text.get_text(): text.get_window_extent() for text in ax.texts}
    assert sorted(boxes) == ["Anna", "Bo", "Cy", "Di"]
    for first, second in itertools.combinations(boxes.values(), 2):
        assert not first.overlaps(second)
    curve_end = ax.transData.transform((3, 8.0))[1]
    assert boxes["Di"].y0 < curve_end < boxes["Di"].y1  # a name that has room stays at its curve


def test_names_move_as_little_as_possible() -> None:
    heights = np.array([5.0, 0.0, 5.5, 20.0, 5.2])
    moved = spread(heights, 2.0)
    found = minimize(
        lambda x: float(np.sum((x - heights) ** 2)),
        heights,
        constraints=[
            {"type": "ineq", "fun": lambda x, i=i, j=j: x[j] - x[i] - 2.0} for i, j in ((1, 0), (0, 4), (4, 2), (2, 3))
        ],
    )
    np.testing.assert_allclose(moved, found.x, atol=1e-5)
