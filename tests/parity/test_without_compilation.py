"""With compilation off, kernels run as plain Python and must agree with the vector code."""

import contextlib
import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from amounts import amount
from berlyne import STRATEGIES
from waiting import LIMIT

SCRIPT = (
    f"IS_FULL, N_STEPS = {amount((False, 5), (True, 12))}"
    + """
import json
import pairwise
from berlyne import STRATEGIES, ChineseRestaurant, Dirichlet, Explorer, explore
from parity.cases import AWKWARD, CLASSES
found = {}
awkward = "5 actions", "7 actions", "sparse truth", "5 targets", "unequal alphas"
kinds = {**CLASSES, **{name: AWKWARD[name] for name in awkward}}
cases = [{"kind": kind, "strategy": name} for kind in kinds for name in STRATEGIES]
kept = [True] * len(cases) if IS_FULL else pairwise.select(pairwise.numbered(cases))
for case, is_kept in zip(cases, kept):
    if is_kept:
        run = explore(kinds[case["kind"]](1), case["strategy"], n_steps=N_STEPS, seed=2, engine="compiled")
        found["/".join(case.values())] = run.actions.tolist(), run.states.tolist(), run.missing_information[-1]
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
)

TASKS = (
    f"SNAPSHOTS = {amount([60], [7, 60])}"
    + """
import json
from berlyne import dense_world, explore, maze, one_two_three_world
from berlyne.tasks import Tasks, draw_rewards
worlds = dense_world(1, n_states=5, n_actions=6), maze(1, side=4, n_transporters=2), one_two_three_world(1, n_states=13)
found = {}
for world in worlds:
    counts = list(explore(world, "CB", n_steps=60, seed=1, snapshots=SNAPSHOTS).snapshots.values())
    for ties in ("uniform", "lowest"):
        tasks = Tasks(world, draw_rewards(world.n_states, 1), cap=50, horizon=5, ties=ties)
        found[f"{world.name}/{ties}"] = tasks.losses([*counts, world.prior.estimate(counts[0].dense())]).tolist()
print(json.dumps(found))
"""
)


@pytest.fixture(scope="module")
def plain():
    """What each script prints in one process without compilation."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT + "\n" + TASKS],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def compiled(script):
    """What a script prints in this process."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(script, {})
    return json.loads(printed.getvalue())


def test_compiled_and_plain_python_kernels_act_alike(plain):
    here, there = compiled(SCRIPT), plain[0]
    assert {name.split("/", 1)[1] for name in here if "/" in name} >= set(STRATEGIES)
    assert here.keys() == there.keys()
    for name, (actions, states, missing) in here.items():
        assert there[name][:2] == [actions, states], name
        assert there[name][2] == pytest.approx(missing, abs=1e-9), name


def test_compiled_and_plain_python_kernels_lose_alike(plain):
    here, there = compiled(TASKS), plain[1]
    assert here.keys() == there.keys()
    for name in here:
        (steps, reward), (plain_steps, plain_reward) = (np.transpose(losses[name]) for losses in (here, there))
        assert plain_steps == pytest.approx(steps, abs=2e-6), name  # rounding decides which sweep is the last
        assert plain_reward == pytest.approx(reward, abs=1e-9), name
        assert min(steps.min(), reward.min()) > 0.1
