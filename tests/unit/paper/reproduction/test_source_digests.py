"""Sources that a module depends on, in a small package whose dependencies are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from berlyne.paper.reproduction import source_digests
from berlyne.paper.reproduction.source_digests import external_packages
from berlyne.paper.reproduction.source_digests import source_digests as digests

PACKAGE = {
    "__init__.py": "from berlyne.everything import anything\n",
    "everything.py": "anything = 1\n",
    "direct.py": "import numpy as np\nfrom berlyne.shared import helper\n",
    "shared.py": "import scipy.stats\nhelper = 1\n",
    "lazy.py": "def f():\n    from berlyne.shared import helper\n    return helper\n",
    "typed.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from berlyne.shared import helper\n",
    "other_branch.py": "if TYPE_CHECKING:\n    pass\nelse:\n    from berlyne.shared import helper\n",
    "package/__init__.py": (
        "from berlyne.package.one import first\nfrom berlyne.package.two import second as renamed\nown = 1\n"
    ),
    "package/one.py": "first = 1\n",
    "package/two.py": "from berlyne.shared import helper\nsecond = 2\n",
    "passes_on.py": "from berlyne.package import first\n",
    "passes_on_renamed.py": "from berlyne.package import renamed\n",
    "defined_there.py": "from berlyne.package import own\n",
    "submodule.py": "from berlyne.package import two\n",
    "dotted.py": "import berlyne.package.one\n",
    "root.py": "import berlyne\nfrom berlyne import something_lazy\n",
    "cycle_a.py": "from berlyne.cycle_b import b\n",
    "cycle_b.py": "from berlyne.cycle_a import a\n",
    "reads.py": "from importlib.resources import files\nfiles('berlyne.package')\n",
    "package/data/page.html": "<p>",
    "package/style.css": "p {}",
}
CLOSURES = {
    "direct": {"direct.py", "shared.py"},
    "lazy": {"lazy.py", "shared.py"},
    "typed": {"typed.py"},
    "other_branch": {"other_branch.py", "shared.py"},
    "passes_on": {"passes_on.py", "package/one.py"},
    "passes_on_renamed": {"passes_on_renamed.py", "package/two.py", "shared.py"},
    "defined_there": {"defined_there.py", "package/__init__.py", "package/one.py", "package/two.py", "shared.py"},
    "submodule": {"submodule.py", "package/two.py", "shared.py"},
    "dotted": {"dotted.py", "package/one.py"},
    "root": {"root.py"},
    "cycle_a": {"cycle_a.py", "cycle_b.py"},
    "reads": {"reads.py", "package/data/page.html", "package/style.css"},
}


def clear() -> None:
    for cached in (source_digests._read_source, source_digests._data_digests):
        cached.cache_clear()


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name, source in PACKAGE.items():
        path = tmp_path / "berlyne" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    monkeypatch.setattr(source_digests, "ROOT", tmp_path)
    clear()
    yield tmp_path / "berlyne"
    clear()


@pytest.mark.parametrize("module", CLOSURES)
def test_the_files_of_a_module(module: str) -> None:
    assert set(digests(f"berlyne.{module}")) == {f"berlyne/{name}" for name in CLOSURES[module]}


def test_several_modules_and_modules_whose_imports_do_not_count() -> None:
    both = digests("berlyne.passes_on", "berlyne.direct")
    assert list(both) == sorted(f"berlyne/{name}" for name in CLOSURES["direct"] | CLOSURES["passes_on"])
    alone = digests("berlyne.passes_on", "berlyne.direct", ends=("berlyne.direct",))
    assert set(both) - set(alone) == {"berlyne/shared.py"}


def test_other_packages_are_those_of_all_files() -> None:
    assert external_packages("berlyne.direct") == {"numpy", "scipy"}
    assert external_packages("berlyne.direct", ends=("berlyne.direct",)) == {"numpy"}


def test_a_module_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"berlyne\.nowhere"):
        digests("berlyne.nowhere")


SAME = ["x = 1  # one\n", "x   =   1\n", '"""What it is."""\n\nx = 1\n', 'x = 1\n"""The number."""\n']
OTHER = ["x = 2\n", "x = '1'\n", "x = 1\ny = 1\n", "x = 1 if True else 2\n"]


@pytest.mark.parametrize(("source", "same"), [*((s, True) for s in SAME), *((s, False) for s in OTHER)])
def test_only_code_counts(source: str, same: bool, package: Path) -> None:
    path = package / "everything.py"
    path.write_text("x = 1\n")
    before = digests("berlyne.everything")
    path.write_text(source)
    clear()
    assert (digests("berlyne.everything") == before) is same


def test_docstrings_of_functions_do_not_count_but_their_texts_do(package: Path) -> None:
    path, code = package / "everything.py", 'def f():\n    """{}"""\n    return "{}"\n'
    results = []
    for texts in (("a", "b"), ("c", "b"), ("a", "c")):
        path.write_text(code.format(*texts))
        clear()
        results.append(digests("berlyne.everything"))
    assert results[0] == results[1] != results[2]


def test_data_files_count_byte_by_byte(package: Path) -> None:
    before = digests("berlyne.reads")
    (package / "package" / "style.css").write_text("p { }")
    clear()
    after = digests("berlyne.reads")
    assert {name for name in after if after[name] != before[name]} == {"berlyne/package/style.css"}
