"""Progress of a run, counted in finished explorations."""

import re
import threading
import time

import pytest

from berlyne.experiments import progress, work_unit
from berlyne.experiments import run as run_module
from berlyne.experiments.work_unit import WorkUnit, compute_arrays, make_layout
from messages import raises
from unit.experiments.studies import command, study


@pytest.mark.parametrize(
    ("per_second", "text"),
    [
        (12345.6, "12,346 explorations/s"),
        (212.4, "212 explorations/s"),
        (10.0, "10 explorations/s"),
        (9.96, "10.0 explorations/s"),
        (0.25, "0.2 explorations/s"),
        (0.1, "0.1 explorations/s"),
        (0.05, "3.0 explorations/min"),
    ],
)
def test_rates_have_their_unit(per_second, text):
    assert progress.format_rate(per_second) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0:00:00"), (61, "0:01:01"), (3723.2, "1:02:03"), (360000, "100:00:00")]
)
def test_durations(seconds, text):
    assert progress.format_duration(seconds) == text


def test_a_line_by_hand():
    """600 in 3 s are 200 a second; 1,400 more take 7 s."""
    assert progress.progress_line(600, 2000, 3.0) == "600 of 2,000 explorations, 200 explorations/s, 0:00:07 left"
    assert progress.progress_line(0, 2000, 3.0) == "0 of 2,000 explorations"


def test_explorations_are_counted_as_they_end(monkeypatch):
    asked, counted, seen, explore = study(), [], [], work_unit.explore
    monkeypatch.setattr(
        work_unit, "explore", lambda *args, **options: (seen.append(list(counted)), explore(*args, **options))[1]
    )
    compute_arrays(asked, WorkUnit(0, 8, "Random", (1, 4, 6)), make_layout(asked), None, counted.append)
    assert counted == [1, 4, 6] and seen == [[], [1], [1, 4]]


def test_pieces_from_elsewhere_are_counted_as_they_come():
    counted, pieces = [], [WorkUnit(0, 8, "Random", (1, 4)), WorkUnit(0, 8, "PIG(VI)", (6,))]
    coming = run_module._report_progress(((piece, {}) for piece in pieces), counted.append)
    assert next(coming) == (pieces[0], {}) and counted == [1, 4]
    assert list(coming) == [(pieces[1], {})] and counted == [1, 4, 6]


def test_without_a_terminal_a_line_comes_now_and_then(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(progress, "LINE_INTERVAL", 0.2)
    slow = study(measures={"slow": lambda run: time.sleep(0.05) or 0.0})
    slow.run(tmp_path / "r.zarr", jobs=1)
    out, err = capfd.readouterr()
    lines = err.splitlines()
    pattern = r"berlyne: \d+ of 24 explorations(, [\d,.]+ explorations/(s|min), \d+:\d\d:\d\d left)?"
    assert out == "" and len(lines) >= 3 and all(re.fullmatch(pattern, line) for line in lines)
    counts = [int(re.match(r"berlyne: (\d+)", line)[1]) for line in lines]
    assert counts == sorted(counts) and counts[-1] > counts[0]
    assert not [thread for thread in threading.enumerate() if thread.name == "berlyne-progress"]


def test_quiet_prints_nothing(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(progress, "LINE_INTERVAL", 0.01)
    monkeypatch.chdir(tmp_path)
    study(measures={"slow": lambda run: time.sleep(0.02) or 0.0}).run(tmp_path / "r.zarr", progress=False)
    (tmp_path / "s.toml").write_text("worlds = ['dense']\nn_worlds = 20\nn_steps = 300")
    assert command("run", "s.toml", "s.zarr", "--quiet")[2] == ""
    assert capfd.readouterr() == ("", "")


def test_bars_have_a_rate_with_its_unit_and_the_time_left(tmp_path, capfd):
    study(measures={"slow": lambda run: time.sleep(0.02) or 0.0}).run(tmp_path / "r.zarr", progress=True)
    shown = capfd.readouterr().err
    assert shown.count("12/12") == 2 and "explorations/s" in shown and "left" in shown


def test_a_failure_ends_the_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "LINE_INTERVAL", 0.01)
    with raises(ValueError, "measures.bad", "ZeroDivisionError", "division by zero"):
        study(measures={"bad": lambda run: 1 / (run.strategy.name != "Unembodied")}).run(tmp_path / "r.zarr")
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("berlyne")]
