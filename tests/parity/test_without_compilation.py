"""With compilation off, kernels run as plain Python and must agree with the vector code."""

import contextlib
import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from waiting import LIMIT

SCRIPT = """
import json
from berlyne import STRATEGIES, ChineseRestaurant, Dirichlet, Explorer, explore
from parity.cases import AWKWARD, CLASSES
found = {}
awkward = "5 actions", "7 actions", "sparse truth", "5 targets", "unequal alphas"
kinds = {**CLASSES, **{name: AWKWARD[name] for name in awkward}}
for kind, make in kinds.items():
    for name in STRATEGIES:
        run = explore(make(1), name, n_steps=12, seed=2, engine="compiled")
        found[f"{kind}/{name}"] = run.actions.tolist(), run.states.tolist(), run.missing_information[-1]
for name in ("PIG(VI)", "PEIG(greedy)"):
    world = CLASSES["dense"](1)
    world = world.with_prior(Dirichlet("ml", n_states=world.n_states, n_actions=world.n_actions))
    run = explore(world, name, n_steps=40, seed=2, engine="compiled")
    found[f"learned/{name}"] = run.actions.tolist(), run.learned.round(9).tolist(), run.missing_information[-1]
for c in (0.8, "ml"):
    world = CLASSES["maze"](1).with_prior(ChineseRestaurant(c)).with_horizon(9)
    run = explore(world, "PIG(VI)", n_steps=60, seed=2, engine="compiled")
    found[f"open/{c}"] = run.actions.tolist(), run.states.tolist(), run.missing_information[-1]
explorer = Explorer(Dirichlet(0.5, n_states=40, n_actions=3), seed=2)
told = [(0, explorer.act(0), s_next) for s_next in range(20)]
for step in told:
    explorer.observe(*step)
found["explorer"] = told, [explorer.act(s) for s in range(40)], float(explorer.utility()[:, 0].sum())
print(json.dumps(found))
"""

TASKS = """
import json
from berlyne import dense_world, explore, maze, one_two_three_world
from berlyne.tasks import Tasks, draw_rewards
worlds = dense_world(1, n_states=5, n_actions=6), maze(1, side=4, n_transporters=2), one_two_three_world(1, n_states=13)
found = {}
for world in worlds:
    counts = list(explore(world, "CB", n_steps=60, seed=1, snapshots=[7, 60]).snapshots.values())
    for ties in ("uniform", "lowest"):
        tasks = Tasks(world, draw_rewards(world.n_states, 1), cap=50, horizon=5, ties=ties)
        found[f"{world.name}/{ties}"] = tasks.losses([*counts, world.prior.estimate(counts[0].dense())]).tolist()
print(json.dumps(found))
"""


def compiled_and_plain(script):
    """What a script prints in this process, and in one without compilation."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(script, {})
    return json.loads(printed.getvalue()), in_plain_python(script)


def in_plain_python(script):
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT,
    )
    return json.loads(done.stdout)


def test_compiled_and_plain_python_kernels_act_alike():
    compiled, plain = compiled_and_plain(SCRIPT)
    assert compiled.keys() == plain.keys()
    for name, (actions, states, missing) in compiled.items():
        assert plain[name][:2] == [actions, states], name
        assert plain[name][2] == pytest.approx(missing, abs=1e-9), name


def test_compiled_and_plain_python_kernels_lose_alike():
    compiled, plain = compiled_and_plain(TASKS)
    assert compiled.keys() == plain.keys()
    for name in compiled:
        (steps, reward), (plain_steps, plain_reward) = (np.transpose(losses[name]) for losses in (compiled, plain))
        assert plain_steps == pytest.approx(steps, abs=2e-6), name  # rounding decides which sweep is the last
        assert plain_reward == pytest.approx(reward, abs=1e-9), name
        assert min(steps.min(), reward.min()) > 0.1
