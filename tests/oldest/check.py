"""Use what berlyne promises, with the versions of its dependencies that are installed.

`make oldest` runs it with the lowest versions that pyproject.toml allows. It needs no pytest, which would bring other
versions along. Any warning that a user would see is an error, and so is every warning about code of berlyne itself.
"""

from __future__ import annotations

import faulthandler
import importlib.util
import json
import os
import runpy
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import urllib.request
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    "README.md",
    "docs/how-to/own-utility.md",
    "docs/how-to/run-a-study.md",
    "docs/how-to/resume.md",
    "docs/how-to/read-results.md",
)
"""Pages whose code is run and must print what they show."""
LIMIT = 900
"""Seconds after which all of this has hung: SciPy 1.14 never returned from a search in a graph."""
STUDY = """
strategies = ["Random", "PIG(VI)"]
n_worlds = 2
[worlds.maze]
side = 3
n_transporters = 2
[n_steps]
maze = 50
"""


def forbid_warnings() -> None:
    """Make errors of warnings, but for deprecations in code of others: Python does not show these to users."""
    warnings.simplefilter("error")
    for category in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
        warnings.simplefilter("ignore", category)
        warnings.filterwarnings("error", category=category, module=r"berlyne(\.|\Z)")


def check_installed(constraints: list[str]) -> None:
    """Refuse another copy of berlyne than the installed one, and other versions than `name==version`."""
    from packaging.version import Version  # of Matplotlib, xarray and Zarr

    import berlyne

    if not Path(berlyne.__file__).is_relative_to(sys.prefix):
        sys.exit(f"berlyne is imported from {berlyne.__file__}; it must be installed in {sys.prefix}")
    for constraint in constraints:
        name, wanted = constraint.split("==")
        installed = version(name)
        if Version(installed) != Version(wanted):
            sys.exit(f"{name} {installed} is installed; it must be {wanted}")
        print(f"{name} {installed}", end=", " if constraint != constraints[-1] else "\n")


def command(*arguments: str) -> None:
    """Run the console script `berlyne` in this process, where the filters of warnings hold."""
    sys.argv = ["berlyne", *arguments]
    try:
        runpy.run_path(str(Path(sysconfig.get_path("scripts")) / "berlyne"), run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise


def run_pages() -> None:
    """Run the code of the pages, each in a folder of its own."""
    spec = importlib.util.spec_from_file_location("berlyne_docs_build", ROOT / "docs" / "build.py")
    assert spec is not None and spec.loader is not None
    build: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    for page in PAGES:
        with tempfile.TemporaryDirectory() as folder:
            here = os.getcwd()
            os.chdir(folder)
            build.run_page(page, (ROOT / page).read_text(encoding="utf-8"))
            os.chdir(here)


def run_study() -> None:
    """A study from the command line: run, resumed with more worlds, on processes, shown, drawn and read."""
    import numpy as np

    import berlyne

    Path("study.toml").write_text(STUDY, encoding="utf-8")
    Path("larger.toml").write_text(STUDY.replace("n_worlds = 2", "n_worlds = 3"), encoding="utf-8")
    command("run", "study.toml", "results.zarr", "--quiet")
    first = berlyne.open_results("results.zarr").curves("maze")["mean"].values
    command("run", "larger.toml", "results.zarr", "--quiet")
    command("run", "larger.toml", "processes.zarr", "--workers", "2", "--quiet")
    command("show", "results.zarr")
    command("plot", "results.zarr", "-o", "curves.png")
    frames = [berlyne.open_results(name).to_frame() for name in ("results.zarr", "processes.zarr")]
    assert frames[0].equals(frames[1]) and len(frames[0]) == 3 * 2 * 51, "threads and processes differ"
    two = frames[0][frames[0]["world"].isin(["maze/000", "maze/001"])]
    from_frame = (
        two.groupby(["strategy", "time"], sort=False)["missing_information"].mean().to_numpy().reshape(first.shape)
    )
    np.testing.assert_allclose(from_frame, first, rtol=1e-6)


def run_environments() -> None:
    """Environments of Gymnasium read and explored, and a world of ours as one."""
    import gymnasium
    import numpy as np

    import berlyne

    env = gymnasium.make("FrozenLake-v1")
    lake = berlyne.from_gymnasium(env)
    # on ice, "right" on the first field pushes up (into the edge), right or down, each one time in three
    np.testing.assert_allclose(lake.theta[2, 0, [0, 1, 4]], 1 / 3)
    run = berlyne.explore_env(env, "PIG(VI)", n_steps=200, seed=0)
    assert run.explorer.model.counts.sum() == 200, "not every step was counted"
    maze = gymnasium.make("berlyne.envs:berlyne/Maze-v0", world_seed=3, side=3, n_transporters=4, render_mode="ansi")
    maze.reset(seed=0)
    assert maze.step(0)[0] in range(9), "a maze of nine rooms has a tenth"
    maze.render()


def run_files() -> None:
    """A world saved and loaded in every format."""
    import numpy as np

    import berlyne

    world = berlyne.maze(seed=9)
    for name in ("world.npz", "world.csv", "world.parquet"):
        world.save(name)
        np.testing.assert_array_equal(berlyne.load_world(name).theta, world.theta, err_msg=name)


def run_service() -> None:
    """A lab book used by HTTP."""
    from berlyne import LabBook

    command("lab", "new", "rats.lab", "--states", "left,right", "--actions", "push,pull", "--alpha", "1")
    script = str(Path(sysconfig.get_path("scripts")) / "berlyne")
    asked = [script, "lab", "serve", "rats.lab", "--port", "0"]
    with subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as service:
        limit = threading.Timer(60, service.kill)  # then nothing is printed, which ends the wait
        limit.start()
        try:
            assert service.stdout is not None
            printed = next(service.stdout)
            address, token = printed.split(" at ")[1].split()[0], printed.split("(token: ")[1].split(")")[0]
            fields = json.dumps({"state": "left", "action": "push", "next_state": "right"}).encode()
            request = urllib.request.Request(f"{address}/tell", fields, {"Authorization": f"Bearer {token}"})
            with urllib.request.urlopen(request, timeout=60) as answer:
                assert json.load(answer) == {"n_trials": 1, "n_obs": 1}, "the trial was not counted"
        finally:
            limit.cancel()
            service.terminate()
        errors = service.communicate(timeout=60)[1]
    assert not errors, errors
    assert LabBook("rats.lab").history == [("left", "push", "right")], "the trial is not in the book"


def run_reproduction() -> None:
    """The whole paper, as small as it gets."""
    command("reproduce", "reproduced", "--preset", "smoke")
    assert Path("reproduced/report.html").stat().st_size > 0, "there is no report"


CHECKS: tuple[Callable[[], None], ...] = (
    run_pages,
    run_files,
    run_environments,
    run_study,
    run_service,
    run_reproduction,
)


def main(constraints: list[str]) -> None:
    """Run all checks in an empty folder."""
    for name in [name for name in os.environ if name.startswith("NUMBA_")]:
        del os.environ[name]  # another cache, or no compilation, would hide what this version of Numba does
    os.environ["MPLBACKEND"] = "Agg"
    faulthandler.dump_traceback_later(LIMIT, exit=True)
    forbid_warnings()
    check_installed(constraints)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for check in CHECKS:
            begin = time.perf_counter()
            check()
            print(f"{check.__name__}: {time.perf_counter() - begin:.0f} s", flush=True)
        os.chdir(ROOT)  # an open folder cannot be removed everywhere
    faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":  # processes of a study import this file, and pytest looks for examples in it
    main(Path(sys.argv[1]).read_text(encoding="utf-8").split() if len(sys.argv) > 1 else [])
