"""Long runs and runs in extreme worlds, in separate processes, because they used to crash.

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
make, options, strategy, n_steps, seed = json.loads(sys.argv[1])
world = getattr(berlyne, make)(**options)
run = berlyne.explore(world, strategy, n_steps=n_steps, seed=seed)
missing, exact = run.missing_information, run.model.missing_information(world)
print(json.dumps([
    int(run.actions.min()), int(run.actions.max()) < world.n_actions, int(run.counts.n.sum()),
    bool(np.all(np.isfinite(missing))), bool(abs(missing[-1] - exact) < 1e-7 * (1 + exact)),
]))
"""


@pytest.mark.parametrize(
    "case",
    [
        ("dense_world", {"seed": 0, "n_states": 7}, "Unembodied", 10**6, 0),
        ("maze", {"seed": 1, "side": 7}, "Unembodied", 10**6, 1),
        ("dense_world", {"seed": 0, "n_states": 6, "n_actions": 3}, "Unembodied", 10**5, 0),
        ("dense_world", {"seed": 0, "n_states": 40, "n_actions": 3, "alpha": 1000.0}, "Unembodied", 60_000, 0),
        ("dense_world", {"seed": 0, "alpha": 100.0}, "Unembodied", 20_000, 0),
        ("dense_world", {"seed": 0, "alpha": 1e-12}, "PEIG(VI)", 3000, 0),
        ("dense_world", {"seed": 0, "alpha": 1e-300}, "PIG(VI)", 3000, 0),
        ("dense_world", {"seed": 0, "alpha": 1e12}, "PIG(VI)", 3000, 0),
        ("maze", {"seed": 0}, "PIG(VI)", 10**6, 0),
    ],
    ids=str,
)
def test_long_and_extreme_runs_end_well(case):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(case)], capture_output=True, text=True, timeout=LIMIT
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lowest, in_range, n_seen, finite, exact = json.loads(done.stdout)
    assert lowest >= 0 and in_range and n_seen == case[3] and finite and exact
