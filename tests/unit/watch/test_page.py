"""The page is one safe file: how it is assembled, shown, and written by the command."""

from __future__ import annotations

import json
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import berlyne
from berlyne.cli import commands, main
from berlyne.watch import page as watch_page
from berlyne.watch import page_template, render_page
from berlyne.watch.page import MODULES
from messages import warns

STATIC = Path(berlyne.__file__).parent / "watch" / "static"


@pytest.fixture(scope="module")
def run() -> berlyne.Run:
    world = berlyne.World(
        np.full((1, 2, 2), 0.5),
        berlyne.Dirichlet(1.0, n_states=2, n_actions=1),
        states=["</script><script>alert(1)</script>", "<!--"],
        name="{{DATA}} & co",
    )
    return berlyne.explore(world, "Random", n_steps=5)


def test_text_cannot_end_the_script_that_it_stands_in(run: berlyne.Run) -> None:
    page = render_page(run)
    assert page.count("<script") == page.count("</script>") == 2
    assert "<title>{{DATA}} &amp; co: Random</title>" in page
    match = re.search(r'<script type="application/json" id="data">(.*)</script>', page)
    assert match
    assert json.loads(match[1])["world"]["states"] == ["</script><script>alert(1)</script>", "<!--"]


def test_the_page_asks_for_nothing_and_leaves_no_module_out(run: berlyne.Run) -> None:
    page = render_page(run)
    assert {path.stem for path in STATIC.glob("*.js")} == set(MODULES)
    assert not re.search(r"^(import|export) ", page, re.MULTILINE)
    assert not re.search(r"https?://|url\(|@import|fetch\(|XMLHttpRequest|innerHTML|insertAdjacentHTML|eval\(", page)
    assert "default-src 'none'" in page
    assert page_template().count("{{DATA}}") == 1 and not re.search(r"\{\{(?!DATA)", page_template())


def test_modules_import_only_what_stands_before_them() -> None:
    for i, name in enumerate(MODULES):
        text = (STATIC / f"{name}.js").read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 350
        for line in re.findall(r'^import .* from "\./(\w+)\.js";$', text, re.MULTILINE):
            assert line in MODULES[:i], (name, line)


def test_modules_are_put_together_without_two_things_of_one_name() -> None:
    texts = [(STATIC / f"{name}.js").read_text(encoding="utf-8") for name in MODULES]
    names = re.findall(r"^(?:export )?(?:const|let|function|class) (\w+)", "\n".join(texts), re.MULTILINE)
    assert len(names) > 40 and sorted(names) == sorted(set(names))


def test_a_path_is_written_and_not_opened_and_none_is_opened(
    run: berlyne.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr("webbrowser.open", shown.append)
    assert berlyne.watch([run], tmp_path / "page.html") == tmp_path / "page.html"
    assert shown == []
    path = run.watch(tmp_path / "one.html", open_browser=True)
    assert shown == [path.as_uri()]
    monkeypatch.setattr(watch_page.tempfile, "tempdir", str(tmp_path))
    made = run.watch()
    assert made.parent == tmp_path and made.suffix == ".html" and shown[-1] == made.as_uri()
    assert made.read_text(encoding="utf-8") == (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_large_page_is_written_with_a_warning(
    run: berlyne.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(render_page(run).encode())
    monkeypatch.setattr(watch_page, "WARNING_SIZE", size)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run.watch(tmp_path / "small.html")
    monkeypatch.setattr(watch_page, "WARNING_SIZE", size - 1)
    with warns(UserWarning, "0.1 MB", "fewer runs or steps"):
        made = run.watch(tmp_path / "large.html")
    assert made.stat().st_size == size
    done = CliRunner().invoke(commands, ["watch", "1-2-3", "--steps", "5", "-o", str(tmp_path / "page.html")])
    assert done.exit_code == 0 and done.output.splitlines()[-1].startswith("Note: the page is 0.")


def error_of(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Run the command with a mistake and return its exit code and error message."""
    monkeypatch.setattr(sys, "argv", ["berlyne", "watch", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    code = left.value.code
    return (code, capsys.readouterr().err.rstrip("\n")) if isinstance(code, int) else (1, str(code))


def names_in(page: Path) -> list[str]:
    match = re.search(r'id="data">(.*)</script>', page.read_text(encoding="utf-8"))
    assert match
    return [run["name"] for run in json.loads(match[1])["runs"]]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("store") / "results.zarr"
    small = {"maze": {"side": 3, "n_transporters": 4}}
    berlyne.Experiment(worlds=small, strategies=["LTA", "Random"], n_worlds=2, n_steps=30).run(place, progress=False)
    return place


def test_the_command_shows_a_class_a_file_and_a_store(tmp_path: Path, stored: Path) -> None:
    page, file = tmp_path / "page.html", tmp_path / "world.npz"
    berlyne.dense_world(0, n_states=3).save(file)
    asked = [
        (["1-2-3", "--steps", "20", "--seed", "7", "--strategy", "LTA", "--strategy", "CB"], ["LTA", "CB"]),
        ([str(file), "--steps", "10"], ["PIG(VI)", "Random"]),
        ([str(stored), "--world", "maze/001"], ["Random"]),
        ([str(stored), "--world", "maze/001", "--strategy", "LTA"], ["LTA"]),
    ]
    for arguments, names in asked:
        done = CliRunner().invoke(commands, ["watch", *arguments, "-o", str(page)])
        assert done.exit_code == 0, done.output
        assert "Wrote" in done.output
        assert names_in(page) == names


def test_the_command_explores_the_world_of_the_seed(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    CliRunner().invoke(
        commands, ["watch", "dense", "--seed", "5", "--steps", "9", "--strategy", "LTA", "-o", str(page)]
    )
    expected = render_page(berlyne.explore(berlyne.dense_world(5), "LTA", n_steps=9, seed=5))
    assert page.read_text(encoding="utf-8") == expected


def test_mistakes_give_one_sentence(
    stored: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(stored)
    for arguments, code, sentence in [
        (["labyrinth"], 1, "there is no labyrinth; it must be a class of worlds (dense, maze, 1-2-3), a benchmark ("),
        (["maze", "--world", "maze/001"], 2, "--world selects a world of stored results, but maze is not a store"),
        ([store], 2, "contains 2 worlds; select one, such as --world maze/000"),
        ([store, "--world", "maze/007"], 1, "there is no world 'maze/007'"),
        ([store, "--world", "maze/000", "--steps", "3"], 2, "stored runs cannot be changed"),
        (["maze", *["--strategy", "LTA"] * 5], 2, "there are 5 strategies; a page shows 1 to 4"),
        (["nowhere.npz"], 1, "No such file"),
    ]:
        actual, answer = error_of(monkeypatch, capsys, *arguments)
        assert actual == code and sentence in answer and "\n" not in answer, (actual, answer)
