"""Print the lowest versions that pyproject.toml allows, as constraints for pip.

`python tests/oldest/lowest.py gym parquet` prints a line `name==version` for each dependency of the package and of
these extras.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[\w,-]+\])?>=([\w.]+)")


def lowest(project: dict[str, Any], extras: list[str]) -> list[str]:
    """The constraints `name==version` of a project's dependencies and of these extras of it.

    Parameters
    ----------
    project : dict
        The table `project` of a pyproject.toml.
    extras : list of str
        Keys of its `optional-dependencies`.

    Returns
    -------
    list of str
        One constraint for each requirement, in their order.

    Raises
    ------
    ValueError
        If a requirement is anything but a name and one lower bound.
    """
    required = [*project["dependencies"]]
    for extra in extras:
        required += project["optional-dependencies"][extra]
    constraints = []
    for requirement in required:
        bound = _REQUIREMENT.fullmatch(requirement)
        if bound is None:
            raise ValueError(
                f"the requirement is {requirement!r}; it must be a name and one lower bound, as in 'numpy>=2.1'"
            )
        constraints.append(f"{bound[1]}=={bound[2]}")
    return constraints


if __name__ == "__main__":
    print("\n".join(lowest(tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"], sys.argv[1:])))
