"""The lowest versions that `make oldest` installs are those that pyproject.toml allows."""

import tomllib
from pathlib import Path

import pytest

from messages import raises
from oldest.lowest import lowest

ROOT = Path(__file__).parents[2]


def test_lowest_versions_come_from_the_package_and_the_extras_that_are_asked_for():
    project = {
        "dependencies": ["numpy>=2.1", "google-crc32c>=1.7"],
        "optional-dependencies": {"gym": ["gymnasium>=1.0"], "site": ["mkdocstrings[python]>=0.26"], "no": ["no>=1"]},
    }
    assert lowest(project, ["gym", "site"]) == [
        "numpy==2.1",
        "google-crc32c==1.7",
        "gymnasium==1.0",
        "mkdocstrings==0.26",
    ]


@pytest.mark.parametrize(
    "requirement", ["numpy", "numpy==2.1", "numpy>=2.1,<3", "numpy>2", "numpy>=2.1; python_version>'3.12'"]
)
def test_a_requirement_without_one_lower_bound_is_refused(requirement):
    with raises(ValueError, "requirement", "one lower bound") as refused:
        lowest({"dependencies": ["scipy>=1.15", requirement]}, [])
    assert repr(requirement) in str(refused.value)


def test_one_package_has_one_lower_bound():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    bounds = {(line.split(">=")[0], line) for line in own if not line.startswith("berlyne[")}
    assert len(bounds) == len({name for name, _ in bounds}), sorted(bounds)
