import os
import socket
import subprocess
import sys
from collections import Counter

import pytest

import berlyne


def run(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "berlyne", *arguments], cwd=cwd, capture_output=True, text=True, timeout=60
    )


def test_version(tmp_path):
    assert run("--version", cwd=tmp_path).stdout == f"berlyne, version {berlyne.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("reproduce", "--preset", "huge"), "'huge' is not one of"),
        (("reproduce", "--seed", "-1"), "-1 is not in the range"),
        (("reproduce", "taken"), "'taken' is a file"),
        (("reproduce", "--only", "fig9"), "unknown part 'fig9'; choose from explorations,"),
        (("report", "."), ". contains no reproduction"),
        (("reproduce", "taken/inside"), "berlyne: Not a directory: taken/inside"),
    ],
)
def test_mistakes_are_reported_without_a_traceback(tmp_path, arguments, why):
    (tmp_path / "taken").touch()
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode != 0
    assert why in done.stderr
    assert "Traceback" not in done.stderr


def test_strategies_are_listed_with_their_privileges():
    """Strategies that see the true world, or act in any state, are marked as controls."""
    from berlyne.commands.listing import _strategies

    headings, lines = _strategies()
    assert headings == ("name", "coordination", "control")
    controls = {name: control for name, _, control in lines if control}
    assert controls == {"Unembodied": "may go anywhere", "PIG(VI+)": "plans with the true world"}
    assert [name for name, _, _ in lines] == list(berlyne.STRATEGIES)


def test_privileges_are_printed(tmp_path):
    printed = run("list", "strategies", cwd=tmp_path).stdout.splitlines()
    (unembodied,) = (line for line in printed if line.startswith("Unembodied"))
    assert "anywhere" in " ".join(printed[printed.index(unembodied) :][:3])
    (random,) = (line for line in printed if line.startswith("Random"))
    assert "world" not in random and "anywhere" not in random


@pytest.mark.parametrize("topic", ["worlds", "benchmarks", "strategies", "utilities", "measures", "assumptions"])
@pytest.mark.parametrize("width", [1, 20, 40, 60, 80, 120, 200])
def test_lists_never_cut_text(topic, width):
    from berlyne.commands.listing import _LISTS, format_listing

    headings, lines = _LISTS[topic]()
    text = format_listing(headings, lines, width)
    words = Counter(text.split())
    assert not Counter(" ".join(" ".join(line) for line in lines).split()) - words
    printed = [f"{line} " for line in text.split("\n")]
    assert all(any(line.startswith(f"{name} ") for line in printed) for name, *_ in lines)
    longest = max(len(word) for line in lines for word in " ".join(line).split())
    assert max(map(len, text.split("\n"))) <= max(width, longest + 4)
    assert width < 120 or text.startswith(f"{headings[0]} ")  # a table where there is room


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
def test_a_study_that_is_a_pipe_is_refused(tmp_path, kind):
    path = tmp_path / "study.toml"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(os.path.relpath(path))
    else:
        path.symlink_to("/dev/zero")
    done = run("run", "study.toml", "r.zarr", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, f"berlyne: study.toml is a {kind}; it must be a file\n")
    with pytest.raises(ValueError, match=f"study.toml is a {kind}; it must be a file$"):
        berlyne.Experiment.from_toml(path)


def test_results_that_are_a_pipe_are_refused(tmp_path):
    (tmp_path / "study.toml").write_text("n_worlds = 1\nn_steps = 3")
    os.mkfifo(tmp_path / "r.zarr")
    done = run("run", "study.toml", "r.zarr", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "berlyne: r.zarr is not a store of results\n")


@pytest.mark.parametrize(
    "name",
    [
        "PIG(VI, steps_back=99999999999999999999)",
        "PIG(VI+, steps_back=9999999999)",
        f"PEIG(Q, initial={'9' * 400})",
        f"PEIG(VI, untried={'9' * 400})",
        f"PIG(VI, gamma={'9' * 5000})",
    ],
)
def test_numbers_too_large_for_a_strategy_give_one_sentence(tmp_path, name):
    (tmp_path / "study.toml").write_text(f'strategies = ["{name}"]\nn_worlds = 1\nn_steps = 3')
    done = run("run", "study.toml", "r.zarr", cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.startswith("berlyne: strategies[0]: ") and done.stderr.count("\n") == 1
    with pytest.raises(ValueError, match=r"^strategies\[0\]: "):
        berlyne.Experiment(strategies=[name])
