"""Code kept on disk is used again only while nothing that it was made from has changed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import berlyne

SCRIPT = """
from berlyne import Explorer, dense_world
explorer = Explorer(dense_world(0).prior, "PIG(greedy)")
explorer.observe(0, 0, 1)
print(repr(float(explorer.utility()[0, 0])))
"""


FORMULA, KERNEL = "return np.maximum(gain / LN2, 0.0)", "belief.utility[r] = value_of(belief.form, sums)"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "line", "doubled"),
    [
        ("engine/belief.py", KERNEL, KERNEL.replace("= ", "= 2.0 * ")),
        ("priors/forms.py", FORMULA, FORMULA.replace("np", "2.0 * np")),
    ],
)
def test_a_change_of_one_file_reaches_the_kernels_that_contain_it(tmp_path, file, line, doubled):
    """Numba by itself looks only at the file of the outermost kernel, here `loop.py`."""
    copy = tmp_path / "berlyne"
    shutil.copytree(Path(berlyne.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def utility():
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return float(done.stdout)

    first = utility()
    source = copy / file
    assert line in source.read_text()
    source.write_text(source.read_text().replace(line, doubled))
    assert utility() == 2.0 * first > 0.0
