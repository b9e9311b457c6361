"""The built-in priors are those that the package defines; no list names them."""

import sys

from berlyne import ChineseRestaurant, Dirichlet, OneTwoThree
from berlyne.engine.row_beliefs import COMPILED, FAMILIES, is_compiled_prior
from berlyne.priors import PRIORS
from berlyne.priors.registry import find_priors
from berlyne.priors.shared_restaurant import SharedCells

MODULE = '''
from typing import Protocol

class Base:
    def from_description(self): ...

class Interface(Protocol):
    def from_description(self): ...

class New(Base):
    def from_description(self): ...

class Helper(Base):
    """Inherits the method, so it cannot be restored as itself."""
'''


def test_the_priors_of_the_package_are_found():
    assert {name: kind for name, kind in PRIORS.items() if name == kind.__name__} == PRIORS
    assert {Dirichlet, OneTwoThree, ChineseRestaurant} <= set(PRIORS.values())
    assert {kind.__name__ for kind in COMPILED} - set(FAMILIES) == {SharedCells.__name__}  # in the family of its base


def test_a_new_file_with_a_class_is_enough(tmp_path, monkeypatch):
    folder = tmp_path / "priors_of_a_test"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "new.py").write_text(MODULE)
    (folder / "other.py").write_text("from priors_of_a_test.new import New\n")
    monkeypatch.syspath_prepend(tmp_path)
    import priors_of_a_test

    found = find_priors(priors_of_a_test.__name__)
    assert list(found) == ["Base", "New"] and found["New"] is sys.modules["priors_of_a_test.new"].New


def test_a_subclass_is_not_compiled():
    class Mine(Dirichlet):
        pass

    assert is_compiled_prior(Dirichlet(1.0, n_states=2, n_actions=1))
    assert not is_compiled_prior(Mine(1.0, n_states=2, n_actions=1))
