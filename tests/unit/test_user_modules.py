"""Modules of the user, which register indices and methods: in studies, lab books and commands."""

import pickle
import subprocess
import sys

import pytest

import berlyne
from berlyne import Experiment, LabBook, open_results
from berlyne.experiments import spec
from berlyne.user_modules import check_modules
from messages import raises
from unit.experiments.studies import command
from waiting import LIMIT

MODULE = """
import berlyne

@berlyne.index("shy")
def shy(row):
    return 1.0 / (1.0 + row.n)

@berlyne.method("calm")
def calm(view, s):
    return view.utility[:, s]
"""
STUDY = """
strategies = ["shy(VI)", "PIG(calm)"]
n_worlds = 1
worlds = "dense"
n_steps = 20
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module in a folder that is not the current one, removed after the test."""
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "my_parts.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    yield folder
    sys.modules.pop("my_parts", None)


@pytest.fixture
def forget():
    """A function that removes the module and all that it has registered."""

    def forget_module():
        sys.modules.pop("my_parts", None)
        berlyne.UTILITIES.pop("shy", None)
        berlyne.strategies.coordination.METHODS_BY_NAME.pop("calm", None)
        berlyne.strategies.own_methods.OWN_METHODS.pop("calm", None)

    return forget_module


def test_a_study_imports_the_modules_that_its_file_names(module, forget):
    file = module / "study.toml"
    file.write_text(STUDY)
    with raises(ValueError, "strategies[0]", "registers shy"):
        Experiment.from_toml(file)
    file.write_text('imports = ["my_parts"]' + STUDY)
    study = Experiment.from_toml(file)
    assert study.imports == ("my_parts",) and "imports" not in study.describe()
    results = study.run("r.zarr", jobs=1, progress=False)
    assert list(results.strategies) == ["shy(VI)", "PIG(calm)"]
    forget()
    stored = open_results("r.zarr")
    assert stored.curves("dense")["mean"].shape == (2, 21)
    with raises(ValueError, "'shy(VI)'", "r.zarr", "import"):
        stored.run("dense/000", "shy(VI)")
    assert Experiment.from_toml(file).run("r.zarr", jobs=1, progress=False).run("dense/000", "shy(VI)").n_steps == 20


def test_another_process_imports_them_too(module, forget):
    """The folder of the study's file is searched there as well."""
    (module / "study.toml").write_text('imports = ["my_parts"]' + STUDY)
    sent = pickle.dumps(Experiment.from_toml(module / "study.toml"))
    forget()
    study = pickle.loads(sent)
    assert berlyne.explore(berlyne.dense_world(0), study.strategy("PIG(calm)"), 5).n_steps == 5
    script = f"""
import pickle, berlyne
study = pickle.loads({sent!r})
print(berlyne.explore(berlyne.dense_world(0), study.strategy("shy(VI)"), 5).n_steps)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=LIMIT)
    assert done.stdout == "5\n"


def test_a_strategy_that_another_process_does_not_know_is_named(module, forget):
    sent = pickle.dumps(Experiment(**spec.tomllib.loads(STUDY), imports=["study.my_parts"]).strategy("shy(VI)"))
    sys.modules.pop("study.my_parts")
    forget()
    with raises(ValueError, "shy", "shy(VI)", "import"):
        berlyne.explore(berlyne.dense_world(0), pickle.loads(sent), 5)


def test_commands_import_modules(module, forget):
    (module / "study.toml").write_text(STUDY)
    assert command("run", "study/study.toml", "r.zarr", "--import", "my_parts", "--quiet", "--jobs", "1")[0] == 0
    forget()
    code, _, errors = command("run", "study/study.toml", "r.zarr", "--quiet")
    assert code == 1 and "is the module that registers shy not imported?" in errors
    options = ("--steps", "20", "-o", "page.html")
    assert command("watch", "dense", "--strategy", "shy(VI)", *options)[0] == 1
    assert command("watch", "dense", "--strategy", "shy(VI)", "--import", "study.my_parts", *options)[0] == 0


def test_a_lab_book_imports_its_modules_whenever_it_is_opened(module, forget):
    book = "study/rats.lab"
    create = ("lab", "new", book, "--states", "3", "--actions", "2", "--strategy", "shy(calm)")
    assert command(*create)[0] == 1
    assert command(*create, "--import", "my_parts")[0] == 0
    forget()
    assert command("lab", "ask", book, "0")[0] == 0
    forget()
    assert LabBook(book).explorer.strategy.name == "shy(calm)"
    (module / "my_parts.py").unlink()
    forget()
    code, _, errors = command("lab", "ask", book, "0")
    assert code == 1 and errors.startswith("berlyne: 'my_parts' cannot be found (No module named 'my_parts')")


@pytest.mark.parametrize(
    ("imports", "message"),
    [
        ("mine", ("imports", "'mine'")),
        (3, ("imports", "3")),
        (["a b"], ("imports", "'a b'")),
        (["mine:Mine"], ("imports", "'mine:Mine'", "colon")),
        ([3], ("imports", "3")),
        (["no_such_module_here"], ("'no_such_module_here'", "path")),
    ],
)
def test_wrong_imports_are_refused(imports, message):
    with raises(spec.SettingsError, *message):
        Experiment("dense", ["Random"], imports=imports)


def test_an_error_in_a_module_is_reported_with_its_place(module):
    (module / "my_parts.py").write_text("x = 1\nraise RuntimeError('broken')\n")
    (module / "study.toml").write_text('imports = ["my_parts"]' + STUDY)
    with raises(ValueError, "'my_parts'", "RuntimeError", "my_parts.py", "line 2"):
        Experiment.from_toml(module / "study.toml")


def test_names_of_modules_may_have_packages():
    assert check_modules(["a.b", "c"]) == ("a.b", "c")
