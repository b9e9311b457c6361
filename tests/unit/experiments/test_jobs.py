"""`jobs` means processes: the same bytes, errors, Ctrl-C and resuming as in one process."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from berlyne import open_results
from berlyne.experiments import run as run_module
from berlyne.experiments import store
from berlyne.serialization import StoreError
from messages import raises
from unit.experiments import process_measures
from unit.experiments.studies import assert_same_store, command, files, put_finished, study
from waiting import LIMIT, Lines, wait_until

TESTS = Path(__file__).parents[2]
pytestmark = pytest.mark.usefixtures("small_blocks")


@pytest.fixture
def at_once(monkeypatch):
    """Start processes at once."""
    monkeypatch.setattr(run_module, "THREAD_SECONDS", 0.0)


@pytest.fixture(scope="module")
def pools():
    """Two processes for several tests, because each imports for a second. A test that ends them takes them out."""
    running = []
    yield running
    for workers in running:
        workers.executor.shutdown()


@pytest.fixture
def pool(pools):
    if not pools:
        pools.append(run_module.Workers(2))
    return pools[0]


@pytest.fixture
def numbers(monkeypatch, pool):
    """The numbers of processes that runs start; they use those of `pool`."""
    asked = []
    monkeypatch.setattr(run_module, "Workers", lambda jobs: (asked.append(jobs), contextlib.nullcontext(pool))[1])
    return asked


@pytest.fixture
def place(tmp_path):
    return tmp_path / "results.zarr"


def pids(path):
    """The processes that computed a study with the measure `process_id`."""
    return {int(number) for number in open_results(path).dataset["mine"].values.ravel()}


@pytest.mark.usefixtures("at_once")
def test_jobs_are_processes_that_leave_the_same_bytes(place, numbers):
    put_finished(place.with_name("one"), measures={"mine": process_measures.zero})
    study(measures={"mine": process_measures.zero}).run(place, jobs=2)
    assert_same_store(place.with_name("one"), place)
    study(measures={"mine": process_measures.process_id}).run(place.with_name("where"), jobs=2)
    assert 1 <= len(pids(place.with_name("where"))) <= 2 and os.getpid() not in pids(place.with_name("where"))
    assert numbers == [2, 2]


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("options", [{"jobs": 1}, {"jobs": 2, "measures": {"mine": lambda run: float(os.getpid())}}])
def test_one_job_and_objects_that_cannot_be_pickled_stay_in_this_process(place, options):
    measures = options.pop("measures", {"mine": process_measures.process_id})
    study(measures=measures).run(place, **options)
    assert pids(place) == {os.getpid()}


def test_short_runs_start_no_process(place, monkeypatch):
    monkeypatch.setattr(run_module, "THREAD_SECONDS", 60.0)
    monkeypatch.setattr(run_module, "Workers", None)
    assert study().run(place, jobs=2).is_complete


def test_processes_compute_the_rest_of_a_long_run(place, monkeypatch, numbers):
    """Threads begin, and processes go on."""
    monkeypatch.setattr(run_module, "THREAD_SECONDS", 0.3)
    long = {"n_worlds": 20, "measures": {"mine": process_measures.process_id, "late": process_measures.late_zero}}
    study(**long).run(place, jobs=2)
    assert os.getpid() in pids(place) and len(pids(place)) > 1


@pytest.mark.usefixtures("at_once", "numbers")
def test_an_error_in_a_process_is_named_and_finished_results_are_stored(place):
    with raises(ValueError, "measures.mine", "ZeroDivisionError", "division by zero"):
        study(measures={"mine": process_measures.fails_for_unembodied}).run(place, jobs=2)
    explored = open_results(place).dataset["area"].notnull()
    assert explored.any() and not explored.sel(strategy="Unembodied").any()
    resume_and_compare(place)


@pytest.mark.usefixtures("at_once")
def test_the_command_takes_the_same_option(tmp_path, monkeypatch, numbers):
    (tmp_path / "study.toml").write_text(
        'worlds = {maze = {side = 3, n_transporters = 4}}\nstrategies = ["Random", "LTA"]\nn_worlds = 4\nn_steps = 20\n'
    )
    monkeypatch.chdir(tmp_path)
    for name, jobs in (("one", 1), ("two", 2)):
        assert command("run", "study.toml", f"{name}.zarr", "--jobs", jobs, "--quiet")[0] == 0
    assert numbers == [2]
    assert_same_store(tmp_path / "one.zarr", tmp_path / "two.zarr")


@pytest.mark.usefixtures("at_once")
def test_a_process_that_is_killed_is_reported_and_the_run_is_resumed(place, monkeypatch, pool, pools):
    monkeypatch.setattr(run_module, "Workers", lambda jobs: pools.pop())
    with raises(StoreError, "one of 2 processes was killed", "--jobs"):
        study(measures={"mine": process_measures.ends_process_for_unembodied}).run(place, jobs=2)
    resume_and_compare(place)


def resume_and_compare(place):
    study(measures={"mine": process_measures.zero}).run(place, jobs=1)
    put_finished(place.with_name("at once"), measures={"mine": process_measures.zero})
    assert_same_store(place, place.with_name("at once"))


@pytest.mark.usefixtures("at_once")
def test_control_c_ends_processes_before_their_pieces_are_finished(place, monkeypatch):
    """Each of two processes has a piece of 250 worlds, which takes more than two seconds."""
    monkeypatch.setattr(store, "BLOCK", 500)
    count, at_interrupt, before = place.with_name("count"), [], set(spawned())
    count.touch()
    monkeypatch.setenv("BERLYNE_TEST_COUNT", str(count))

    def interrupt():
        wait_until(lambda: count.stat().st_size > 20, "the first worlds", pause=0.01)
        at_interrupt.append(count.stat().st_size)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        study(n_worlds=250, measures={"mine": process_measures.counted}).run(place, jobs=2)
    assert count.stat().st_size - at_interrupt[0] < 150  # a process looks every sixteen worlds
    assert set(spawned()) <= before


def spawned():
    children = psutil.Process().children(recursive=True)
    return [child.pid for child in children if any("spawn_main" in word for word in child.cmdline())]


SCRIPT = f"""
import os, sys
sys.path.insert(0, {str(TESTS)!r})
from berlyne.experiments import run, store
from unit.experiments import process_measures
from unit.experiments.studies import study

run.THREAD_SECONDS, store.BLOCK = 0.0, 3

def here(run):
    return float(os.getpid())

study(n_worlds=1, measures={{"mine": here}}).run("here", jobs=2)  # a function of this script
os.write(1, b"begins\\n")
study(n_worlds=10, measures={{"mine": process_measures.late_zero}}).run("killed", jobs=2)
"""


def test_a_script_that_runs_a_study_is_not_run_again_and_its_processes_end_if_it_is_killed(tmp_path, monkeypatch):
    """It has no `if __name__ == "__main__":`. Its processes hold the other end of the pipe until they end."""
    (tmp_path / "script.py").write_text(SCRIPT)
    with subprocess.Popen([sys.executable, "script.py"], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as parent:
        try:
            lines = Lines(parent.stdout.fileno())
            assert lines.next() == "begins\n"
            assert pids(tmp_path / "here") == {parent.pid}
            wait_until(lambda: list(tmp_path.glob("killed/area/c.*")), "the first piece")
        finally:
            parent.send_signal(signal.SIGKILL)
        output, _ = parent.communicate(timeout=LIMIT)
    assert output == "" and parent.returncode == -signal.SIGKILL
    asked = study(n_worlds=10, measures={"mine": process_measures.zero})
    assert not asked.run(tmp_path / "killed", progress=False, shard=None).dataset["area"].isnull().any()
    asked.run(tmp_path / "whole", jobs=1)
    assert files(tmp_path / "killed") == files(tmp_path / "whole")
