"""With compilation off the kernels run as plain Python, which says what the vector code must do."""

import json
import os
import subprocess
import sys

import pytest

SCRIPT = """
import json
from berlyne import STRATEGIES, Dirichlet, Explorer, explore
from parity.zoo import AWKWARD, CLASSES
found = {}
kinds = {**CLASSES, **{name: AWKWARD[name] for name in ("5 actions", "7 actions", "sparse truth", "5 targets")}}
for kind, make in kinds.items():
    for name in STRATEGIES:
        run = explore(make(1), name, n_steps=12, seed=2, engine="compiled")
        found[f"{kind}/{name}"] = run.actions.tolist(), run.states.tolist(), run.missing_information[-1]
explorer = Explorer(Dirichlet(0.5, n_states=40, n_actions=3), seed=2)
told = [(0, explorer.act(0), s_next) for s_next in range(20)]
for step in told:
    explorer.observe(*step)
found["explorer"] = told, [explorer.act(s) for s in range(40)], float(explorer.utility()[:, 0].sum())
print(json.dumps(found))
"""


def results(**environment):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_compiled_and_plain_python_kernels_act_alike():
    compiled, plain = results(NUMBA_DISABLE_JIT="0"), results(NUMBA_DISABLE_JIT="1")
    assert compiled.keys() == plain.keys()
    for name, (actions, states, missing) in compiled.items():
        assert plain[name][:2] == [actions, states], name
        assert plain[name][2] == pytest.approx(missing, abs=1e-9), name
