"""The frozen results of the repository: complete, and equal to what the code computes now."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from berlyne.benchmarks import AGENTS, TUNED, Scoreboard, run, suite
from berlyne.benchmarks.scores import fluid_bound, task_worlds
from berlyne.benchmarks.suite import PRESETS, SPLITS

FILE = Path(__file__).parents[3] / "benchmarks" / "baselines.json"
FROZEN = Scoreboard.load(FILE)


def test_all_explorers_and_tasks_are_frozen():
    assert FROZEN.agents == (*AGENTS, *TUNED) and FROZEN.seed == SPLITS["test"]
    assert FROZEN.tasks == tuple(task.name for task in suite(FROZEN.suite))
    n_runs, share = PRESETS["full"]
    assert FROZEN.n_runs == n_runs and FROZEN.n_steps == tuple(round(share * task.n_steps) for task in suite())
    missing = np.argwhere(np.isnan(FROZEN.values["missing_information"]).any(axis=2)).tolist()
    assert missing == [[FROZEN.agents.index("PSRL(PIG, replan=5)"), FROZEN.tasks.index("taxi")]]
    for bounds in (FROZEN.bounds, FROZEN.area_bounds, FROZEN.gaps):
        assert set(bounds) == set(FROZEN.tasks)
    assert max(FROZEN.gaps.values()) < 0.012


def test_frozen_results_are_computed_again(tmp_path):
    names = ["PIG(VI)", "RF-UCRL", "R-max(VI)", "MaxEnt", "PSRL(PIG)", "FW-AME(steps_back=30, replan=1)"]
    tasks = suite().select(["river-swim-20", "chain-russo"])
    board = Scoreboard.from_results(run(tasks, names, tmp_path / "r.zarr", preset="full", n_worlds=2, progress=False))
    columns = [FROZEN.tasks.index(task) for task in board.tasks]
    for i, name in enumerate(names):
        for measure in ("area", "mean_l1", "reward_loss"):
            frozen = FROZEN.values[measure][FROZEN.agents.index(name)][columns][:, :2]
            assert board.values[measure][i] == pytest.approx(frozen, rel=1e-4, abs=1e-6), (name, measure)


@pytest.mark.parametrize("task", ["river-swim", "deep-sea", "four-rooms-50"])
def test_frozen_bounds_are_computed_again(task):
    (world,) = task_worlds(suite()[task], FROZEN.seed, FROZEN.n_runs)
    bound = fluid_bound(world, FROZEN.n_steps[FROZEN.tasks.index(task)])
    assert bound.value == pytest.approx(FROZEN.bounds[task], rel=1e-3)
    assert bound.gap == pytest.approx(FROZEN.gaps[task], abs=1e-3)
    if task == "river-swim":
        assert bound.area == pytest.approx(FROZEN.area_bounds[task], rel=1e-3)


def test_no_explorer_that_moves_is_clearly_below_the_bound():
    moving = [i for i, name in enumerate(FROZEN.agents) if name != "Generative"]
    for measure, bounds in (("missing_information", FROZEN.bounds), ("area", FROZEN.area_bounds)):
        for task, bound in bounds.items():
            values = FROZEN.values[measure][moving, FROZEN.tasks.index(task)]
            values = values[np.isfinite(values).all(axis=1)]
            error = values.std(axis=1, ddof=1) / np.sqrt(FROZEN.n_runs)
            assert np.all(values.mean(axis=1) >= bound - 4 * error - 1e-3), (task, measure)
