import subprocess
import sys

import pytest

import berlyne


def run(*arguments, cwd):
    return subprocess.run([sys.executable, "-m", "berlyne", *arguments], cwd=cwd, capture_output=True, text=True)


def test_version(tmp_path):
    assert run("--version", cwd=tmp_path).stdout == f"berlyne, version {berlyne.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("reproduce", "--preset", "huge"), "'huge' is not one of"),
        (("reproduce", "--seed", "-1"), "-1 is not in the range"),
        (("reproduce", "taken"), "'taken' is a file"),
        (("reproduce", "--only", "fig9"), "there is no part 'fig9' of the reproduction; there are explorations,"),
        (("report", "."), "there is no reproduction in ."),
        (("reproduce", "taken/inside"), "berlyne: Not a directory: taken/inside"),
    ],
)
def test_mistakes_are_told_without_a_traceback(tmp_path, arguments, why):
    (tmp_path / "taken").touch()
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode != 0
    assert why in done.stderr
    assert "Traceback" not in done.stderr
