"""Scores of a benchmark, frozen results, and the report."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from berlyne import open_results
from berlyne.benchmarks import Scoreboard, report, run, suite
from berlyne.benchmarks.measures import MEASURES
from berlyne.benchmarks.report import EMPTY, latex, mean_and_half
from berlyne.benchmarks.scores import MAX_ROWS, count_rows, task_worlds
from berlyne.bounds import fluid
from messages import raises

TASKS = ["river-swim", "forked-river-swim"]


def board(agents=("Random", "PIG(VI)"), left=(((8.0, 12.0), (20.0, 20.0)), ((4.0, 6.0), (10.0, 15.0)))):
    """A scoreboard of two tasks and two runs."""
    values = {name: np.ones((len(agents), 2, 2)) for name in MEASURES}
    values["missing_information"] = np.array(left, dtype=float)
    values["steps_to_tenth"][0] = np.nan
    values["area"] = 10.0 * values["missing_information"]
    bounds, areas = {"river-swim": 2.0, "forked-river-swim": 0.0}, {"river-swim": 60.0}
    return Scoreboard(
        "tabular-v1", 2025, tuple(TASKS), (100, 200), tuple(agents), values, bounds, {"berlyne": "0"}, areas, {}
    )


def test_scores_are_0_for_random_and_1_for_the_bound():
    scores = board().scores()
    assert scores[0].mean(axis=1) == pytest.approx([0.0, 0.0])
    assert scores[1] == pytest.approx(np.array([[6 / 8, 4 / 8], [0.5, 0.25]]))
    assert float(board().interquartile_means()["PIG(VI)"].value) == pytest.approx(0.5)  # of 0.25, 0.5, 0.5, 0.75


def test_scores_of_the_area_have_their_own_bounds():
    assert board().scored_tasks("area") == ["river-swim"]
    assert board().scores("area")[1] == pytest.approx(np.array([[60 / 40, 40 / 40]]))
    assert float(board().interquartile_means("area")["PIG(VI)"].value) == pytest.approx(1.25)
    assert board().select(["forked-river-swim"]).scored_tasks("area") == []
    with raises(ValueError, "measure", "'mean_l1'", "'area'"):
        board().scores("mean_l1")


def test_tasks_without_a_bound_or_below_it_have_no_score():
    assert replace(board(), bounds={"river-swim": 2.0}).scored_tasks() == ["river-swim"]
    assert replace(board(), bounds={"river-swim": 11.0, "forked-river-swim": 0.0}).scored_tasks() == [
        "forked-river-swim"
    ]
    without = board(agents=("PIG(VI)", "LTA"))
    assert without.scored_tasks() == []
    with raises(ValueError, "agents", "Random"):
        without.scores()


def test_a_file_holds_all_numbers(tmp_path):
    board().save(tmp_path / "b.json")
    loaded = Scoreboard.load(tmp_path / "b.json")
    assert loaded.agents == board().agents and loaded.bounds == board().bounds and loaded.n_steps == (100, 200)
    assert loaded.area_bounds == board().area_bounds
    for name, array in board().values.items():
        assert np.array_equal(loaded.values[name], array, equal_nan=True)


def test_frozen_agents_are_added_once():
    other = board(("Random", "Mine"), (((1.0, 1.0), (1.0, 1.0)), ((3.0, 5.0), (9.0, 9.0))))
    joined = board().join(other)
    assert joined.agents == ("Random", "PIG(VI)", "Mine")
    assert joined.values["missing_information"][0, 0].tolist() == [8.0, 12.0]
    assert joined.values["missing_information"][2, 1].tolist() == [9.0, 9.0]
    partial = board().join(other.select(["river-swim"]))
    assert partial.values["missing_information"][2, 0].tolist() == [3.0, 5.0]
    assert np.all(np.isnan(partial.values["missing_information"][2, 1])) and partial.scored_tasks() == ["river-swim"]
    assert board().select(["river-swim"]).join(other).tasks == ("river-swim",)


@pytest.mark.parametrize(("field", "value"), [("seed", 2024), ("suite", "tabular-v2")])
def test_other_seeds_and_suites_are_not_mixed(field, value):
    with raises(ValueError, field, str(getattr(board(), field)), str(value)):
        board().join(replace(board(), **{field: value}))


def test_other_lengths_are_not_mixed():
    with raises(ValueError, "n_steps", "preset"):
        board().join(replace(board(), n_steps=(100, 400)))


def test_only_the_runs_that_both_have_are_compared():
    fewer = replace(board(("Mine",), (((3.0, 5.0), (9.0, 9.0)),)))
    fewer = replace(fewer, values={name: array[..., :1] for name, array in fewer.values.items()})
    for joined in (board().join(fewer), fewer.join(board())):
        assert joined.n_runs == 1 and set(joined.agents) == {"Random", "PIG(VI)", "Mine"}
        left = dict(zip(joined.agents, joined.values["missing_information"][:, 0, 0], strict=True))
        assert left == {"Random": 8.0, "PIG(VI)": 4.0, "Mine": 3.0}


@pytest.mark.parametrize("text", ["import os", "[]", '{"suite": "tabular-v1"}', '{"more": 1}'])
def test_a_file_without_frozen_results_is_refused(text, tmp_path):
    (tmp_path / "b.json").write_text(text)
    with raises(ValueError, "b.json", "Scoreboard.save"):
        Scoreboard.load(tmp_path / "b.json")


def test_bounds_of_small_tasks_are_computed_and_those_of_large_tasks_are_not():
    tasks = suite()
    world = tasks["river-swim"].world(0)
    expected = fluid(world, 100, policies="adaptive").value
    computed = replace(board(), bounds={}).select(["river-swim"]).with_bounds()
    assert computed.bounds == pytest.approx({"river-swim": expected}) and computed.gaps == {"river-swim": 0.0}
    assert count_rows(tasks["taxi"]) == 2400 > MAX_ROWS > count_rows(tasks["n-room"]) == 516


def test_the_bound_of_random_worlds_is_the_mean_over_those_of_the_runs():
    one = replace(board(), tasks=("garnet",), n_steps=(50,), bounds={}, area_bounds={})
    one = replace(one, values={name: array[:, :1] for name, array in one.values.items()}).with_bounds()
    worlds = task_worlds(suite()["garnet"], 2025, 2)
    assert one.bounds["garnet"] == pytest.approx(np.mean([fluid(world, 50).value for world in worlds]))
    other = task_worlds(suite()["garnet"], 2024, 2)
    assert len(worlds) == 2 and not np.allclose(worlds[0].theta, other[0].theta)
    assert len(task_worlds(suite()["river-swim"], 2025, 4)) == 1


def test_texts_of_means():
    assert mean_and_half(np.array([1.0, 3.0])) == "2.00 ± 1.96" and mean_and_half(np.array([np.nan])) == EMPTY
    assert mean_and_half(np.array([5000.0, np.nan])) == "5,000 (1 of 2)"


def test_the_table_for_latex_marks_the_best():
    text = latex(board(agents=("Random", "1/√n(VI)")))
    lines = text.splitlines()
    assert lines[0] == r"\begin{tabular}{lrrr}" and r"1/$\surd$n(VI)" in lines[2]
    assert lines[4] == r"river-swim & $10.00 \pm 3.92$ & \boldmath$5.00 \pm 1.96$ & 2.00 \\"


def test_a_report_of_a_store_with_frozen_results(tmp_path):
    tasks, place = suite().select(["river-swim"]), tmp_path / "r.zarr"
    run(tasks, ["Random", "LTA"], tmp_path / "frozen.zarr", preset="smoke", progress=False)
    Scoreboard.from_results(open_results(tmp_path / "frozen.zarr")).with_bounds().save(tmp_path / "b.json")
    run(tasks, ["PIG(VI)"], place, preset="smoke", progress=False)
    page = report(place, tmp_path / "report.html", baselines=tmp_path / "b.json").read_text(encoding="utf-8")
    for name in ("Random", "LTA", "PIG(VI)"):
        assert f"<td>{name}</td>" in page
    assert page.count("data:image/png;base64,") == 4 and "1.000" in page and "prefers-color-scheme: dark" in page
    assert "score of the area" in page and "The score of the area compares" not in page  # the file has no such bounds
    frozen = Scoreboard.load(tmp_path / "b.json")
    replace(frozen, area_bounds={"river-swim": 1.0}, gaps={"river-swim": 0.004}).save(tmp_path / "b.json")
    page = report(place, tmp_path / "report.html", baselines=tmp_path / "b.json").read_text(encoding="utf-8")
    assert "The score of the area compares" in page and "at most 0.4% larger" in page
    alone = report(place, tmp_path / "alone.html", bounds=False).read_text(encoding="utf-8")
    assert "There are no scores" in alone and alone.count("data:image/png;base64,") == 1
