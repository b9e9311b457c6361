"""Check the lesson: the notebook runs from top to bottom, its answers are right, and its exercises are unanswered."""

import ast
from pathlib import Path

import numpy as np
import pytest

LESSON = Path(__file__).parents[2] / "docs" / "tutorials" / "lesson.ipynb"
N_CHECKS = 7
"""Of six exercises, the sixth in two parts; the seventh is a race."""


@pytest.fixture(scope="module")
def nbformat():
    """Imported here, because it builds grammars for a second, and all tests are collected by every process."""
    return pytest.importorskip("nbformat")


@pytest.fixture(scope="module")
def lesson(nbformat):
    return nbformat.read(LESSON, as_version=4)


@pytest.fixture(scope="module")
def run(lesson, nbformat, tmp_path_factory):
    """The notebook after it ran, in an empty folder."""
    nbclient = pytest.importorskip("nbclient")
    copy = nbformat.from_dict(lesson)
    client = nbclient.NotebookClient(copy, timeout=240, kernel_name="python3")
    client.execute(cwd=str(tmp_path_factory.mktemp("lesson")))
    return copy


def code_cells(notebook, answers):
    """Cells of the answers, or of the lesson itself."""
    return [
        cell
        for cell in notebook.cells
        if cell.cell_type == "code" and ("answer" in cell.metadata.get("tags", ())) is answers
    ]


def printed(cells):
    return [line for cell in cells for out in cell.outputs for line in out.get("text", "").splitlines()]


def test_the_file_is_a_valid_notebook_without_outputs(lesson, nbformat):
    nbformat.validate(lesson)
    for cell in lesson.cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None
            ast.parse(cell.source)


def test_every_answer_is_right_and_every_exercise_is_open(run):
    verdicts = ("right", "not answered yet", "not quite, try again")
    answers_printed = [line for line in printed(code_cells(run, answers=False)) if line in verdicts]
    assert answers_printed == ["not answered yet"] * N_CHECKS
    answers_printed = [line for line in printed(code_cells(run, answers=True)) if line in verdicts]
    assert answers_printed == ["right"] * N_CHECKS


def test_the_lesson_shows_pages_inline(run):
    cells = [cell for cell in code_cells(run, answers=False) if "berlyne.watch(" in cell.source]
    shown = [out["data"]["text/html"] for cell in cells for out in cell.outputs if "text/html" in out.get("data", {})]
    assert len(cells) == len(shown) == 2
    assert all(html.startswith("<iframe ") and ' srcdoc="&lt;!doctype html&gt;' in html for html in shown)


def test_the_answers_come_last_and_there_are_as_many_as_exercises(lesson):
    texts = [cell.source for cell in lesson.cells if cell.cell_type == "markdown"]
    end = next(i for i, text in enumerate(texts) if "# Answers" in text)
    for n in range(1, 8):
        assert any(f"**Exercise {n}.**" in text for text in texts[:end])
        assert any(f"**{n}.**" in text for text in texts[end:])
    first_answer = next(i for i, cell in enumerate(lesson.cells) if "answer" in cell.metadata.get("tags", ()))
    assert all(
        cell.cell_type == "markdown" or "answer" in cell.metadata.get("tags", ())
        for cell in lesson.cells[first_answer:]
    )


def test_wrong_and_right_answers_are_distinguished(lesson, capsys):
    """The function of the lesson that compares answers, run alone."""
    source = next(cell.source for cell in lesson.cells if cell.cell_type == "code" and "def check" in cell.source)
    tree = ast.parse(source)
    tree.body = [part for part in tree.body if isinstance(part, ast.FunctionDef) and part.name == "check"]
    names = {"np": np}
    exec(compile(tree, "lesson", "exec"), names)
    for answer in (..., 0.5, 0.501, 0.52, [0.5, 0.5], "half", None):
        names["check"](answer, 0.5)
    wrong = "not quite, try again"
    assert capsys.readouterr().out.splitlines() == ["not answered yet", "right", "right", *[wrong] * 4]


def test_utilities_that_seek_information_win_the_race(run):
    """Random comes last of all, and PIG beats the example that it is to be beaten by."""
    lines = printed(code_cells(run, answers=True)[-1:])
    scores = {name.strip(): float(score) for score, name in (line.split(maxsplit=1) for line in lines)}
    mazes = {name: score for name, score in scores.items() if "1-2-3" not in name}
    assert max(mazes, key=mazes.get) == "Random" and mazes["PIG"] < mazes["mine"]
    assert scores["PIG(VI) in 1-2-3 Worlds"] < 0.9 * scores["falls fast in 1-2-3 Worlds"]
