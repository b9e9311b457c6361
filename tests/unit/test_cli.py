import csv
import subprocess
import sys

import pytest

import berlyne


def run(*arguments, cwd):
    return subprocess.run([sys.executable, "-m", "berlyne", *arguments], cwd=cwd, capture_output=True, text=True)


def test_reproduce_writes_what_it_says(tmp_path):
    done = run("reproduce", "--preset", "smoke", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr == ""
    assert "Mazes" in done.stdout
    with (tmp_path / "reproduction" / "initial_missing_information.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 15
    assert all(float(line["bits"]) > 0 for line in lines)
    assert (tmp_path / "reproduction" / "figure_1.png").stat().st_size > 1000


def test_version(tmp_path):
    assert run("--version", cwd=tmp_path).stdout == f"berlyne, version {berlyne.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("reproduce", "--preset", "huge"), "'huge' is not one of"),
        (("reproduce", "--seed", "-1"), "-1 is not in the range"),
        (("reproduce", "taken"), "'taken' is a file"),
        (("reproduce", "taken/inside"), "berlyne: Not a directory: taken/inside"),
    ],
)
def test_mistakes_are_told_without_a_traceback(tmp_path, arguments, why):
    (tmp_path / "taken").touch()
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode != 0
    assert why in done.stderr
    assert "Traceback" not in done.stderr
