"""The page in a notebook, and the notes of a lecturer."""

from __future__ import annotations

import html
import json
import pickle
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import berlyne
from berlyne.cli import commands
from berlyne.watch import render_page
from messages import raises


@pytest.fixture(scope="module")
def run() -> berlyne.Run:
    return berlyne.explore(berlyne.one_two_three_world(0, n_states=4), "Random", n_steps=5, seed=0)


def test_a_notebook_shows_one_whole_document_in_a_frame(run: berlyne.Run, tmp_path: Path) -> None:
    page = berlyne.watch(run, tmp_path / "page.html")
    frame = page._repr_html_()
    assert frame is not None and frame.count("<iframe") == frame.count("</iframe>") == 1
    match = re.fullmatch(r'<iframe title="[^"]+" style="[^"]+" srcdoc="([^"]*)"></iframe>', frame)
    assert match and html.unescape(match[1]) == (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<" not in match[1] and " src=" not in frame
    assert page.path == page == tmp_path / "page.html" and type(page.path) is type(tmp_path)
    assert pickle.loads(pickle.dumps(page)) == page
    page.unlink()
    assert page._repr_html_() is None


def test_a_browser_is_opened_unless_a_notebook_shows_the_page(
    run: berlyne.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr("webbrowser.open", shown.append)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for shell, opened in ((None, 1), (SimpleNamespace(), 1), (SimpleNamespace(kernel=object()), 0)):
        shown.clear()
        ipython = SimpleNamespace(get_ipython=lambda shell=shell: shell)
        monkeypatch.setitem(sys.modules, "IPython", ipython)  # type: ignore[arg-type]  # a stand-in
        made = berlyne.watch(run)
        assert len(shown) == opened and made.is_file()


def notes_of(page: str) -> object:
    match = re.search(r'id="data">(.*)</script>', page)
    assert match
    return json.loads(match[1])["notes"]


def test_notes_are_stored_in_the_order_of_time(run: berlyne.Run, tmp_path: Path) -> None:
    page = run.watch(tmp_path / "page.html", notes={5: "The <b>end</b>.", 0: "Guess first."})
    assert notes_of(page.read_text(encoding="utf-8")) == [[0, "Guess first."], [5, "The <b>end</b>."]]
    assert notes_of(render_page(run)) == []


def test_invalid_notes_are_named(run: berlyne.Run) -> None:
    for notes, names in [
        (["a"], ("notes", ["a"], "mapping")),
        ({6: "late"}, ("notes", 6, "0 to 5")),
        ({-1: "early"}, ("notes", -1, "0 to 5")),
        ({1.5: "between"}, ("notes", 1.5, "0 to 5")),
        ({True: "a flag"}, ("notes", True, "0 to 5")),
        ({1: 2}, ("step 1", 2, "text")),
        ({1: " "}, ("step 1", " ", "text")),
    ]:
        with raises(ValueError, *names):
            render_page(run, notes=notes)  # type: ignore[arg-type]  # on purpose


def test_the_command_takes_notes(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    options = ["--steps", "9", "--note", "7", "Look.", "--note", "0", "Guess first.", "-o", str(page)]
    done = CliRunner().invoke(commands, ["watch", "1-2-3", *options])
    assert done.exit_code == 0, done.output
    assert notes_of(page.read_text(encoding="utf-8")) == [[0, "Guess first."], [7, "Look."]]
