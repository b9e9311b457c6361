"""Additional strategies and worlds do not change the tables of the paper."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from pathlib import Path

import pytest

from berlyne.strategies.registry import PAPER_STRATEGIES, STRATEGIES
from berlyne.worlds import PAPER_WORLDS, WORLDS
from waiting import LIMIT

TESTS = Path(__file__).parents[3]
TABLES = """
import sys
sys.path.insert(0, {tests!r})
from unit.paper.reproduction.additions import add_to_tables
if {additions}:
    add_to_tables()

import dataclasses
from pathlib import Path
import berlyne
from berlyne.paper.claims import CLAIMS, published
from berlyne.paper.reproduction import assumptions, figure_list, variants
from berlyne.paper.reproduction.paper_run import PaperRun
from unit.paper.claims.invented import as_published

print(PaperRun(Path(), 4, 0).experiment.describe())
print(published.FIGURE_POOLS, published.POSITIVE_CONTROLS, list(figure_list.FIGURES))
print(published.CURVE_POOL, variants.VARIANTS, list(assumptions.KEYS))
for variant in variants.VARIANTS:
    other = assumptions.DEFAULT.replace(variant.changes)
    print([variants.needed_runs(assumptions.DEFAULT, other, name) for name in berlyne.worlds.PAPER_WORLDS])
published = as_published()
for claim in CLAIMS.values():
    for pool in ("curves", "figure", "all"):
        print(claim.verdict(dataclasses.replace(published, pool=pool)))
print(len(berlyne.STRATEGIES), len(berlyne.worlds.WORLDS), file=sys.stderr)
"""


def tables_here() -> tuple[str, str]:
    """What the script prints in this process, which has no additions."""
    with contextlib.redirect_stdout(io.StringIO()) as output, contextlib.redirect_stderr(io.StringIO()) as errors:
        exec(TABLES.format(tests=str(TESTS), additions=False), {})
    return output.getvalue(), errors.getvalue()


def tables_with_additions() -> tuple[str, str]:
    """What it prints in a new process, where all modules are imported after the additions."""
    script = TABLES.format(tests=str(TESTS), additions=True)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=LIMIT)
    return done.stdout, done.stderr


def test_settings_pools_and_claims_of_the_paper_ignore_additions() -> None:
    (without, n_without), (beside, n_beside) = tables_here(), tables_with_additions()
    assert beside == without
    assert (n_without, n_beside) == (f"{len(STRATEGIES)} 3\n", f"{len(STRATEGIES) + 1} 4\n")


@pytest.mark.parametrize(("table", "name"), [("worlds", "mine"), ("strategies", "parameter_gain(VI+)")])
def test_lists_name_additions(table: str, name: str) -> None:
    script = Path(__file__).with_name("additions.py")
    done = subprocess.run(
        [sys.executable, script, "list", table], capture_output=True, text=True, check=True, timeout=LIMIT
    )
    assert name in done.stdout


def test_strategies_and_worlds_of_the_paper_exist() -> None:
    assert set(PAPER_STRATEGIES) <= set(STRATEGIES)
    assert set(PAPER_WORLDS) <= set(WORLDS)
    assert (len(set(PAPER_STRATEGIES)), len(set(PAPER_WORLDS))) == (15, 3)
