"""Additional strategies and worlds do not change the tables of the paper."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from pathlib import Path

import pytest

from amounts import amount
from berlyne.strategies.registry import PAPER_STRATEGIES, STRATEGIES
from berlyne.worlds import PAPER_WORLDS, WORLDS
from unit.experiments.studies import command
from waiting import LIMIT

from .additions import STRATEGY, WORLD

TESTS = Path(__file__).parents[3]
FORMAT = {"tests": str(TESTS), "theorems": amount(False, True)}  # they compare no strategies, and take seconds
TABLES = """
import sys
sys.path.insert(0, {tests!r})
from berlyne.worlds.world import World
from unit.paper.reproduction.additions import add_to_tables

made, drawn = World.__init__, []
World.__init__ = lambda *_, **__: drawn.append(1)
if {additions}:
    add_to_tables()

import dataclasses
from pathlib import Path
import berlyne
from berlyne.paper.claims import CLAIMS, published
from berlyne.paper.reproduction import assumptions, figure_list, run, variants
from berlyne.paper.reproduction.paper_run import PaperRun
from unit.paper.claims.invented import as_published
World.__init__ = made

print(PaperRun(Path(), 4, 0).experiment.describe())
print(published.FIGURE_POOLS, published.POSITIVE_CONTROLS, list(figure_list.FIGURES))
print(published.CURVE_POOL, variants.VARIANTS, list(assumptions.KEYS))
for variant in variants.VARIANTS:
    other = assumptions.DEFAULT.replace(variant.changes)
    print([variants.needed_runs(assumptions.DEFAULT, other, name) for name in berlyne.worlds.PAPER_WORLDS])
published = as_published()
for claim in (claim for claim in CLAIMS.values() if claim.needs or {theorems}):
    for pool in ("curves", "figure", "all"):
        print(claim.verdict(dataclasses.replace(published, pool=pool)))
print(len(berlyne.STRATEGIES), len(berlyne.worlds.WORLDS), len(drawn), file=sys.stderr)
"""


def tables_here() -> tuple[str, str]:
    """What the script prints in this process, which has no additions."""
    with contextlib.redirect_stdout(io.StringIO()) as output, contextlib.redirect_stderr(io.StringIO()) as errors:
        exec(TABLES.format(additions=False, **FORMAT), {})
    return output.getvalue(), errors.getvalue()


def tables_with_additions() -> tuple[str, str]:
    """What it prints in a new process, where all modules are imported after the additions."""
    script = TABLES.format(additions=True, **FORMAT)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=LIMIT)
    return done.stdout, done.stderr


def test_settings_pools_and_claims_of_the_paper_ignore_additions() -> None:
    """Nor does importing all of this draw a world."""
    (without, n_without), (beside, n_beside) = tables_here(), tables_with_additions()
    assert beside == without
    assert (n_without, n_beside) == (f"{len(STRATEGIES)} 3 0\n", f"{len(STRATEGIES) + 1} 4 0\n")


@pytest.mark.parametrize(("table", "name"), [("worlds", "mine"), ("strategies", "parameter_gain(VI+)")])
def test_lists_name_additions(table: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STRATEGIES, STRATEGY.name, STRATEGY)
    monkeypatch.setitem(WORLDS, WORLD.name, WORLD)
    assert name in command("list", table)[1]


def test_strategies_and_worlds_of_the_paper_exist() -> None:
    assert set(PAPER_STRATEGIES) <= set(STRATEGIES)
    assert set(PAPER_WORLDS) <= set(WORLDS)
    assert (len(set(PAPER_STRATEGIES)), len(set(PAPER_WORLDS))) == (15, 3)
