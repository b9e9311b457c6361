"""Assumptions of a reproduction can be set, are validated, and reach every stage that depends on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from berlyne.experiments.spec import SettingsError
from berlyne.experiments.store import StoreError
from berlyne.paper.reproduction.assumptions import DEFAULT, KEYS, Assumptions, parse_assumptions
from berlyne.paper.reproduction.freshness import Freshness
from berlyne.paper.reproduction.paper_run import PaperRun, read_assumptions, write_marker
from berlyne.paper.reproduction.paper_text import READINGS
from berlyne.paper.reproduction.parts import all_parts
from berlyne.paper.reproduction.stages import STAGES
from berlyne.paper.reproduction.variants import VARIANTS
from berlyne.strategies.registry import STRATEGIES, get_strategy

ALL = set(STAGES)
OTHER: dict[str, tuple[Any, set[str]]] = {  # a value that is not the default, and the stages that it decides
    "gamma": (0.9, {"tasks", "learned", "sensitivity"}),
    "steps_back": (5, {"tasks", "learned", "sensitivity"}),
    "untried": (0.0, {"tasks", "sensitivity"}),
    "q.learning_rate": (0.1, {"tasks", "sensitivity"}),
    "q.gamma": (0.5, {"tasks", "sensitivity"}),
    "q.epsilon": (0.1, {"tasks", "sensitivity"}),
    "q.initial": (1.0, {"tasks", "sensitivity"}),
    "ties": ("first", {"tasks", "learned", "lengths", "sensitivity"}),
    "dense.n_steps": (30, ALL),
    "dense.n_states": (5, ALL),
    "dense.n_actions": (3, ALL),
    "dense.alpha": (0.5, ALL),
    "maze.n_steps": (30, ALL),
    "maze.side": (4, ALL),
    "maze.n_transporters": (4, ALL),
    "maze.alpha": (0.5, ALL),
    "maze.law": ("directions", ALL),
    "1-2-3.n_steps": (30, ALL),
    "1-2-3.n_states": (10, ALL),
    "1-2-3.n_actions": (2, ALL),
    "1-2-3.p_escape": (0.5, ALL),
    "1-2-3.formula": ("printed", ALL),
    "1-2-3.ergodic": (False, ALL),
    "index": ("ratio of means", set()),
    "pool": ("all", set()),
    "tasks.cap_per_state": (5, {"tasks", "sensitivity"}),
    "tasks.times": ((0.1, 1.0), ALL),
    "tasks.ranking": ("average loss", set()),
    "tasks.horizon": (50, {"tasks", "sensitivity"}),
    "tasks.paid": ("leaving", {"tasks", "sensitivity"}),
    "tasks.n_rewards": (3, {"tasks", "sensitivity"}),
    "tasks.ties": ("lowest", {"tasks", "sensitivity"}),
    "learned.starts": ((0.5,), {"learned"}),
}
every_key = pytest.mark.parametrize("key", KEYS)


def test_every_key_is_tried_here() -> None:
    assert set(OTHER) == set(KEYS)
    assert all(OTHER[key][0] != KEYS[key].default for key in KEYS)


@every_key
def test_assumptions_reach_every_stage_that_depends_on_them(key: str, tmp_path: Path) -> None:
    usual, other = (
        Freshness(PaperRun(tmp_path, 2, 0, assumed), all_parts())
        for assumed in (DEFAULT, DEFAULT.replace({key: OTHER[key][0]}))
    )
    stale = {name for name in usual.parts if usual.expected(name) != other.expected(name)}
    assert stale & set(STAGES) == OTHER[key][1]
    assert set(usual.parts) - stale - set(STAGES) == {"explorations"}  # their store refuses other settings itself


@every_key
def test_the_default_is_no_change(key: str) -> None:
    assert DEFAULT.replace({key: KEYS[key].default}) == DEFAULT
    assert DEFAULT.replace({key: OTHER[key][0]}).changed == {key: OTHER[key][0]}
    assert DEFAULT[key] == KEYS[key].default
    assert KEYS[key].reading in {*READINGS, ""}


def test_strategies_and_worlds_are_as_assumed() -> None:
    assumed = DEFAULT.replace({"gamma": 0.9, "q.epsilon": 0.1, "untried": 0.0, "ties": "first", "maze.alpha": 0.5})
    of = assumed.strategies
    assert of["PIG(VI)"] == get_strategy("PIG(VI)", gamma=0.9, ties="first")
    assert of["PIG(VI+)"] == get_strategy("PIG(VI+)", gamma=0.9, ties="first")
    assert of["PEIG(Q)"] == get_strategy("PEIG(Q)", epsilon=0.1, untried=0.0)
    assert of["Random"] == STRATEGIES["Random"]
    assert of["LTA"] == get_strategy("LTA", ties="first")
    paper_run = PaperRun(Path(), 2, 0, assumed)
    assert paper_run.world("maze", 1).prior.alpha == 0.5
    assert paper_run.world("dense", 1).prior.alpha == 1.0
    assert DEFAULT.replace({"maze.n_steps": 77}).experiment(2, 0).classes[1].n_steps == 77
    assert DEFAULT.replace({"tasks.times": [0.5, 1.0]}).experiment(2, 0).snapshots == (0.5, 1.0)


def test_the_default_experiment_is_that_of_the_paper() -> None:
    description = DEFAULT.experiment(4, 0).describe()
    assert description["strategies"] == list(DEFAULT.strategies)
    assert {name: world["n_steps"] for name, world in description["worlds"].items()} == {
        "dense": 3000, "maze": 2500, "1-2-3": 1250,
    }  # fmt: skip
    assert description["snapshots"] == [0.02, 0.05, 0.1, 0.25, 0.5, 1.0]


def test_a_file_and_options_give_the_same_assumptions(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'gamma = 0.9\nuntried = 0\n[maze]\nlaw = "directions"\n["1-2-3"]\nn_steps = 100\n[tasks]\ntimes=[1]\n'
    )
    texts = ["gamma=0.9", "untried=0", "maze.law=directions", "1-2-3.n_steps=100", "tasks.times=[1.0]"]
    assert parse_assumptions((), file) == parse_assumptions(texts)
    assert parse_assumptions(["gamma=0.8"], file)["gamma"] == 0.8  # a text comes after the file
    assert parse_assumptions() == DEFAULT


@pytest.mark.parametrize(
    ("assumption", "message"),
    [
        ("gama=0.9", r"gama: .*gamma"),
        ("maze.alfa=0.9", r"maze.alfa: .*maze.alpha"),
        ("zzzzzzzz=1", r"zzzzzzzz: .*gamma, steps_back"),
        ("gamma", r"--set gamma: .*key=value"),
        ("=3", r"--set =3: .*key=value"),
        ("gamma=high", r"gamma is 'high'.*number"),
        ("gamma=2", r"gamma is 2.0.*\[0, 1\]"),
        ("gamma=nan", r"gamma is nan.*number"),
        ("steps_back=2.5", r"steps_back is 2.5.*whole number"),
        ("untried=much", r"untried is 'much'.*number"),
        ("pool=some", r"pool is 'some'.*'curves'.*'figure'.*'all'"),
        ("tasks.times=2", r"tasks.times is 2.*list of numbers"),
        ("tasks.times=[0.5, 3.0]", r"snapshots\[1\] is 3.0.*1250"),
        ("tasks.cap_per_state=0", r"tasks.cap_per_state is 0.*at least 1"),
        ("learned.starts=[0]", r"learned.starts is 0.0.*at least"),
        ("maze.alpha=-1", r"worlds.maze: alpha is -1.0"),
        ("maze.law=none", r"worlds.maze: law is 'none'"),
        ("1-2-3.n_steps=0", r"n_steps.1-2-3 is 0"),
    ],
)
def test_invalid_assumptions_give_one_sentence(assumption: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_assumptions([assumption])


@pytest.mark.parametrize("text", ["gamma = ", "\udcff", "a = [" * 5000])
def test_a_file_that_is_not_toml_gives_one_sentence(text: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(SettingsError, match=r"mine\.toml is not valid TOML"):
        parse_assumptions((), file)
    with pytest.raises(SettingsError, match=r"file \S+none\.toml does not exist"):
        parse_assumptions((), tmp_path / "none.toml")


def test_a_folder_stores_its_assumptions(tmp_path: Path) -> None:
    mine = DEFAULT.replace({"gamma": 0.9, "tasks.times": [0.5, 1.0]})
    write_marker(PaperRun(tmp_path, 4, 0, mine))
    assert read_assumptions(tmp_path) == mine
    write_marker(PaperRun(tmp_path, 4, 0, mine))
    with pytest.raises(SettingsError, match=r"gamma = 0.9, tasks.times = .*the default"):
        write_marker(PaperRun(tmp_path, 4, 0))


def test_a_folder_without_a_mark_that_holds_explorations_assumes_the_default(tmp_path: Path) -> None:
    (tmp_path / "results.zarr").mkdir()
    write_marker(PaperRun(tmp_path, 4, 0))
    assert read_assumptions(tmp_path) == DEFAULT
    (tmp_path / "reproduction.json").unlink()
    with pytest.raises(SettingsError, match=r"the default.*gamma = 0.9"):
        write_marker(PaperRun(tmp_path, 4, 0, Assumptions({"gamma": 0.9})))


@pytest.mark.parametrize("name", ["zarr.json", "notes.txt", "area", "thesis"])
def test_a_folder_that_holds_something_else_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(SettingsError, match=rf"{name}.*directory"):
        write_marker(PaperRun(tmp_path, 4, 0))
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("text", ["{", "[]", '{"assumptions": 3}', '{"assumptions": {"gama": 1}}', "[" * 9999])
def test_a_damaged_mark_gives_one_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / "reproduction.json").write_text(text)
    with pytest.raises(StoreError, match=r"reproduction.json is damaged"):
        write_marker(PaperRun(tmp_path, 4, 0))


def test_variants_change_what_can_be_set() -> None:
    for variant in VARIANTS:
        assert DEFAULT.replace(variant.changes) != DEFAULT
        assert {KEYS[key].reading for key in variant.changes} == {variant.reading}
    asked = {variant.reading for variant in VARIANTS}
    assert {"R3", "R6", "R7", "R8", "R11", "R12", "R14", "R16", "R18", "R19", "R20"} <= asked
