"""Running explorers on a suite: measures, resuming, explorers of the user, and commands."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from berlyne import Strategy, explore, open_results
from berlyne.benchmarks import AGENTS, check, experiment, run, suite
from berlyne.benchmarks.measures import MEASURES, Evaluator
from berlyne.benchmarks.running import load_agent
from berlyne.cli import commands
from berlyne.strategies.coordination import ValueMethod
from berlyne.strategies.registry import STRATEGIES
from messages import raises

SMALL = suite().select(["river-swim", "river-swim-20"])
MODULE = """
import numpy as np
from berlyne import Strategy
from berlyne.strategies.coordination import Greedy

class Mine:
    def values(self, view, s):
        return -view.n[:, s].astype(float)

class Moody:
    def values(self, view, s):
        return np.random.random(view.n_actions)

class Broken:
    def values(self, view, s):
        return [1.0]

named = Strategy("my PIG", Greedy(), "PIG")
text = "PIG(VI, gamma=0.9)"
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "mymodule.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    yield "mymodule"
    import sys

    sys.modules.pop("mymodule", None)


def test_measures_in_the_store_are_those_of_the_path(tmp_path):
    results = run(SMALL, ["PIG(VI)", "Random"], tmp_path / "r.zarr", preset="smoke", progress=False)
    assert results.classes == ["river-swim", "river-swim-20"] and results.is_complete
    data = results.of("river-swim-20")
    world = SMALL["river-swim-20"].world(0)
    history = results.history("river-swim-20/001", "PIG(VI)")
    measured = Evaluator(world).measure(*history.T)
    stored = data.sel(world="river-swim-20/001", strategy="PIG(VI)")
    for name in ("mean_l1", "largest_l1", "pair_entropy", "share_tried"):
        assert stored[name].item() == pytest.approx(getattr(measured, name))
    assert stored["missing_information"].values[-1] == pytest.approx(measured.missing_information[-1], rel=1e-5)
    assert set(MEASURES) - {"area"} <= set(data) and np.all(data["microseconds"] > 0)
    assert np.all(data["reward_loss"] >= 0) and np.all(data["worst_reward_loss"] >= data["reward_loss"])


def test_more_explorers_are_added_to_a_store(tmp_path):
    place = tmp_path / "r.zarr"
    before = run(SMALL, ["Random"], place, preset="smoke", progress=False).areas("river-swim").sel(strategy="Random")
    after = run(SMALL, ["Random", "PIG(VI)"], place, preset="smoke", progress=False).areas("river-swim")
    assert np.array_equal(after.sel(strategy="Random"), before) and after.notnull().all()


def test_splits_have_other_seeds_and_explorers_are_paired():
    studies = {split: experiment(SMALL, ["Random", "LTA"], split=split, preset="smoke") for split in ("test", "tuning")}
    assert studies["test"].seed != studies["tuning"].seed
    test = studies["test"]
    assert test.stream_at(0, "Random").entropy == pytest.approx(test.stream_at(0, "LTA").entropy)
    with raises(ValueError, "split", "'train'", "tuning"):
        experiment(SMALL, split="train")
    with raises(ValueError, "preset", "'huge'", "quick"):
        experiment(SMALL, preset="huge")


def test_explorers_of_the_benchmark_exist():
    assert [load_agent(name).name for name in AGENTS] == list(AGENTS)
    assert {"BEB(VI)", "1/√n(VI)", "R-max(VI)", "RF-Express", "RF-UCRL", "MaxEnt", "FW-AME", "PSRL(PIG)"} <= set(
        STRATEGIES
    )


def test_explorers_are_loaded_from_modules(module):
    mine = load_agent("mymodule:Mine")
    assert mine.name == "mymodule:Mine" and isinstance(mine, Strategy)
    world = SMALL["river-swim"].world(0)
    assert np.array_equal(explore(world, mine, n_steps=50).actions, explore(world, "LTA", n_steps=50).actions)
    assert load_agent("mymodule:named").name == "my PIG" and load_agent("mymodule:text").coordinate.gamma == 0.9
    with raises(ValueError, "'mymodule:nothing'", "nothing"):
        load_agent("mymodule:nothing")


def test_checks_find_chance_and_mistakes(module):
    lines = check("mymodule:Mine", tasks=["river-swim"])
    assert len(lines) == 2 and "µs per step" in lines[1]
    with raises(ValueError, "mymodule:Moody", "river-swim", "view.rng"):
        check("mymodule:Moody", tasks=["river-swim"])
    with raises(ValueError, "mymodule:Broken", "river-swim"):
        check("mymodule:Broken", tasks=["river-swim"])


def test_commands(module, tmp_path):
    runner = CliRunner()

    def call(*words):
        outcome = runner.invoke(commands, ["benchmark", *words], catch_exceptions=False)
        assert outcome.exit_code == 0, outcome.output
        return outcome.output

    assert "deep-sea" in call("list") and "PSRL(PIG)" in call("list")
    assert "mymodule:Mine" in call("check", "mymodule:Mine")
    options = "--tasks", "river-swim", "--preset", "smoke", "--quiet", "-o", str(tmp_path / "r.zarr")
    call("run", "tabular-v1", "--agents", "Random", "--agents", "mymodule:Mine", *options)
    assert open_results(tmp_path / "r.zarr").strategies == ["Random", "mymodule:Mine"]


def test_a_method_that_is_an_object_of_a_class_with_values():
    assert load_agent(Strategy("x", ValueMethod())).name == "x"
