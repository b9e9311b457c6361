"""A study that is killed at random moments and resumed equals an uninterrupted one.

`python tests/parity/test_resume_kill.py 100` repeats this a hundred times and prints where each run was killed.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from amounts import amount
from unit.experiments.studies import assert_same_store, files
from waiting import Lines, wait_until

RUN = (
    f"n_steps = {amount(200, 600)}"
    + """
import os, sys, traceback
import dask.array, numcodecs, rich.progress, xarray, zarr  # everything that a run imports
import berlyne
from berlyne.experiments import store
from berlyne.experiments.merge_stores import merge

store.BLOCK = 2

def sharing(seed):
    world = berlyne.maze(seed, side=4, n_transporters=6)
    return world.with_prior(berlyne.SharedDirichlet(berlyne.labels_of(world), 0.25))

for world in berlyne.maze(0), sharing(0):
    for name in "PIG(VI)", "PEIG(Q)":
        berlyne.explore(world, name, n_steps=1)  # loads the kernels

def study(n_worlds):
    return berlyne.Experiment(
        worlds={"maze": {"side": 4, "n_transporters": 6}, "1-2-3": {"n_states": 8}},
        strategies=["Random", "PIG(VI)", "Unembodied", "PEIG(Q)"], n_worlds=n_worlds, n_steps=n_steps,
        snapshots=(0.1, 1.0), measures={"last": lambda run: run.l1_distance[-1]},
    )

def study_of_sharing(n_worlds):
    return berlyne.Experiment(
        worlds={"maze": sharing}, strategies=["Random", "PIG(VI)", "PEIG(Q)"], n_worlds=n_worlds, n_steps=n_steps,
        snapshots=(0.1, 1.0), measures={"sum_of_weights": lambda run: run.learned[-1].sum()},
    )

for line in sys.stdin:
    place, jobs, n_worlds, *shards = line.split()
    child = os.fork()
    if child == 0:
        try:
            if jobs == "merge":
                merge(place, shards)
            elif jobs == "sharing":
                study_of_sharing(int(n_worlds)).run(place, jobs=1)
            else:
                study(int(n_worlds)).run(place, jobs=int(jobs), shard=shards[0] if shards else None)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""
)


class Runs:
    """Starts a study in a process of its own, again and again, each time at once."""

    def __init__(self):
        self.server = subprocess.Popen(
            [sys.executable, "-c", RUN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.lines = Lines(self.server.stdout.fileno())

    def begin(self, place, jobs, n_worlds, *shards):
        """Begin a run, or a part of it; return its process.

        If `jobs` is "merge", it is a merge, and if "sharing", a study whose prior shares between rows.
        """
        print(place, jobs, n_worlds, *shards, file=self.server.stdin, flush=True)
        return int(self.lines.next())

    def status(self):
        """Return the exit status of the last process: 0 on success, 9 if it was killed."""
        return int(self.lines.next())

    def close(self):
        self.server.stdin.close()
        self.server.stdout.close()
        try:
            self.server.wait(timeout=30)
        except subprocess.TimeoutExpired:  # a test failed, and its study goes on
            self.server.kill()
            self.server.wait(timeout=30)


@pytest.fixture(scope="module")
def runs():
    started = Runs()
    yield started
    started.close()


def done(place):
    """How many pieces are finished."""
    return len([f for f in (place / "area").glob("c.*") if f.suffix != ".partial"])


def kill_and_resume(folder, runs, jobs, n_worlds, n_kills):
    """Kill a study `n_kills` times, then let it finish. Return the number of finished pieces at each kill."""
    whole, place = folder / "whole", folder / "killed"
    runs.begin(whole, jobs, n_worlds)
    began = time.monotonic()
    assert runs.status() == 0
    took = time.monotonic() - began
    rng, finished = np.random.default_rng(4 + jobs), [0]
    for i in range(n_kills):
        process = runs.begin(place, jobs, n_worlds)
        most = done(whole) * 3 * (i + 1) // (4 * n_kills)  # there is work left for the last one, however fast this is
        if i % 2:  # in the middle of its work
            wanted = rng.integers(finished[-1], max(most, finished[-1] + 1)) + 1
            wait_until(lambda: done(place) >= wanted, f"{wanted} pieces", pause=0.002)  # noqa: B023
        until = time.monotonic() + rng.uniform(0.0, took / (2 * n_kills))  # or as it begins
        wait_until(lambda: time.monotonic() >= until or done(place) >= most, "the kill", pause=0.002)  # noqa: B023
        os.kill(process, signal.SIGKILL)
        assert runs.status() == 9, "it ended before it was killed"
        finished.append(done(place))
    assert finished == sorted(finished) and finished[-1] < done(whole)
    runs.begin(place, jobs, n_worlds)
    assert runs.status() == 0
    assert_same_store(whole, place)
    assert sorted(f.name for f in folder.iterdir()) == ["killed", "whole"]  # no lock, nothing half-made
    return finished


@pytest.mark.slow
@pytest.mark.parametrize("jobs", amount([2], [1, 2]))
def test_killed_at_many_random_moments(tmp_path, runs, jobs):
    n_kills = amount(6, 20)
    finished = kill_and_resume(tmp_path, runs, jobs, n_worlds=amount(12, 90), n_kills=n_kills)
    assert len(set(finished)) > n_kills // 2


def test_killed_once_and_grown(tmp_path, runs):
    """A short round of the above: killed as soon as a piece is there, then asked for more."""
    whole, place = tmp_path / "whole", tmp_path / "killed"
    n_worlds = amount(6, 16)
    process = runs.begin(place, 2, n_worlds)
    wait_until(lambda: done(place), "the first piece", pause=0.002)
    os.kill(process, signal.SIGKILL)
    assert runs.status() == 9
    assert json.loads((place / "zarr.json").read_text())["attributes"]["settings"]["n_worlds"] == n_worlds
    for asked, jobs in ((place, 1), (whole, 2)):
        runs.begin(asked, jobs, n_worlds + 1)
        assert runs.status() == 0
    assert_same_store(whole, place)
    assert sorted(f.name for f in tmp_path.iterdir()) == ["killed", "whole"]


def test_killed_with_a_prior_that_shares(tmp_path, runs):
    """The weights that explorers learn are not part of the store, and are the same after it is resumed."""
    whole, place, n_worlds = tmp_path / "whole", tmp_path / "killed", amount(8, 40)
    runs.begin(whole, "sharing", n_worlds)
    assert runs.status() == 0
    n_units = done(whole)
    for share in amount((0.2,), (0.1, 0.3, 0.5)):
        process = runs.begin(place, "sharing", n_worlds)
        wait_until(lambda: done(place) >= share * n_units, f"{share:.0%} of the study", pause=0.002)  # noqa: B023
        os.kill(process, signal.SIGKILL)
        assert runs.status() == 9, "it ended before it was killed"
        assert share * n_units <= done(place) < n_units
    runs.begin(place, "sharing", n_worlds)
    assert runs.status() == 0
    assert_same_store(whole, place)
    with xr.open_zarr(whole, chunks=None) as stored:
        weights = stored["sum_of_weights"].values
        assert len(np.unique(weights)) == weights.size  # something was learned in each run


def test_killed_while_merging(tmp_path, runs):
    """The merged store is there completely or not at all, and the shards are not changed."""
    whole, place, n_worlds = tmp_path / "whole", tmp_path / "merged", amount(8, 24)
    shards = [tmp_path / f"shard-{k}" for k in (1, 2)]
    for asked, *part in ((whole,), *((shard, f"{k}/2") for k, shard in enumerate(shards, start=1))):
        runs.begin(asked, 2, n_worlds, *part)
        assert runs.status() == 0
    before = [files(shard) for shard in shards]
    n_units = done(whole)
    for share in np.linspace(0.0, 0.75, amount(3, 5)):
        process = runs.begin(place, "merge", 0, *shards)
        partial = tmp_path / f"merged.{process}.partial"
        wait_until(lambda: done(partial) >= share * n_units, f"{share:.0%} of the merge", pause=0.0005)  # noqa: B023
        os.kill(process, signal.SIGKILL)
        assert runs.status() == 9, "it ended before it was killed"
        assert not place.exists() and [files(shard) for shard in shards] == before
    runs.begin(place, "merge", 0, *shards)
    assert runs.status() == 0
    assert_same_store(whole, place)
    assert sorted(f.name for f in tmp_path.iterdir()) == ["merged", "shard-1", "shard-2", "whole"]


def main():
    n_kills, runs = int(sys.argv[1]), Runs()
    with tempfile.TemporaryDirectory() as name:
        finished = kill_and_resume(Path(name), runs, jobs=2, n_worlds=5 * n_kills, n_kills=n_kills)
    runs.close()
    print(f"{n_kills} kills, after {len(set(finished))} different numbers of pieces up to {max(finished)}; ", end="")
    print("resumed, the store is the same byte by byte")


if __name__ == "__main__":
    main()
