"""The frozen results of the repository: complete, and equal to what the code computes now."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from berlyne.benchmarks import AGENTS, TUNED, Scoreboard, run, suite
from berlyne.benchmarks.scores import task_bound
from berlyne.benchmarks.suite import PRESETS, SPLITS

FILE = Path(__file__).parents[3] / "benchmarks" / "baselines.json"
FROZEN = Scoreboard.load(FILE)


def test_all_explorers_and_tasks_are_frozen():
    assert FROZEN.agents == (*AGENTS, *TUNED) and FROZEN.seed == SPLITS["test"]
    assert FROZEN.tasks == tuple(task.name for task in suite(FROZEN.suite))
    n_runs, share = PRESETS["quick"]
    assert FROZEN.n_runs == n_runs and FROZEN.n_steps == tuple(round(share * task.n_steps) for task in suite())
    missing = np.argwhere(np.isnan(FROZEN.values["missing_information"]).any(axis=2)).tolist()
    assert missing == [[i, FROZEN.tasks.index("taxi")] for i in range(len(AGENTS), len(FROZEN.agents))]


def test_frozen_results_are_computed_again(tmp_path):
    names = ["PIG(VI)", "RF-UCRL", "PSRL(PIG)", "FW-AME(steps_back=30, replan=1)"]
    tasks = suite().select(["river-swim-20", "chain-russo"])
    board = Scoreboard.from_results(run(tasks, names, tmp_path / "r.zarr", preset="quick", progress=False))
    columns = [FROZEN.tasks.index(task) for task in board.tasks]
    for i, name in enumerate(names):
        for measure in ("area", "mean_l1", "reward_loss"):
            frozen = FROZEN.values[measure][FROZEN.agents.index(name)][columns]
            assert board.values[measure][i] == pytest.approx(frozen, rel=1e-4, abs=1e-6), (name, measure)


@pytest.mark.parametrize("task", ["river-swim", "deep-sea"])
def test_frozen_bounds_are_computed_again(task):
    n_steps = FROZEN.n_steps[FROZEN.tasks.index(task)]
    assert task_bound(suite()[task], n_steps, FROZEN.seed, FROZEN.n_runs) == pytest.approx(
        FROZEN.bounds[task], rel=1e-4
    )


def test_no_explorer_that_moves_is_clearly_below_the_bound():
    moving = [i for i, name in enumerate(FROZEN.agents) if name != "Generative"]
    for task, bound in FROZEN.bounds.items():
        values = FROZEN.values["missing_information"][moving, FROZEN.tasks.index(task)]
        error = values.std(axis=1, ddof=1) / np.sqrt(FROZEN.n_runs)
        assert np.all(values.mean(axis=1) >= bound - 4 * error - 1e-3), task
