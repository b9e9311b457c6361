"""Environments without a table that fail in a study: the error names the run, and other runs are stored."""

import re
from concurrent.futures import ALL_COMPLETED, wait

import numpy as np
import pytest

from berlyne import Experiment, ExplorationError, explore_env, open_results
from berlyne.experiments.spec import SettingsError
from berlyne.experiments.worlds import stream
from berlyne.serialization import StoreError
from messages import check_names, raises
from unit.experiments.studies import assert_same_store

gymnasium = pytest.importorskip("gymnasium")

N_RUNS = 12


class Flaky(gymnasium.Env):
    """Four states in a circle. With `wrong`, one exploration in four gets a reward in words at step 5."""

    observation_space = gymnasium.spaces.Discrete(4)
    action_space = gymnasium.spaces.Discrete(2)
    wrong = True

    def __init__(self):
        self.t = 0

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.unlucky = self.np_random.random() < 0.25
        self.s = int(self.np_random.integers(4))
        return self.s, {}

    def step(self, a):
        self.s = (self.s + (1 if a else int(self.np_random.integers(4)))) % 4
        self.t += 1
        return self.s, "much" if self.wrong and self.unlucky and self.t == 6 else 0.0, False, False, {}


class Stuck(Flaky):
    """Raises at step 5 where the other one is wrong, and cannot be closed either."""

    def step(self, a):
        answer = super().step(a)
        if isinstance(answer[1], str):
            raise OSError("the motor is stuck")
        return answer

    def close(self):
        raise RuntimeError("cannot be closed")


def make_study(env, **changes):
    settings = {"strategies": ["Random", "LTA"], "n_runs": N_RUNS, "n_steps": 20, "seed": 2}
    return Experiment(worlds={"ring": env}, **{**settings, **changes})


def unlucky(strategy):
    """The runs of a strategy that fail, found by exploring with their streams."""
    seeds = []
    for run in range(N_RUNS):
        label = "ring/000" if run == 0 else f"ring/000/run-{run:03d}"
        try:
            explore_env(Flaky(), strategy, 20, seed=stream(2, f"{label}/{strategy}"))
        except ExplorationError:
            seeds.append(run)
    return seeds


def test_the_error_names_the_run_and_other_runs_are_stored(tmp_path, monkeypatch):
    first = unlucky("Random")[0]
    assert 1 < first < N_RUNS - 1
    with pytest.raises(ExplorationError) as caught:
        make_study(Flaky()).run(tmp_path / "r.zarr", jobs=1)
    error = caught.value
    where = rf"ring/000/run-{first:03d}, Random, step 5, action [01]"
    assert re.fullmatch(rf"{where}: the reward is 'much'; it must be a real number", str(error)), str(error)
    assert error.step == error.run.n_steps == error.run.explorer.n_obs == 5
    done = open_results(tmp_path / "r.zarr").dataset["area"].notnull()
    assert done.sel(strategy="Random").values.tolist() == [run < first for run in range(N_RUNS)]
    monkeypatch.setattr(Flaky, "wrong", False)  # it is mended
    make_study(Flaky()).run(tmp_path / "r.zarr", jobs=1)
    make_study(Flaky()).run(tmp_path / "whole.zarr", jobs=1)
    assert_same_store(tmp_path / "r.zarr", tmp_path / "whole.zarr")


def test_simultaneous_failures_are_reported_in_order_and_finished_runs_are_stored(tmp_path, monkeypatch):
    """Both strategies have failed before anybody looks: the first is told, and the runs before either are kept."""
    from berlyne.experiments import run as run_module

    def wait_for_all(futures, return_when):
        return wait(futures, return_when=ALL_COMPLETED)

    monkeypatch.setattr(run_module, "wait", wait_for_all)
    first = {strategy: unlucky(strategy)[0] for strategy in ("Random", "LTA")}
    with raises(ExplorationError, f"ring/000/run-{first['Random']:03d}", "Random", "step 5", "action"):
        make_study(Flaky()).run(tmp_path / "r.zarr", jobs=1)
    done = open_results(tmp_path / "r.zarr").dataset["area"].notnull()
    assert {name: int(done.sel(strategy=name).sum()) for name in first} == first


def test_no_unfinished_run_is_stored(tmp_path):
    """With several threads: finished runs are stored and correct, and failed runs are not stored."""
    with pytest.raises(ExplorationError):
        make_study(Flaky()).run(tmp_path / "r.zarr", jobs=2)
    results = open_results(tmp_path / "r.zarr")
    done = results.dataset["area"].notnull()
    assert done.any()
    for strategy in ("Random", "LTA"):
        finished = np.flatnonzero(done.sel(strategy=strategy).values)
        assert not set(finished.tolist()) & set(unlucky(strategy))
        for run in finished:
            history = results.history(f"ring/000/run-{run:03d}", strategy)
            label = "ring/000" if run == 0 else f"ring/000/run-{run:03d}"
            own = explore_env(Flaky(), strategy, 20, seed=stream(2, f"{label}/{strategy}"))
            np.testing.assert_array_equal(history, np.stack([own.states[:-1], own.actions, own.next_states], axis=1))


def test_an_environment_that_fails_twice_reports_the_first_error(tmp_path):
    """Runs before it are kept although their environments cannot be closed: a warning tells that."""
    first = unlucky("Random")[0]
    with (
        pytest.warns(RuntimeWarning) as recorded,
        raises(ExplorationError, "step()", "OSError('the motor is stuck')", "it must") as caught,
    ):
        make_study(Stuck(), strategies=["Random"]).run(tmp_path / "r.zarr", jobs=1)
    for warning in recorded:
        check_names(str(warning.message), "close() of an environment", "RuntimeError('cannot be closed')")
    assert isinstance(caught.value.__cause__, OSError) and caught.value.__cause__.args == ("the motor is stuck",)
    assert int(open_results(tmp_path / "r.zarr").dataset["area"].notnull().sum()) == first


def test_processes_name_the_run_as_well(tmp_path):
    pytest.importorskip("distributed")
    with pytest.raises(StoreError) as caught:
        make_study(Flaky(), n_runs=4 * N_RUNS).run(tmp_path / "r.zarr", workers=2)
    where = r"ring/000/run-\d\d\d, (Random|LTA), step 5, action [01]"
    assert re.search(rf"{where}: the reward is 'much'; it must be a real number$", str(caught.value)), caught.value


class Never(Flaky):
    def reset(self, seed=None, options=None):
        raise RuntimeError("no power")


def test_an_environment_that_cannot_be_reset_is_refused_before_anything_runs():
    with raises(SettingsError, "worlds.ring", "reset()", "RuntimeError('no power')", "it must return") as e:
        make_study(Never())
    assert isinstance(e.value.__cause__, RuntimeError)


def test_an_environment_that_cannot_be_created_again_is_reported_with_its_run(tmp_path):
    made = []

    def make(seed):
        made.append(seed)
        if len(made) > 6:
            raise OSError("no licence left")
        return Flaky()

    with pytest.raises(ExplorationError) as caught:
        make_study(make, strategies=["LTA"], n_worlds=1).run(tmp_path / "r.zarr", jobs=1)
    assert re.fullmatch(
        r"ring/000/run-\d\d\d, LTA, before step 0: making the environment raised OSError\('no licence left'\)",
        str(caught.value),
    ), str(caught.value)
    assert caught.value.run is None and isinstance(caught.value.__cause__, OSError)
