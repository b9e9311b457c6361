"""One style for all figures."""

from __future__ import annotations

import matplotlib.markers as markers
import numpy as np
import pytest

from berlyne.appearance import distinct_looks
from berlyne.benchmarks import AGENTS, TUNED
from berlyne.figures.style import look, panels, thinned
from berlyne.strategies.registry import PAPER_STRATEGIES, STRATEGIES

NAMES = list(dict.fromkeys([*PAPER_STRATEGIES, *AGENTS, *STRATEGIES]))


@pytest.mark.parametrize("name", NAMES)
def test_no_line_of_a_strategy_could_be_taken_for_a_dotted_one(name: str) -> None:
    line = look(name).line
    if line != "-":
        _, dashes = line
        assert min(dashes[::2]) >= 2  # line widths that are drawn
        assert max(dashes[::2]) >= 4


def test_heuristics_have_asterisks_and_no_other_strategy_has() -> None:
    for name in NAMES:
        marker = look(name).marker
        assert (isinstance(marker, tuple) and marker[1] == 2) == (name in ("LTA", "CB"))  # style 2: asterisk
        markers.MarkerStyle(marker)


def test_no_two_strategies_look_alike_in_grey() -> None:
    insides = {name: look(name).filling() for name in NAMES}
    looks = {
        (str(look(name).marker), inside.get("fillstyle"), inside["markerfacecolor"] == "white")
        for name, inside in insides.items()
    }
    assert len(looks) == len(NAMES)


def test_tuned_explorers_differ_from_the_others_in_grey() -> None:
    looks = distinct_looks([*AGENTS, *TUNED])
    in_grey = {
        (str(one.marker), one.filling().get("fillstyle"), one.filling()["markerfacecolor"] == "white", str(one.line))
        for one in looks.values()
    }
    assert len(in_grey) == len(AGENTS) + len(TUNED)


@pytest.mark.parametrize("name", NAMES)
def test_markers_on_curves_are_evenly_spaced_after_thinning(name: str) -> None:
    times = thinned(3001)
    marked = times[look(name).curve(times)["markevery"]]
    assert 5 <= len(marked) <= 6
    np.testing.assert_allclose(np.diff(marked), 500, atol=25)


def test_two_utilities_of_one_method_are_marked_at_different_times() -> None:
    times = thinned(3001)
    for one, other in (("PIG(VI)", "PLC(VI)"), ("PIG(VI)", "PMC(VI)"), ("PIG(Q)", "PEIG(Q)"), ("PMC(VI)", "PLC(VI)")):
        assert not set(look(one).curve(times)["markevery"]) & set(look(other).curve(times)["markevery"])


@pytest.mark.parametrize("n", [1, 2, 319, 321, 3001, 100_000])
def test_thinned_times_keep_the_ends_and_the_beginning(n: int) -> None:
    times = thinned(n)
    assert (times[0], times[-1]) == (0, n - 1)
    assert np.all(np.diff(times) > 0)
    assert len(times) <= max(n if n <= 320 else 0, 320)
    assert times[: min(n, 10)].tolist() == list(range(min(n, 10)))


def test_panels_are_lettered_line_by_line() -> None:
    _, axes = panels(3, rows=2)
    assert [ax.get_title(loc="left") for ax in axes] == list("abcdef")
    assert panels(1)[1][0].get_title(loc="left") == ""
