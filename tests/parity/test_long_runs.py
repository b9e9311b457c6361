"""Long runs and runs in extreme worlds, in a process of their own, because they used to crash.

Ties within a tolerance are not transitive. Once utilities differ by about the tolerance, a tournament that counts ties
at every node by the node's own bound gives a wrong total.
"""

import json
import subprocess
import sys

import pytest

from waiting import LIMIT

SCRIPT = """
import json, sys
import numpy as np
import berlyne
for make, options, strategy, n_steps, seed in json.loads(sys.argv[1]):
    world = getattr(berlyne, make)(**options)
    run = berlyne.explore(world, strategy, n_steps=n_steps, seed=seed)
    missing, exact = run.missing_information, run.model.missing_information(world)
    print(json.dumps([
        int(run.actions.min()), int(run.actions.max()) < world.n_actions, int(run.counts.n.sum()),
        bool(np.all(np.isfinite(missing))), bool(abs(missing[-1] - exact) < 1e-7 * (1 + exact)),
    ]), flush=True)
"""
CASES = [
    ("dense_world", {"seed": 0, "n_states": 7}, "Unembodied", 10**6, 0),
    ("maze", {"seed": 1, "side": 7}, "Unembodied", 10**6, 1),
    ("dense_world", {"seed": 0, "n_states": 6, "n_actions": 3}, "Unembodied", 10**5, 0),
    ("dense_world", {"seed": 0, "n_states": 40, "n_actions": 3, "alpha": 1000.0}, "Unembodied", 60_000, 0),
    ("dense_world", {"seed": 0, "alpha": 100.0}, "Unembodied", 20_000, 0),
    ("dense_world", {"seed": 0, "alpha": 1e-12}, "PEIG(VI)", 3000, 0),
    ("dense_world", {"seed": 0, "alpha": 1e-300}, "PIG(VI)", 3000, 0),
    ("dense_world", {"seed": 0, "alpha": 1e12}, "PIG(VI)", 3000, 0),
    ("maze", {"seed": 0}, "PIG(VI)", 10**6, 0),
]


@pytest.fixture(scope="module")
def ended():
    """What the process prints about each case; after a crash, lines are missing."""
    asked = [sys.executable, "-c", SCRIPT, json.dumps(CASES)]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=LIMIT)
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr[-2000:]


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: str(CASES[number]))
def test_long_and_extreme_runs_end_well(number, ended):
    lines, errors = ended
    assert len(lines) > number, errors
    lowest, in_range, n_seen, finite, exact = lines[number]
    assert lowest >= 0 and in_range and n_seen == CASES[number][3] and finite and exact
