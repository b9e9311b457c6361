"""Arguments of `berlyne watch`: files without a prior, benchmarks, output paths, strategies of a store."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import berlyne
from berlyne.cli import commands
from berlyne.watch import render_page
from messages import raises
from unit.experiments.studies import command

COIN = "s,a,s_next,p\nheads,toss,heads,0.5\nheads,toss,tails,0.5\ntails,toss,heads,1.0\n"


def output_of(*arguments: str) -> str:
    """Run the command and return its output."""
    done = CliRunner().invoke(commands, ["watch", *arguments])
    assert done.exit_code == 0, (done.output, done.exception)
    return done.output


def refused(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    """The one sentence that the command answers to a mistake."""
    code, _, errors = command("watch", *arguments)
    answer = errors.removesuffix("\n")
    assert code in (1, 2) and answer.startswith("berlyne: ") and "\n" not in answer
    return answer


@pytest.fixture
def coin(tmp_path: Path) -> Path:
    file = tmp_path / "coin.csv"
    file.write_text(COIN, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("store") / "results.zarr"
    names = ["LTA", "Random", "CB"]
    small = {"maze": {"side": 3, "n_transporters": 4}}
    berlyne.Experiment(worlds=small, strategies=names, n_worlds=1, n_steps=9).run(place, progress=False)
    return place


@pytest.mark.parametrize(("asked", "alpha"), [([], 0.5), (["--alpha", "0.25"], 0.25)])
def test_a_file_without_a_prior_gets_one_with_a_note(
    asked: list[str], alpha: float, coin: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    output = output_of(str(coin), *asked, "--steps", "7", "--seed", "3", "--strategy", "Random", "-o", str(page))
    assert f"contains no prior: using Dirichlet({alpha:g}) over all states" in output.replace("\n", " ")
    world = berlyne.load_world(coin, berlyne.Dirichlet(alpha, n_states=2, n_actions=1))
    assert page.read_text(encoding="utf-8") == render_page(berlyne.explore(world, "Random", n_steps=7, seed=3))


def test_an_existing_prior_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, file = tmp_path / "page.html", tmp_path / "world.npz"
    world = berlyne.World(np.full((1, 2, 2), 0.5), berlyne.Dirichlet(3.0, n_states=2, n_actions=1))
    world.save(file)
    assert "contains no prior" not in output_of(str(file), "--steps", "5", "--strategy", "Random", "-o", str(page))
    assert page.read_text(encoding="utf-8") == render_page(berlyne.explore(world, "Random", n_steps=5, seed=0))
    assert "contains a prior; --alpha applies only to a file without a prior" in refused(
        monkeypatch, str(file), "--alpha", "1", "-o", str(page)
    )


def test_a_benchmark_is_made_by_its_name(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    for asked, alpha in (([], 1 / 6), (["--alpha", "0.5"], 0.5)):
        output_of("river_swim", *asked, "--steps", "6", "--strategy", "Random", "-o", str(page))
        run = berlyne.explore(berlyne.worlds.river_swim(alpha=alpha), "Random", n_steps=6, seed=0)
        assert page.read_text(encoding="utf-8") == render_page(run)


def test_names_that_are_nearly_right_or_of_the_wrong_kind(
    coin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = tmp_path / "x.txt"
    text.write_text("hello", encoding="utf-8")
    gone = str(tmp_path / "nowhere" / "a.html")
    monkeypatch.setattr(berlyne, "explore", lambda *_, **__: pytest.fail("it was explored before it was refused"))
    for arguments, sentence in [
        (["mazze"], "there is no mazze; did you mean maze?"),
        (["riverswim"], "there is no riverswim; did you mean river_swim?"),
        ([str(text)], "x.txt is not a world file; its name must end in .npz, .csv, .parquet"),
        (
            ["maze", "--alpha", "2"],
            "--alpha applies only to a benchmark or a file without a prior; maze has the prior of the paper",
        ),
        ([str(coin), "--alpha", "-1"], "alpha"),
        ([str(coin), "--alpha", "nan"], "alpha"),
        ([str(coin), "--alpha", "x"], "--alpha is x; it must be a positive number, or ml to learn it"),
        (["maze", "--steps", "0"], "Invalid value for '--steps'"),
        (["maze", "-o", gone], "does not exist; create it first to write a.html"),
        (["maze", "-o", str(tmp_path / "x.pdf")], "x.pdf; the file name must end in .html or .htm"),
        (["maze", *["--strategy", "Random"] * 2], "--strategy Random is given twice"),
    ]:
        assert sentence in refused(monkeypatch, *arguments), arguments
    assert sorted(path.name for path in tmp_path.iterdir()) == ["coin.csv", "x.txt"]


def test_strategies_of_a_store_that_are_left_out_are_named(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = [str(stored), "--world", "maze/000", "-o", str(tmp_path / "page.html")]
    assert "Not shown: LTA, CB; select up to 4 with --strategy NAME" in output_of(*world)
    assert "Not shown" not in output_of(*world, "--strategy", "LTA")
    assert "stored runs cannot be changed" in refused(monkeypatch, *world, "--alpha", "1")


def test_invalid_runs_and_paths_are_refused(tmp_path: Path) -> None:
    world = berlyne.worlds.river_swim()
    run = berlyne.explore(world, "Random", n_steps=3)
    for argument in (world, "maze", None, 5):
        with raises(ValueError, "berlyne.explore", type(argument).__name__):
            berlyne.watch(argument, tmp_path / "x.html")  # type: ignore[arg-type]  # on purpose
    with raises(ValueError, "directory", "replay.html"):
        run.watch(tmp_path)
    with raises(ValueError, "path", "5"):
        run.watch(5)  # type: ignore[arg-type]  # on purpose
    with raises(ValueError, "x.txt", ".html"):
        run.watch(tmp_path / "x.txt")
    assert list(tmp_path.iterdir()) == []
