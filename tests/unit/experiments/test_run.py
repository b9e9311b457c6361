"""Running a study: options, progress, interruptions, and the command."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from berlyne import Experiment
from berlyne.experiments import progress
from berlyne.experiments import run as run_module
from berlyne.experiments.schema import FORMAT, STUDY_FILE
from berlyne.experiments.spec import SettingsError
from berlyne.experiments.store import Store
from berlyne.serialization import StoreError
from messages import raises
from unit.experiments.studies import assert_same_store, command, count_explorations, files, put_finished, study
from waiting import LIMIT, wait_until

TOML = """
strategies = ["Random", "PIG(VI)", "Unembodied"]
n_worlds = 4
seed = 1
snapshots = [0.5, 0, 7, 1.0]
worlds = {maze = {side = 3, n_transporters = 4}, dense = {n_states = 4}}
n_steps = {maze = 30, dense = 20}
"""


@pytest.fixture
def place(tmp_path):
    return tmp_path / "results.zarr"


def threads():
    """Our threads that are alive."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("berlyne")]


@pytest.mark.parametrize("options", [{"jobs": 2, "workers": 2}, {"workers": 2, "cluster": "tcp://x:1"}])
def test_one_way_of_running_at_a_time(place, options):
    with raises(SettingsError, "only one of", "jobs", "workers", "cluster"):
        study().run(place, **options)
    assert not place.exists()


@pytest.mark.parametrize("options", [{"jobs": 0}, {"jobs": -1}, {"workers": 0}, {"jobs": 1.5}])
def test_impossible_numbers_of_workers(place, options):
    with raises(ValueError, *(f"{name} is {value}" for name, value in options.items()), "whole number", "at least 1"):
        study().run(place, **options)


def test_all_cores_by_default(place, monkeypatch):
    seen = []
    compute = run_module._compute_in_threads
    monkeypatch.setattr(run_module, "_compute_in_threads", lambda *args: (seen.append(args[-1]), compute(*args))[1])
    study().run(place)
    assert seen == [len(os.sched_getaffinity(0))]


@pytest.mark.parametrize("path", ["nowhere/results.zarr", "/", "taken/results.zarr"])
def test_invalid_output_paths_are_refused(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").touch()
    folder = path.split("/")[0]
    names = (
        (f"directory {folder} does not exist", "results.zarr") if folder else ("/ cannot be a store", "results.zarr")
    )
    with raises(StoreError, *names):
        study().run(path)
    assert [f.name for f in tmp_path.iterdir()] == ["taken"]


def test_progress_is_silent_at_first_unless_in_a_terminal(place, capfd, monkeypatch):
    monkeypatch.setattr(progress, "LINE_INTERVAL", 3600.0)  # half a minute, were there no kernels to compile
    study().run(place)
    assert capfd.readouterr() == ("", "")


def test_progress_counts_explorations_of_each_class(place, capfd):
    odd = {"[bold]": {"kind": "maze", "side": 3, "n_transporters": 4}, "dense": {"n_states": 4}}
    study(worlds=odd, n_steps=20).run(place, progress=True)
    shown = capfd.readouterr().err
    assert "[bold]" in shown and "dense" in shown and shown.count("12/12") == 2


def test_progress_counts_only_what_is_missing(place, capfd):
    study(n_worlds=1).run(place)
    study().run(place, progress=True)
    assert capfd.readouterr().err.count("9/9") == 2


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("jobs", [1, 3])
def test_an_error_stops_the_run_and_finished_results_are_stored(place, monkeypatch, jobs):
    def fails_late(run):
        if run.strategy.name == "Unembodied":
            wait_until(lambda: any(place.glob("area/c.*")), "the first finished piece", pause=0.001)
            raise ZeroDivisionError("of mine")
        return 0.0

    with raises(ValueError, "measures.mine", "ZeroDivisionError", "of mine"):
        study(measures={"mine": fails_late}).run(place, jobs=jobs)
    assert threads() == []
    made = count_explorations(monkeypatch)
    study(measures={"mine": lambda run: 0.0}).run(place, jobs=jobs)
    assert 8 <= len(made) < 24
    study(measures={"mine": lambda run: 0.0}).run(place.with_name("at once"))
    assert_same_store(place, place.with_name("at once"))


@pytest.mark.usefixtures("small_blocks")
def test_a_failing_write_stops_the_computing(place, monkeypatch):
    made = count_explorations(monkeypatch)

    def full(self, piece, chunks):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Store, "write", full)
    with raises(OSError, "No space left on device"):
        study(n_worlds=60).run(place, jobs=1)
    assert len(made) < 360
    assert threads() == []


@pytest.mark.usefixtures("small_blocks")
def test_an_interrupted_run_does_not_finish_its_pieces_first(place, monkeypatch):
    """Pieces that are being computed are given up at their next world."""
    made = count_explorations(monkeypatch)
    monkeypatch.setattr("berlyne.experiments.store.BLOCK", 500)

    def interrupt():
        wait_until(lambda: len(made) > 20, "the first worlds", pause=0.01)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)  # which also wakes it

    threading.Thread(target=interrupt, daemon=True).start()
    slow = study(n_worlds=250, measures={"slow": lambda run: time.sleep(0.01)})
    with pytest.raises(KeyboardInterrupt):
        slow.run(place, jobs=1)
    assert len(made) < 490  # for which it would have to go on for four seconds more


def test_results_of_many_writers_are_all_there(place, monkeypatch):
    """Parts of one block are merged one after another."""
    monkeypatch.setattr("berlyne.experiments.store.BLOCK", 64)
    study(n_worlds=20, strategies=["Random"]).run(place, jobs=8)
    study(n_worlds=20, strategies=["Random"]).run(place.with_name("one"), jobs=1)
    assert_same_store(place, place.with_name("one"))


def test_the_command_runs_and_resumes(tmp_path, monkeypatch, place):
    (tmp_path / "study.toml").write_text(TOML)
    monkeypatch.chdir(tmp_path)
    first = command("run", "study.toml", "results.zarr", "--jobs", "1", "--quiet")
    assert first == (0, "Results(results.zarr: maze, dense; 24 of 24 explorations)\n", "")
    put_finished(tmp_path / "python.zarr")
    assert files(place) == files(tmp_path / "python.zarr")
    assert sorted(f.name for f in tmp_path.iterdir()) == ["python.zarr", "results.zarr", "study.toml"]
    (tmp_path / "study.toml").write_text(TOML.replace("n_worlds = 4", "n_worlds = 5"))
    second = command("run", "study.toml", "results.zarr")
    assert second == (0, "Results(results.zarr: maze, dense; 30 of 30 explorations)\n", "")


def test_the_command_repairs_on_request(tmp_path, monkeypatch, place):
    (tmp_path / "study.toml").write_text(TOML)
    put_finished(place)
    sound = files(place)
    (place / "state" / "c.0.0.0").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    code, output, errors = command("run", "study.toml", "results.zarr")
    assert code == 1 and output == ""
    assert errors.startswith("berlyne: results.zarr: state of Random in worlds maze/000 to dense/003 is damaged")
    assert command("run", "study.toml", "results.zarr", "--repair")[0] == 0
    assert files(place) == sound


def test_control_c_prints_one_sentence(tmp_path, place):
    (tmp_path / "study.toml").write_text(TOML.replace("n_worlds = 4", "n_worlds = 10000"))
    asked = [sys.executable, "-m", "berlyne", "run", "study.toml", "results.zarr", "--quiet"]
    process = subprocess.Popen(asked, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def begun():
        assert process.poll() is None
        return any(place.glob("area/c.*"))

    wait_until(begun, "the first piece")
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 1 and output == ""
    assert errors == "berlyne: stopped; finished runs are in results.zarr, run the same command again to continue\n"
    assert not place.with_name("results.zarr.lock").exists()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("run", "none.toml", "r.zarr"), "'none.toml' does not exist"),
        (("run", ".", "r.zarr"), "'.' is a directory"),
        (("run", "study.toml"), "Missing argument 'RESULTS'"),
        (("run", "study.toml", "r.zarr", "--jobs", "0"), "0 is not in the range x>=1"),
        (("run", "study.toml", "r.zarr", "--jobs", "1", "--workers", "1"), "only one of jobs, workers and cluster"),
        (("run", "study.toml", "study.toml"), "berlyne: study.toml is not a store of results"),
        (
            ("run", "study.toml", "no/r.zarr"),
            "berlyne: directory no does not exist, so r.zarr cannot be created in it; create it first",
        ),
        (("run", "study.toml", "."), "berlyne: . cannot be a store; give the name of a new directory"),
        (("run", "wrong.toml", "r.zarr"), "berlyne: worlds.maze.sides: unknown parameter; the parameters are side,"),
        (("run", "odd.toml", "r.zarr"), r"berlyne: worlds.a\n\x1b: unknown class 'a\n\x1b'; the classes are dense"),
        (("list", "nothing"), "'nothing' is not one of"),
    ],
)
def test_mistakes_give_one_sentence(tmp_path, monkeypatch, arguments, why):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(TOML)
    (tmp_path / "wrong.toml").write_text("[worlds.maze]\nsides = 3")
    (tmp_path / "odd.toml").write_text('worlds = ["a\\n\\u001b"]')
    before = files(tmp_path)
    code, output, errors = command(*arguments)
    assert code != 0 and output == ""
    assert why in errors
    if errors.startswith("berlyne: "):
        assert errors.count("\n") == 1
    assert files(tmp_path) == before


def test_a_store_of_a_newer_format_gives_one_sentence(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(TOML)
    put_finished(place)
    text = (place / STUDY_FILE).read_text()
    (place / STUDY_FILE).write_text(text.replace(f'"berlyne_format": {FORMAT}', '"berlyne_format": 99'))
    before = files(tmp_path)
    code, output, errors = command("run", "study.toml", "results.zarr")
    assert (code, output) == (1, "")
    assert all(named in errors for named in ("results.zarr", "format 99", f"format {FORMAT}"))
    assert errors.count("\n") == 1 and files(tmp_path) == before


@pytest.mark.parametrize("table", ["worlds", "benchmarks", "strategies", "utilities", "measures"])
def test_lists_name_everything(table):
    from berlyne import STRATEGIES, UTILITIES
    from berlyne.experiments.measures import MEASURES, OPTIONAL_MEASURES
    from berlyne.worlds import BENCHMARKS, WORLDS

    measures, worlds = {**MEASURES, **OPTIONAL_MEASURES}, {"worlds": WORLDS, "benchmarks": BENCHMARKS}
    tables = {**worlds, "strategies": STRATEGIES, "utilities": UTILITIES, "measures": measures}
    code, output, errors = command("list", table)
    assert code == 0 and errors == ""
    begun = [line.split("  ")[0] for line in output.splitlines()[1:] if line[:1].strip()]
    assert begun == list(tables[table])


def test_an_experiment_runs_itself(place):
    results = Experiment("maze", "Random", n_worlds=2, n_steps=10).run(place)
    assert results.is_complete and results.path == place
