"""A stage is reused only while all settings that determine its numbers are unchanged."""

from __future__ import annotations

import shutil
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import xarray as xr

from berlyne.experiments import Experiment
from berlyne.paper.reproduction import freshness as freshness_module
from berlyne.paper.reproduction import paper_run as study_module
from berlyne.paper.reproduction import run as run_module
from berlyne.paper.reproduction.freshness import Freshness
from berlyne.paper.reproduction.paper_run import PaperRun
from berlyne.paper.reproduction.parts import all_parts
from berlyne.paper.reproduction.run import reproduce
from berlyne.paper.reproduction.stages import STAGES
from berlyne.paper.reproduction.stages.base import Stage
from berlyne.paper.reproduction.variants import Variant
from berlyne.priors import Refit
from berlyne.strategies.coordination import QLearning, ValueIteration
from berlyne.strategies.registry import STRATEGIES, Strategy
from berlyne.worlds import WORLDS, maze

CHANGES: dict[tuple[str, str], Any] = {
    ("structure", "horizon"): 21,
    ("gains", "n_obs"): 19,
    ("gains", "n_trials"): 51,
    ("tasks", "n_rewards"): 11,
    ("tasks", "horizon"): 99,
    ("tasks", "cap_per_state"): 21,
    ("tasks", "ties"): "lowest",
    ("tasks", "paid"): "leaving",
    ("learned", "strategy"): "PIG(greedy)",
    ("learned", "starts"): (1.0, 9.0),
    ("learned", "bounds"): (0.6, 2.0),
    ("learned", "refit"): Refit(always=100, growth=0.0, tolerance=1e-3),
    ("lengths", "strategies"): ("PIG(VI)", "Unembodied"),
    ("lengths", "shortest"): 0.03,
    ("lengths", "longest"): 2.5,
    ("lengths", "n_lengths"): 149,
    ("sensitivity", "variants"): (Variant("gamma", "R5", "another discount", {"gamma": 0.9}),),
}
every_change = pytest.mark.parametrize(("name", "setting"), CHANGES)
every_stage = pytest.mark.parametrize("name", STAGES)


def changed(name: str, setting: str) -> Stage:
    return replace(STAGES[name], **{setting: CHANGES[name, setting]})


@pytest.fixture(scope="module")
def finished_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with something of every stage."""
    folder = tmp_path_factory.mktemp("kept")
    paper_run = PaperRun(folder, 4, 0)
    for stage in STAGES.values():
        paper_run.save_stage(stage, xr.Dataset({"x": ("world", [1.0])}))
    freshness(folder).record(*STAGES)
    return folder


def freshness(folder: Path, n_worlds: int = 4, seed: int = 0) -> Freshness:
    return Freshness(PaperRun(folder, n_worlds, seed), all_parts())


def fresh(folder: Path) -> set[str]:
    """Return the stages of a folder that need not be computed again."""
    return {name for name in STAGES if freshness(folder).is_current(name)}


def test_every_setting_of_every_stage_is_changed_here() -> None:
    assert set(CHANGES) == {(name, field.name) for name, stage in STAGES.items() for field in fields(stage)}


def test_finished_stages_are_current(finished_folder: Path) -> None:
    assert fresh(finished_folder) == set(STAGES)


@every_change
def test_a_stage_with_another_setting_is_not_there(
    name: str, setting: str, finished_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(STAGES, name, changed(name, setting))
    assert fresh(finished_folder) == set(STAGES) - {name} - after(name)
    assert setting in freshness(finished_folder).why_stale(name)


def after(name: str) -> set[str]:
    """Return the stages that are computed from another."""
    return {"sensitivity"} if name == "tasks" else set()


@every_stage
def test_a_stage_of_another_study_is_not_there(name: str, finished_folder: Path) -> None:
    assert "n_worlds" in freshness(finished_folder, 5).why_stale(name)
    assert "seed" in freshness(finished_folder, 4, 1).why_stale(name)


def test_stages_of_other_runs_are_not_there(finished_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(WORLDS, "maze", replace(WORLDS["maze"], make=lambda seed: maze(seed, n_transporters=29)))
        assert fresh(finished_folder) == set()


@pytest.mark.parametrize(
    ("strategy", "stale"),
    [
        (Strategy("PIG(VI)", ValueIteration(steps_back=9), "PIG"), {"tasks", "learned", "sensitivity"}),
        (Strategy("PEIG(Q)", QLearning(epsilon=0.25), "PEIG"), {"tasks", "sensitivity"}),
        (Strategy("Unembodied", STRATEGIES["Unembodied"].coordinate, "PMC"), {"tasks", "lengths", "sensitivity"}),
    ],
    ids=["PIG(VI)", "PEIG(Q)", "Unembodied"],
)
def test_stages_of_another_strategy_of_that_name_are_not_there(
    strategy: Strategy, stale: set[str], finished_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(STRATEGIES, strategy.name, strategy)
    assert fresh(finished_folder) == set(STAGES) - stale


def test_a_stage_of_an_earlier_version_without_a_record_is_not_there(tmp_path: Path) -> None:
    PaperRun(tmp_path, 4, 0).save_stage(STAGES["structure"], xr.Dataset({"x": ("world", [1.0])}))
    assert not freshness(tmp_path).is_current("structure")
    assert "recorded" in freshness(tmp_path).why_stale("structure")
    assert freshness(tmp_path).why_stale("gains") == ""  # it is missing, not stale


@pytest.mark.parametrize("package", ["numpy", "numba"])
def test_stages_of_another_version_of_a_package_are_not_there(
    package: str, finished_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = freshness_module.version
    monkeypatch.setattr(freshness_module, "version", lambda name: "9.9" if name == package else usual(name))
    freshness_module._code.cache_clear()
    try:
        assert fresh(finished_folder) == set()
        assert f"{package} is 9.9, was {usual(package)}" in freshness(finished_folder).why_stale("gains")
    finally:
        freshness_module._code.cache_clear()


class StoppedError(Exception):
    """Exploring was interrupted."""


def test_interrupted_explorations_are_resumed_with_the_same_sources_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, found = tmp_path / "results.zarr", []

    def explore(_: Experiment, path: Path, **__: Any) -> None:
        found.append(path.is_dir())
        path.mkdir(exist_ok=True)
        raise StoppedError

    settings = SimpleNamespace(settings={"seed": 0, "n_worlds": 4})
    monkeypatch.setattr(Experiment, "run", explore)
    for module in (run_module, study_module):
        monkeypatch.setattr(module, "open_results", lambda _: settings)

    def explore_again() -> bool:
        """Return whether earlier explorations were still there."""
        with pytest.raises(StoppedError):
            reproduce(tmp_path, 4, jobs=1, only=("explorations",))
        return found[-1]

    assert [explore_again(), explore_again()] == [False, True]
    made = tmp_path / "data" / "made.json"
    source = '"berlyne/engine/value_iteration.py": "'
    made.write_text(made.read_text().replace(source, f"{source}0"))
    assert [explore_again(), explore_again()] == [False, True]
    made.unlink()
    assert [explore_again(), explore_again()] == [False, True]
    assert path.is_dir()


def test_a_stage_that_was_removed_is_not_there(finished_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(finished_folder, tmp_path / "copy")
    shutil.rmtree(tmp_path / "copy" / "data" / "gains.zarr")
    assert fresh(tmp_path / "copy") == set(STAGES) - {"gains"}


@pytest.fixture
def computed_stages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of stages that a reproduction computes, without computing them."""
    done: list[str] = []

    def pretend(stage: Stage, paper_run: PaperRun, map_items: Any) -> xr.Dataset:
        done.append(stage.name)
        return xr.Dataset({"x": ("world", [1.0])})

    monkeypatch.setattr(Experiment, "run", lambda *_, **__: None)
    monkeypatch.setattr(run_module, "FIGURES", {})  # one has the name of a stage
    for stage in STAGES.values():
        monkeypatch.setattr(type(stage), "compute", pretend)
    return done


def test_current_stages_are_not_computed_again(tmp_path: Path, computed_stages: list[str]) -> None:
    for _ in range(2):
        reproduce(tmp_path, 4, jobs=1, only=tuple(STAGES))
        assert computed_stages == list(STAGES)


@every_change
def test_only_the_stage_whose_setting_changed_is_computed_again(
    name: str,
    setting: str,
    finished_folder: Path,
    tmp_path: Path,
    computed_stages: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.copytree(finished_folder, tmp_path / "kept")
    monkeypatch.setitem(STAGES, name, changed(name, setting))
    reproduce(tmp_path / "kept", 4, jobs=1, only=tuple(STAGES))
    assert set(computed_stages) == {name} | after(name)


@pytest.mark.parametrize(
    ("part", "rests_on"),
    [
        ("structure", set()),
        ("gains", set()),
        ("lengths", set()),
        ("tasks", {"explorations"}),
        ("learned", {"explorations"}),
        ("sensitivity", {"explorations", "structure", "tasks"}),
        ("fig1", set()),
        ("fig2", {"gains"}),
        ("fig3", {"explorations"}),
        ("fig5", {"explorations", "structure"}),
        ("fig8", {"explorations", "tasks"}),
        ("figS5", {"explorations", "learned"}),
        ("index-by-length", {"lengths"}),
        ("claims", {"explorations", "structure", "gains", "tasks", "learned"}),
        ("report", set(run_module.PARTS)),
    ],
)
def test_stages_that_a_part_needs_are_computed_with_it(part: str, rests_on: set[str]) -> None:
    assert run_module._with_needed((part,)) == {part} | rests_on


def test_the_experiment_of_a_study_is_made_once(tmp_path: Path) -> None:
    paper_run = PaperRun(tmp_path, 4, 0)
    assert paper_run.experiment is paper_run.experiment
    assert paper_run.world("maze", 1) is paper_run.world("maze", 1)


def test_the_sizes_of_presets_are_those_of_the_documentation() -> None:
    assert study_module.PRESETS == {"smoke": 4, "quick": 20, "paper": 200}
